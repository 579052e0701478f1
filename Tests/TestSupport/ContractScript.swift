import Foundation

/// Scripts of `Tests/WireContract`, run by the system's Python, with the packages that `Deploy/test.sh` installs.
public enum ContractScript {
  /// The system's Python: the first python3 in PATH may lack the system's packages.
  public static let python = "/usr/bin/python3"

  /// Root of the repository, three levels above this file.
  public static let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().path

  public static func path(_ name: String) -> String { "\(repository)/Tests/WireContract/\(name)" }

  /// Starts a script. `stdin` is the path of its input; its stdout and stderr are available as `output`.
  public static func start(_ name: String, _ arguments: [String] = [], stdin: String = "/dev/null") throws
    -> ChildProcess
  {
    try ChildProcess(
      "sh", ["-c", #"exec "$0" "$@" <"$STDIN""#, python, path(name)] + arguments,
      environment: ["STDIN": stdin])
  }

  /// Parses the lines "name,number" of a script's output.
  public static func counts(_ output: String) -> [String: Int] {
    var counts: [String: Int] = [:]
    for line in output.split(separator: "\n") {
      let fields = line.split(separator: ",")
      if fields.count == 2, let count = Int(fields[1]) { counts[String(fields[0])] = count }
    }
    return counts
  }
}
