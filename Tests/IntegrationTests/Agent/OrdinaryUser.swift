import Foundation
import TestSupport

/// `odographd` as it is run by somebody who has no part in the system's folders: by nobody, when the tests are root's.
struct OrdinaryUser {
  /// Theirs, and everything that the program writes unasked.
  let home: TemporaryDirectory
  private let program: String
  private let programFolder: TemporaryDirectory

  init() throws {
    home = try TemporaryDirectory()
    programFolder = try TemporaryDirectory()
    // Where the package was built, others may not read.
    program = programFolder.file("odographd")
    // By a process of its own: a child that another test starts meanwhile would hold the copy open, and nothing could run it.
    _ = try ChildProcess("cp", [BuiltProduct.path("odographd"), program]).waitForExit()
    chmod(programFolder.path, 0o755)
    if geteuid() == 0, let nobody = getpwnam("nobody") {
      chown(home.path, nobody.pointee.pw_uid, nobody.pointee.pw_gid)
    }
  }

  /// - Parameter environment: all there is of it besides PATH.
  func start(_ arguments: [String], environment: [String: String]) throws -> ChildProcess {
    let dropping =
      geteuid() == 0 ? ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] : []
    let variables = environment.merging(["PATH": "/usr/bin:/bin"]) { $1 }.map { "\($0.key)=\($0.value)" }
    let command = dropping + ["env", "-i"] + variables + [program] + arguments
    return try ChildProcess(command[0], Array(command.dropFirst()))
  }

  /// Runs to the end.
  func run(_ arguments: [String], environment: [String: String]) throws -> (status: Int32, text: String) {
    let child = try start(arguments, environment: environment)
    let status = child.waitForExit()
    return (status, child.output)
  }

  /// The permissions of a file below the home folder; nil when it is not there.
  func mode(_ name: String) -> Int? {
    (try? FileManager.default.attributesOfItem(atPath: home.file(name)))?[.posixPermissions] as? Int
  }
}
