internal import FleetConsole
internal import JSON
internal import Telemetry

/// One verdict of `odograph check`.
struct CheckFinding: Hashable, Sendable {
  enum Verdict: String, Hashable, Sendable {
    case ok
    /// It works, and will not for ever or not for all.
    case warning
    case failed
    /// The broker does not tell.
    case unknown
  }

  /// What was looked at: `reach`, `tls`, `login`, `subscribe`, …
  var subject: String
  var verdict: Verdict
  var text: String
  /// What to do about it; nil when nothing is to be done.
  var remedy: String?

  init(_ subject: String, _ verdict: Verdict, _ text: String, remedy: String? = nil) {
    self.subject = subject
    self.verdict = verdict
    self.text = text
    self.remedy = remedy
  }

  var line: StyledText {
    let style: TextStyle =
      switch verdict {
      case .ok: TextStyle(.green)
      case .warning: TextStyle(.yellow)
      case .failed: TextStyle(.red, bold: true)
      case .unknown: .dim
      }
    var line = StyledText(verdict.rawValue, style: style).fitted(to: 9)
    line.append(StyledText(subject).fitted(to: 11))
    line.append(text)
    if let remedy { line.append("; \(remedy)", style: .dim) }
    return line
  }

  func write(to json: inout JSONWriter) {
    json.openObject()
    json.field("subject", subject)
    json.field("verdict", verdict.rawValue)
    json.field("text", text)
    json.field("remedy", remedy)
    json.closeObject()
  }
}
