import Foundation

/// A script of `Tests/WireContract`, run with the system's Python, which has the packages that `Deploy/test.sh` installs.
public enum ContractScript {
  /// Not the first python3 on the path: that may be one without the system's packages.
  public static let python = "/usr/bin/python3"

  /// This file lies in <repository>/Tests/TestSupport.
  public static let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().path

  public static func path(_ name: String) -> String { "\(repository)/Tests/WireContract/\(name)" }

  /// Starts a script. `stdin` names a file that it reads; stdout and stderr are its `output`.
  public static func start(_ name: String, _ arguments: [String] = [], stdin: String = "/dev/null") throws
    -> ChildProcess
  {
    try ChildProcess(
      "sh", ["-c", #"exec "$0" "$@" <"$STDIN""#, python, path(name)] + arguments,
      environment: ["STDIN": stdin])
  }

  /// Lines "name,number" of a script's output.
  public static func counts(_ output: String) -> [String: Int] {
    var counts: [String: Int] = [:]
    for line in output.split(separator: "\n") {
      let fields = line.split(separator: ",")
      if fields.count == 2, let count = Int(fields[1]) { counts[String(fields[0])] = count }
    }
    return counts
  }
}
