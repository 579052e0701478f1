internal import Bytes
internal import JSON
internal import Pipeline
internal import Settings
internal import Telemetry

/// A line of `odographd check`.
package struct Finding: Hashable, Sendable {
  package enum Severity: String, Hashable, Sendable {
    case ok
    /// The agent works with reduced quality.
    case warning
    /// The agent does not work.
    case problem
  }

  package var severity: Severity
  /// The checked object, as in "gpsd".
  package var subject: String
  package var message: String
  /// The remedy; nil if none is required.
  package var remedy: String?

  package init(_ severity: Severity, _ subject: String, _ message: String, remedy: String? = nil) {
    self.severity = severity
    self.subject = subject
    self.message = message
    self.remedy = remedy
  }

  /// Text, as in `problem  gpsd: connection refused; start gpsd`.
  package var line: String {
    let padding = String(repeating: " ", count: 8 - severity.rawValue.count)
    return severity.rawValue + padding + " \(Self.title(subject)) \(message)"
      + (remedy.map { (message.hasSuffix("?") ? " " : "; ") + $0 } ?? "")
  }

  /// Returns the subject with a colon; subjects such as "iio local:" already contain it.
  static func title(_ subject: String) -> String { subject.hasSuffix(":") ? subject : subject + ":" }

  func write(to json: inout JSONWriter) {
    json.openObject()
    json.field("severity", severity.rawValue)
    json.field("subject", subject)
    json.field("message", message)
    json.field("remedy", remedy)
    json.closeObject()
  }
}

extension ConfigurationLayers {
  /// Returns a warning for each setting without effect.
  package func findings() -> [Finding] {
    let unknown = environment.unknownVariables.map { name in
      let nearest = Spelling.nearest(to: name, among: ConfigurationKey.all.map(\.environmentName))
      return Finding(
        .warning, name, "names no key and is ignored",
        remedy: nearest.map { "did you mean \($0)?" } ?? "Config/odograph.toml lists every key")
    }
    guard let reader = try? ConfigurationReader(layers: written, file: fileName, folders: folders),
      let reporting = try? reader.text("location.reporting")
    else { return unknown }
    let ineffective = reader.ineffectiveSettings.map {
      Finding(.warning, $0.key, "\($0.problem) (\($0.place))", remedy: $0.remedy)
    }
    return unknown + ineffective + lateForNavigation(reader, reporting)
  }

  /// Warns if samples arrive too late for navigation.
  private func lateForNavigation(_ reader: ConfigurationReader, _ reporting: String) -> [Finding] {
    let longest = PipelineConfiguration.longestNavigationLatency
    guard let latency: Double = try? reader.number("iio.latency"), latency > longest,
      let isEnabled = try? reader.flag("navigation.enabled"), isEnabled, reporting != "significant",
      let activity = try? reader.text("location.activity"), activity == "automotive"
    else { return [] }
    return [
      Finding(
        .warning, "navigation.enabled", "has no effect while samples may wait \(latency) s (iio.latency)",
        remedy: "set iio.latency to \(longest) at most, or navigation.enabled = false")
    ]
  }
}
