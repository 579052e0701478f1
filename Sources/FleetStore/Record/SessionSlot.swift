internal import Bytes
package import Fleet
internal import Glibc
internal import Platform

/// An automatic session name. It is unique among the running processes of this machine, and the next process
/// uses it again. The broker then delivers messages that a killed process did not acknowledge to its
/// successor.
///
/// The names are numbered. A process reserves its number by a file lock, which the kernel releases when the
/// process exits.
package final class SessionSlot: Sendable {
  package let clientID: String
  private let file: String
  private let descriptor: Int32

  /// The maximum number of recorders on a machine with the same store and selection.
  private static let most = 1000

  /// Reserves and returns the first free name.
  ///
  /// - Parameter what: a text that identifies store and selection; each text has its own names.
  static func free(for what: String) throws(FleetError) -> SessionSlot {
    let names = try Names(what)
    for number in 1...most {
      if let slot = try SessionSlot(names, number, flags: O_CREAT) { return slot }
    }
    throw failure("find", "a free name in \(names.folder)", "all are in use")
  }

  /// Reserves and returns the names that earlier processes used and no running process uses.
  package static func left(for what: String) throws(FleetError) -> [SessionSlot] {
    let names = try Names(what)
    var slots: [SessionSlot] = []
    for number in 1...most {
      if let slot = try SessionSlot(names, number, flags: 0) { slots.append(slot) }
    }
    return slots
  }

  /// Deletes the lock file, so that later runs do not look for the session.
  package func forget() { unsafe unlink(file) }

  /// Reserves a number; nil if another process has reserved it, or if its file does not exist and `flags`
  /// does not create it.
  private init?(_ names: Names, _ number: Int, flags: Int32) throws(FleetError) {
    file = "\(names.folder)/record-\(names.hash)-\(number).lock"
    let descriptor = unsafe open(file, O_RDWR | O_CLOEXEC | flags, 0o600)
    guard descriptor >= 0 else {
      if errno == ENOENT, flags == 0 { return nil }
      throw Self.failure("create", file, SystemError.message(for: errno))
    }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      Glibc.close(descriptor)
      return nil
    }
    self.descriptor = descriptor
    clientID = "odograph-record-\(names.host)-\(names.hash)-\(number)"
  }

  deinit { Glibc.close(descriptor) }

  /// The parts that the names of one store and selection have in common.
  private struct Names {
    let host: String
    let hash: String
    let folder: String

    init(_ what: String) throws(FleetError) {
      var name = [CChar](repeating: 0, count: 256)
      unsafe gethostname(&name, 255)
      host = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      // The user is part of the hash, because users cannot open each other's lock files.
      hash = String(FNV1a.hash64("\(getuid())\n\(what)".utf8), radix: 36)
      folder = try SessionSlot.folder()
    }
  }

  /// Returns the folder for state files (XDG Base Directory Specification).
  /// - Throws: `FleetError` if it cannot be created.
  static func folder() throws(FleetError) -> String {
    var parents: [String] = []
    if let state = environment("STATE_DIRECTORY") ?? environment("XDG_STATE_HOME") {
      parents = [state]
    } else if let home = environment("HOME") {
      parents = [home, "\(home)/.local", "\(home)/.local/state"]
    } else {
      parents = ["/tmp"]
    }
    let folder = (parents.last ?? "/tmp") + "/odograph"
    for path in parents + [folder] where unsafe mkdir(path, 0o700) != 0 && errno != EEXIST {
      throw failure("create", path, SystemError.message(for: errno))
    }
    return folder
  }

  private static func failure(_ operation: String, _ object: String, _ cause: String) -> FleetError {
    FleetError(
      operation: operation, object: object,
      cause: cause + "; name the session with --client-id, or set XDG_STATE_HOME to a folder of yours",
      kind: .outputFailed)
  }
}
