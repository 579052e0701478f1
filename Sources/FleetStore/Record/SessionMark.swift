internal import Bytes
internal import Glibc

/// A mark that an explicitly named session is in use on this machine: a file lock, which the kernel releases
/// when the process exits. If no file can be created, there is no mark, and no session counts as in use.
final class SessionMark: Sendable {
  /// True if another process of this user uses the session.
  let isTaken: Bool
  private let descriptor: Int32

  /// Creates the mark.
  ///
  /// - Parameters:
  ///   - clientID: the session's name.
  ///   - broker: the broker; the same name at another broker is another session.
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
