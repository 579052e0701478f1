import Foundation
import TestSupport

/// Runs `odographd` as a user without access to system folders: as `nobody` if the tests run as root.
struct OrdinaryUser {
  /// Home folder of the user, and default location of all files that the program writes.
  let home: TemporaryDirectory
  private let program: String
  private let programFolder: TemporaryDirectory

  init() throws {
    home = try TemporaryDirectory()
    programFolder = try TemporaryDirectory()
    // Other users cannot read the build folder.
    program = programFolder.file("odographd")
    // Copied by a separate process: a child of another test that inherits the open file would prevent its execution (ETXTBSY).
    _ = try ChildProcess("cp", [BuiltProduct.path("odographd"), program]).waitForExit()
    chmod(programFolder.path, 0o755)
    if geteuid() == 0, let nobody = getpwnam("nobody") {
      chown(home.path, nobody.pointee.pw_uid, nobody.pointee.pw_gid)
    }
  }

  /// - Parameter environment: Complete environment except PATH.
  func start(_ arguments: [String], environment: [String: String]) throws -> ChildProcess {
    let dropping =
      geteuid() == 0 ? ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] : []
    let variables = environment.merging(["PATH": "/usr/bin:/bin"]) { $1 }.map { "\($0.key)=\($0.value)" }
    let command = dropping + ["env", "-i"] + variables + [program] + arguments
    return try ChildProcess(command[0], Array(command.dropFirst()))
  }

  /// Runs a command until it exits.
  func run(_ arguments: [String], environment: [String: String]) throws -> (status: Int32, text: String) {
    let child = try start(arguments, environment: environment)
    let status = child.waitForExit()
    return (status, child.output)
  }

  /// Permissions of a file below the home folder; nil if missing.
  func mode(_ name: String) -> Int? {
    (try? FileManager.default.attributesOfItem(atPath: home.file(name)))?[.posixPermissions] as? Int
  }
}
