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
final class SessionSlot {
  let clientID: String
  private let descriptor: Int32

  /// Nobody runs so many recorders of the same on one machine.
  private static let most = 1000

  /// - Parameter what: what is recorded and where to; each has names of its own.
  init(for what: String) throws(FleetError) {
    var name = [CChar](repeating: 0, count: 256)
    unsafe gethostname(&name, 255)
    let host = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let hash = String(FNV1a.hash64(what.utf8), radix: 36)
    let folder = try Self.folder()
    for number in 1...Self.most {
      let file = "\(folder)/record-\(hash)-\(number).lock"
      let descriptor = unsafe open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else {
        throw Self.failure("create", file, SystemError.message(for: errno))
      }
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
        self.descriptor = descriptor
        clientID = "odograph-record-\(host)-\(hash)-\(number)"
        return
      }
      Glibc.close(descriptor)
    }
    throw Self.failure("find", "a free name in \(folder)", "all are in use")
  }

  deinit { Glibc.close(descriptor) }

  /// Where state that is no configuration belongs (XDG Base Directory Specification).
  private static func folder() throws(FleetError) -> String {
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
