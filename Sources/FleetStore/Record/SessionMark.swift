internal import Bytes
internal import Glibc

/// The lock on a session that was named with `--client-id`, showing that it is in use on this machine. It is
/// a file lock, which the kernel releases when the process exits. If the file cannot be created, no session
/// counts as in use.
///
/// The file lists the session's topic filters, one per line: with `+` those of the last run, with `-` those
/// of earlier runs. The broker stores subscriptions with the session, but MQTT has no request that lists
/// them.
package final class SessionMark: Sendable {
  /// True if another process of this user uses the session.
  package let isTaken: Bool
  private let descriptor: Int32

  /// Opens and locks the file of a session.
  ///
  /// - Parameters:
  ///   - clientID: the session's name.
  ///   - broker: the broker's name; sessions of the same name at different brokers are different sessions.
  package init(of clientID: String, at broker: String) {
    let hash = String(FNV1a.hash64("\(broker)\n\(clientID)".utf8), radix: 36)
    guard let folder = try? SessionSlot.folder() else {
      (isTaken, descriptor) = (false, -1)
      return
    }
    descriptor = unsafe open("\(folder)/session-\(hash).lock", O_RDWR | O_CLOEXEC | O_CREAT, 0o600)
    isTaken = descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// The maximum size of the list in bytes. A list that would become longer is cleared.
  private static let longest = 256 * 1024

  /// Stores the topic filters of this run as those of the last run.
  /// - Returns: in `former`, the filters of all earlier runs that this run does not use; in `last`, only
  ///   those of the previous run. Both are empty if another process uses the session.
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

  /// Clears the list, after the session was deleted at the broker.
  package func forgetFilters() { if descriptor >= 0, !isTaken { write("") } }

  private func write(_ text: String) {
    guard ftruncate(descriptor, 0) == 0 else { return }
    let bytes = Array(text.utf8)
    _ = unsafe pwrite(descriptor, bytes, bytes.count, 0)
  }
}
