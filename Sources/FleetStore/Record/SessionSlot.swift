internal import Bytes
internal import Fleet
internal import FleetConsole
internal import Glibc
internal import Platform

/// A name at the broker that no other process of this machine uses, and that the next process to start uses again when
/// this one is gone: a broker then hands the messages of one that was killed to the one that takes its place.
///
/// The names are numbered. A process holds its number by a lock on a file, which the kernel releases when the process
/// ends, however it ends.
final class SessionSlot: Sendable {
  let clientID: String
  private let file: String
  private let descriptor: Int32

  /// Nobody runs so many recorders of the same on one machine.
  private static let most = 1000

  /// - Parameter what: what is recorded and where to; each has names of its own.
  static func free(for what: String) throws(FleetError) -> SessionSlot {
    let names = try Names(what)
    for number in 1...most {
      if let slot = try SessionSlot(names, number, flags: O_CREAT) { return slot }
    }
    throw failure("find", "a free name in \(names.folder)", "all are in use")
  }

  /// The names that were used before and that no process uses now.
  static func left(for what: String) throws(FleetError) -> [SessionSlot] {
    let names = try Names(what)
    var slots: [SessionSlot] = []
    for number in 1...most {
      if let slot = try SessionSlot(names, number, flags: 0) { slots.append(slot) }
    }
    return slots
  }

  /// Nobody is to look for the session again.
  func forget() { unsafe unlink(file) }

  /// nil where another process has it, or where there is none and none is to be made.
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

  /// What the names of one recording have in common.
  private struct Names {
    let host: String
    let hash: String
    let folder: String

    init(_ what: String) throws(FleetError) {
      var name = [CChar](repeating: 0, count: 256)
      unsafe gethostname(&name, 255)
      host = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      // Each user has locks of their own, and so names.
      hash = String(FNV1a.hash64("\(getuid())\n\(what)".utf8), radix: 36)
      folder = try SessionSlot.folder()
    }
  }

  /// Where state that is no configuration belongs (XDG Base Directory Specification).
  /// - Throws: `FleetError` when it cannot be made.
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
      exit: .outputFailed)
  }
}
