internal import Bytes
internal import Glibc

/// A mark that an explicitly named session is in use on this machine: a file lock, which the kernel releases
/// when the process exits. If no file can be created, there is no mark, and no session counts as in use.
///
/// The file lists the topic filters of the session, one per line: `+` for those of the last run, `-` for earlier ones. The
/// broker stores subscriptions with the session, and MQTT has no request that lists them.
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

  /// The size limit of the list in bytes. A longer one is started anew.
  private static let longest = 256 * 1024

  /// Records the filters of this run.
  /// - Returns: the filters of earlier runs that are not among them, and those of the last run only. Nothing if another process
  ///   uses the session.
  func replaceFilters(with filters: [String]) -> (former: [String], last: [String]) {
    guard descriptor >= 0, !isTaken else { return ([], []) }
    var bytes = [UInt8](repeating: 0, count: Self.longest)
    let count = unsafe pread(descriptor, &bytes, bytes.count, 0)
    let lines = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(separator: "\n")
    let former = lines.filter { !filters.contains(String($0.dropFirst())) }
    let list = (filters.map { "+\($0)" } + former.map { "-\($0.dropFirst())" }).joined(separator: "\n")
    if list.utf8.count <= Self.longest { write(list) } else { write("") }
    return (
      former.map { String($0.dropFirst()) },
      former.filter { $0.hasPrefix("+") }.map { String($0.dropFirst()) }
    )
  }

  /// Deletes the list, for a session that was ended.
  func forgetFilters() { if descriptor >= 0, !isTaken { write("") } }

  private func write(_ text: String) {
    guard ftruncate(descriptor, 0) == 0 else { return }
    let bytes = Array(text.utf8)
    _ = unsafe pwrite(descriptor, bytes, bytes.count, 0)
  }
}
