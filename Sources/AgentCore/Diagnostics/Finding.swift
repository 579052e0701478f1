internal import JSON
internal import Pipeline
internal import Telemetry

/// One line of `odographd check`.
package struct Finding: Hashable, Sendable {
  package enum Severity: String, Hashable, Sendable {
    case ok
    /// The agent works, but less well.
    case warning
    /// The agent does not work.
    case problem
  }

  package var severity: Severity
  /// What was looked at, as in "gpsd".
  package var subject: String
  package var message: String
  /// What to do about it; nil where nothing needs doing.
  package var remedy: String?

  package init(_ severity: Severity, _ subject: String, _ message: String, remedy: String? = nil) {
    self.severity = severity
    self.subject = subject
    self.message = message
    self.remedy = remedy
  }

  /// As in `problem  gpsd: connection refused; start gpsd`.
  package var line: String {
    let padding = String(repeating: " ", count: 8 - severity.rawValue.count)
    return severity.rawValue + padding + " \(Self.title(subject)) \(message)"
      + (remedy.map { (message.hasSuffix("?") ? " " : "; ") + $0 } ?? "")
  }

  /// The subject with a colon behind it; one such as "iio local:" has it already.
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
  /// A warning for each key that is written down and that others leave without effect.
  func findings() -> [Finding] {
    let unknown = environment.unknownVariables.map { name in
      let nearest = Spelling.nearest(to: name, among: ConfigurationKey.all.map(\.environmentName))
      return Finding(
        .warning, name, "names no key and is ignored",
        remedy: nearest.map { "did you mean \($0)?" } ?? "Config/odograph.toml lists every key")
    }
    guard let reader = try? ConfigurationReader(layers: written, file: fileName, folders: folders),
      let reporting = try? reader.text("location.reporting")
    else { return unknown }
    return unknown + idle(reader, reporting) + lateForNavigation(reader, reporting)
  }

  /// A vehicle is not navigated by samples that come too late.
  private func lateForNavigation(_ reader: ConfigurationReader, _ reporting: String) -> [Finding] {
    let longest = PipelineConfiguration.longestNavigationLatency
    guard let latency: Double = try? reader.number("iio.latency"), latency > longest,
      let isEnabled = try? reader.flag("navigation.enabled"), isEnabled, reporting != "significant",
      let activity = try? reader.text("location.activity"), activity == "automotive"
    else { return [] }
    return [
      Finding(
        .warning, "navigation.enabled", "does nothing while samples may wait \(latency) s (iio.latency)",
        remedy: "set iio.latency to \(longest) at most, or navigation.enabled = false")
    ]
  }

  /// Those that `location.reporting` leaves without effect.
  private func idle(_ reader: ConfigurationReader, _ reporting: String) -> [Finding] {
    [
      ("location.distance_filter", "distance"), ("location.error_bound", "bounded"),
      ("location.delay_bound", "bounded"),
    ].compactMap { key, user in
      // The commented reference sets each key to its default.
      guard reporting != user, let setting = written.lazy.compactMap({ $0[key] }).first,
        setting.value != ConfigurationKey.byPath[key]?.defaultValue
      else { return nil }
      return Finding(
        .warning, key, "does nothing while location.reporting is \"\(reporting)\" (\(setting.place))",
        remedy: "set location.reporting = \"\(user)\", or leave the key out")
    }
  }
}
