internal import Glibc
internal import Logging
internal import Platform

/// The file that node_exporter's textfile collector reads: written whole or not at all, and never synced, because it is
/// worth nothing after a loss of power.
final class MetricsFile {
  /// Seconds.
  let interval: Double
  private let path: String
  private var hasFailed = false

  init(path: String, interval: Double) {
    self.path = path
    self.interval = interval
  }

  /// Does nothing before the first snapshot.
  func write(_ snapshot: AgentSnapshot?, log: Logger) {
    guard let snapshot else { return }
    do throws(SystemError) {
      try replace(Array(MetricsText.text(snapshot).utf8))
      if hasFailed { log.notice(.metricsWritten, "metrics are written again", metadata: ["file": "\(path)"]) }
      hasFailed = false
    } catch {
      if !hasFailed {
        log.warning(.metricsNotWritten, "metrics not written", metadata: ["reason": "\(error)"])
      }
      hasFailed = true
    }
  }

  private func replace(_ bytes: [UInt8]) throws(SystemError) {
    // The collector passes over names with another ending.
    let temporary = path + ".new"
    let file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o644)
    guard file >= 0 else { throw SystemError(operation: "open", object: temporary, code: errno) }
    let written = Glibc.write(file, bytes, bytes.count)
    let code = written < 0 ? errno : ENOSPC
    close(file)
    guard written == bytes.count else {
      unlink(temporary)
      throw SystemError(operation: "write", object: temporary, code: code)
    }
    guard rename(temporary, path) == 0 else {
      throw SystemError(operation: "rename", object: temporary, code: errno)
    }
  }
}
