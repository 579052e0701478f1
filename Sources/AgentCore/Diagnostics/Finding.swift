/// One line of `odographd check`.
public struct Finding: Hashable, Sendable {
  public enum Severity: String, Hashable, Sendable {
    case ok
    /// The agent works, but less well.
    case warning
    /// The agent does not work.
    case problem
  }

  public var severity: Severity
  /// What was looked at, as in "gpsd".
  public var subject: String
  public var message: String
  /// What to do about it; nil where nothing needs doing.
  public var remedy: String?

  public init(_ severity: Severity, _ subject: String, _ message: String, remedy: String? = nil) {
    self.severity = severity
    self.subject = subject
    self.message = message
    self.remedy = remedy
  }

  /// As in `problem  gpsd: connection refused; start gpsd`.
  public var line: String {
    let padding = String(repeating: " ", count: 8 - severity.rawValue.count)
    return severity.rawValue + padding + " \(subject): \(message)" + (remedy.map { "; \($0)" } ?? "")
  }
}
