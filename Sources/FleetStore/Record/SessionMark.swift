internal import Bytes
internal import Glibc

/// A mark that a session whose name was given is in use on this machine: a lock on a file, which the kernel releases when the
/// process ends, however it ends. Where no file can be made there is none, and nothing is said to be in use.
final class SessionMark: Sendable {
  /// Whether another process of this user has the session.
  let isTaken: Bool
  private let descriptor: Int32

  /// - Parameters:
  ///   - clientID: the session's name.
  ///   - broker: where it is; the same name at another broker is another session.
  init(of clientID: String, at broker: String) {
    let hash = String(FNV1a.hash64("\(broker)\n\(clientID)".utf8), radix: 36)
    guard let folder = try? SessionSlot.folder() else {
      (isTaken, descriptor) = (false, -1)
      return
    }
    descriptor = unsafe open("\(folder)/session-\(hash).lock", O_RDWR | O_CLOEXEC | O_CREAT, 0o600)
    isTaken = descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK
  }

  deinit { if descriptor >= 0 { close(descriptor) } }
}
