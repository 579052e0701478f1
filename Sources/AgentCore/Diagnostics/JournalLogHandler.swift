internal import CStandardError
internal import Glibc
package import Logging
internal import Platform
internal import Spatial

/// Writes log messages to stderr, one line each: with journal priorities under systemd, otherwise with time
/// and level.
package struct JournalLogHandler: LogHandler {
  package var logLevel: Logger.Level
  package var metadata: Logger.Metadata = [:]
  private let isUnderSystemd: Bool

  package init(level: Logger.Level, isUnderSystemd: Bool) {
    logLevel = level
    self.isUnderSystemd = isUnderSystemd
  }

  package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  package func log(event: LogEvent) {
    var text = event.message.description
    var all = metadata.merging(event.metadata ?? [:]) { $1 }
    let name = all.removeValue(forKey: Self.eventKey)
    for (key, value) in all.sorted(by: { $0.key < $1.key }) { text += " \(key)=\(Self.quoted("\(value)"))" }
    if let name { text += " \(Self.eventKey)=\(name)" }
    if event.level >= .warning { RecentProblems.record(text) }
    let line = (isUnderSystemd ? "<\(Self.priority(event.level))>" : Self.stamp(event.level)) + text + "\n"
    // A single write per line prevents mixed lines of several threads; stderr is not buffered.
    var bytes = Array(line.utf8)
    _ = write(standard_error_descriptor(), &bytes, bytes.count)
  }

  /// Metadata key of the event's name, which is printed after all other metadata.
  static let eventKey = "event"

  /// Returns syslog's severity as in sd-daemon(3).
  private static func priority(_ level: Logger.Level) -> Int {
    switch level {
    case .critical: 2
    case .error: 3
    case .warning: 4
    case .notice: 5
    case .info: 6
    case .debug, .trace: 7
    }
  }

  private static func stamp(_ level: Logger.Level) -> String {
    "\(UTCTime.now.rfc3339) \(level.rawValue): "
  }

  private static func quoted(_ value: String) -> String {
    let needsQuotes =
      value.isEmpty || value.utf8.contains { $0 <= 0x20 || $0 == UInt8(ascii: "\"") || $0 == 0x7F }
    guard needsQuotes else { return value }
    return "\"" + value.map { $0 == "\"" ? "\\\"" : $0.isNewline ? "\\n" : String($0) }.joined() + "\""
  }
}
