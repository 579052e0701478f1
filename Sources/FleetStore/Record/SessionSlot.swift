internal import Bytes
internal import Fleet
internal import FleetCommand
internal import Glibc
internal import Platform

/// An automatic session name, unique among the running processes of this machine, and reused by the next
/// process. A broker then delivers the messages of a killed process to its successor.
///
/// The names are numbered. A process reserves its number by a file lock, which the kernel releases when it
/// exits.
final class SessionSlot: Sendable {
  let clientID: String
  private let file: String
  private let descriptor: Int32

  /// The maximum number of equal recorders on a machine.
  private static let most = 1000

  /// Returns the first free name.
  ///
  /// - Parameter what: selection and store; each combination has its own names.
  static func free(for what: String) throws(FleetError) -> SessionSlot {
    let names = try Names(what)
    for number in 1...most {
      if let slot = try SessionSlot(names, number, flags: O_CREAT) { return slot }
    }
    throw failure("find", "a free name in \(names.folder)", "all are in use")
  }

  /// Returns the names that were used before and are free now.
  static func left(for what: String) throws(FleetError) -> [SessionSlot] {
    let names = try Names(what)
    var slots: [SessionSlot] = []
    for number in 1...most {
      if let slot = try SessionSlot(names, number, flags: 0) { slots.append(slot) }
    }
    return slots
  }

  /// Deletes the file, so that the session is not searched for again.
  func forget() { unsafe unlink(file) }

  /// Reserves a number; nil if another process has it, or if it does not exist and must not be created.
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

  /// The common parts of the names of one recording.
  private struct Names {
    let host: String
    let hash: String
    let folder: String

    init(_ what: String) throws(FleetError) {
      var name = [CChar](repeating: 0, count: 256)
      unsafe gethostname(&name, 255)
      host = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      // Each user has own locks, and therefore own names.
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
