internal import Logging
package import Settings
internal import Telemetry

/// A configured setting without effect because of another setting.
package struct IneffectiveSetting: Hashable, Sendable {
  package var key: String
  /// The setting that causes this, as in `location.reporting is "bounded"`.
  package var cause: String
  /// Origin of the key: a file with line and column, a variable or an option.
  package var place: String
  package var remedy: String

  /// Text, as in `has no effect while location.reporting is "bounded"`.
  package var problem: String { "has no effect while \(cause)" }
}

/// Keys that have an effect only if another key has certain values.
private struct Dependency {
  /// Paths; one that ends with a dot or an underscore stands for all keys with that prefix.
  var keys: [String]
  /// Path of the key on which `keys` depend.
  var condition: String
  var isMet: @Sendable (ConfigurationKey.Value?) -> Bool
  var remedy: String
  /// Value of `keys` that is never reported as having no effect; nil for none.
  var exempt: ConfigurationKey.Value?

  init(
    _ keys: [String], need condition: String, remedy: String, except exempt: ConfigurationKey.Value? = nil,
    _ isMet: @escaping @Sendable (ConfigurationKey.Value?) -> Bool
  ) {
    (self.keys, self.condition, self.remedy) = (keys, condition, remedy)
    (self.exempt, self.isMet) = (exempt, isMet)
  }

  /// Creates a dependency on a flag that must be true.
  init(_ keys: [String], enabledBy flag: String) {
    self.init(keys, need: flag, remedy: "set \(flag) = true") { $0 == .flag(true) }
  }

  /// Creates a dependency on an element of an array.
  init(_ keys: [String], listedIn array: String, as element: String) {
    self.init(keys, need: array, remedy: "add \"\(element)\" to \(array)") { value in
      if case .texts(let texts)? = value { texts.contains(element) } else { false }
    }
  }

  /// Creates a dependency on a text with one of several values; the first is recommended.
  init(_ keys: [String], of key: String, in values: [String]) {
    self.init(keys, need: key, remedy: "set \(key) = \"\(values[0])\"") { value in
      if case .text(let text)? = value { values.contains(text) } else { false }
    }
  }

  /// Creates the dependency of `displacement_time` in a table on its `displacement_bound`.
  init(limiting table: String) {
    let bound = "\(table).displacement_bound"
    self.init(["\(table).displacement_time"], need: bound, remedy: "set \(bound)", Self.isPositive)
  }

  /// Creates the dependency of the permissions of a Unix socket on its path.
  init(socketOf table: String) {
    self.init(
      ["\(table).socket_mode", "\(table).socket_group", "\(table).access"], need: "\(table).socket",
      remedy: "set \(table).socket", Self.isSet)
  }

  func applies(to path: String) -> Bool {
    path != condition
      && keys.contains { $0.hasSuffix(".") || $0.hasSuffix("_") ? path.hasPrefix($0) : path == $0 }
  }

  private static func isSet(_ value: ConfigurationKey.Value?) -> Bool {
    switch value {
    case .text(let text): !text.isEmpty
    case .texts(let texts): !texts.isEmpty
    default: false
    }
  }

  private static func isPositive(_ value: ConfigurationKey.Value?) -> Bool {
    if case .number(let number)? = value { number > 0 } else { false }
  }

  /// List of all dependencies. If several apply to a key, each of them must be satisfied.
  static let all: [Dependency] = [
    Dependency(
      ["location.", "trips.", "regions.path", "owntracks.displacement_", "homeassistant.displacement_"],
      enabledBy: "location.enabled"),
    Dependency(["location.distance_filter"], of: "location.reporting", in: ["distance", "bounded"]),
    Dependency(
      [
        "location.error_bound", "location.delay_bound", "location.displacement_", "owntracks.displacement_",
        "homeassistant.displacement_",
      ], of: "location.reporting", in: ["bounded"]),
    Dependency(["location.displacement_"], listedIn: "mqtt.profile", as: "native"),
    Dependency(limiting: "location"), Dependency(limiting: "owntracks"),
    Dependency(limiting: "homeassistant"),
    Dependency(
      ["location.desired_accuracy"], need: "location.reporting",
      remedy: "set location.reporting = \"distance\"", except: .text("reduced")
    ) { $0 != .text("significant") },
    Dependency(["location.pauses_automatically"], of: "location.reporting", in: ["distance", "bounded"]),
    Dependency(["trips."], enabledBy: "trips.enabled"),
    Dependency(["trace."], enabledBy: "trace.enabled"),
    Dependency(["heading."], enabledBy: "heading.enabled"),
    Dependency(["attitude.interval"], enabledBy: "attitude.enabled"),
    Dependency(["altitude.interval"], enabledBy: "altitude.enabled"),
    Dependency(["motion.shake_"], listedIn: "motion.events", as: "shake"),
    Dependency(["motion.impact_"], listedIn: "motion.events", as: "impact"),
    Dependency(["events.braking"], listedIn: "events.kinds", as: "harshBraking"),
    Dependency(["events.acceleration"], listedIn: "events.kinds", as: "harshAcceleration"),
    Dependency(["events.cornering"], listedIn: "events.kinds", as: "harshCornering"),
    Dependency(["events.speed_limit"], listedIn: "events.kinds", as: "overSpeed"),
    Dependency(["events.idling"], listedIn: "events.kinds", as: "idling"),
    Dependency(["events.tilt"], listedIn: "events.kinds", as: "tilt"),
    Dependency(["events.supply"], listedIn: "events.kinds", as: "supplyLow"),
    Dependency(["gpsd."], enabledBy: "gpsd.enabled"),
    Dependency(
      [
        "iio.contexts", "iio.accelerometer", "iio.gyroscope", "iio.magnetometer", "iio.barometer",
        "iio.mount_matrix",
      ], enabledBy: "iio.enabled"),
    Dependency(["replay."], of: "input.mode", in: ["replay"]),
    Dependency(["simulation."], of: "input.mode", in: ["simulation"]),
    Dependency(["input.speed"], of: "input.mode", in: ["replay", "simulation"]),
    Dependency(["mqtt.burst_"], of: "mqtt.link", in: ["bursts-at-rest", "bursts"]),
    Dependency(["mqtt.tls_minimum"], need: "mqtt.broker", remedy: "write mqtts:// in mqtt.broker") { value in
      if case .texts(let texts)? = value { texts.contains { $0.hasPrefix("mqtts://") } } else { false }
    },
    Dependency(["owntracks."], listedIn: "mqtt.profile", as: "owntracks"),
    Dependency(["homeassistant."], enabledBy: "homeassistant.enabled"),
    Dependency(["recorder."], enabledBy: "recorder.enabled"),
    Dependency(["metrics.interval"], need: "metrics.file", remedy: "set metrics.file", isSet),
    Dependency(["remote."], enabledBy: "remote.enabled"),
    Dependency(socketOf: "nmea"), Dependency(socketOf: "gpsd_server"),
  ]

  /// Keys that require at least one of the keys in `conditions`. The remedy in the message names the first
  /// condition.
  static let alternatives: [(keys: [String], conditions: [String])] = [
    (["location.track_error"], ["location.deferral_timeout", "location.deferral_distance"]),
    (
      [
        "can.dbc", "can.signals", "can.j1939", "can.obd", "can.voltage_path", "can.speed", "can.interval",
      ], ["can.interface", "replay.can"]
    ),
    (
      ["nmea.accuracy", "nmea.privacy", "nmea.rate", "nmea.clients", "nmea.sentences"],
      ["nmea.listen", "nmea.socket"]
    ),
    (
      ["gpsd_server.accuracy", "gpsd_server.privacy", "gpsd_server.rate", "gpsd_server.clients"],
      ["gpsd_server.listen", "gpsd_server.socket"]
    ),
  ]

  static func isGiven(_ value: ConfigurationKey.Value?) -> Bool { isSet(value) || isPositive(value) }
}

extension ConfigurationReader {
  /// The settings that have no effect, in the order of the keys, without those of the preset. Settings equal
  /// to the default are not included, because the commented reference file sets every key.
  var ineffectiveSettings: [IneffectiveSetting] {
    ConfigurationKey.all.compactMap { key in
      guard let setting = written(key.path), setting.value != key.defaultValue else { return nil }
      return ineffective(key.path, setting)
    }
  }

  private func ineffective(_ path: String, _ setting: ConfigurationLayer.Setting) -> IneffectiveSetting? {
    for dependency in Dependency.all where dependency.applies(to: path) {
      let actual = value(dependency.condition)
      guard !dependency.isMet(actual), setting.value != dependency.exempt else { continue }
      let shown = actual.map { "is \($0.text)" } ?? "is not set"
      return IneffectiveSetting(
        key: path, cause: "\(dependency.condition) \(shown)", place: setting.place,
        remedy: "\(dependency.remedy), or remove the key")
    }
    for dependency in Dependency.alternatives where dependency.keys.contains(path) {
      guard !dependency.conditions.contains(where: { Dependency.isGiven(value($0)) }) else { continue }
      return IneffectiveSetting(
        key: path, cause: "neither \(dependency.conditions.joined(separator: " nor ")) is set",
        place: setting.place,
        remedy: "set \(dependency.conditions[0]), or remove the key")
    }
    return nil
  }
}

extension ConfigurationKey.Value {
  /// Text of the value as in a file.
  var text: String {
    switch self {
    case .text(let text): "\"\(text)\""
    case .texts(let texts): "[" + texts.map { "\"\($0)\"" }.joined(separator: ", ") + "]"
    case .integer(let number): "\(number)"
    case .number(let number): "\(number)"
    case .flag(let flag): "\(flag)"
    case .numbers(let numbers): "\(numbers)"
    }
  }
}

extension [IneffectiveSetting] {
  /// Logs each setting.
  func report(to log: Logger) {
    for setting in self {
      let (key, reason) = (setting.key, setting.problem)
      log.warning(
        .settingIneffective, "setting without effect",
        metadata: ["key": "\(key)", "reason": "\(reason)", "remedy": "\(setting.remedy)"])
    }
  }
}

extension ConfigurationLayers {
  /// Returns the settings that have no effect.
  /// - Parameter remote: remote settings by key.
  package func ineffectiveSettings(
    remote: [String: ConfigurationKey.Value] = [:]
  ) -> [IneffectiveSetting] {
    let layer = ConfigurationLayer(remote, place: "config/desired")
    let layers = [flags, environment, layer] + (file.map { [$0] } ?? [])
    let reader = try? ConfigurationReader(layers: layers, file: fileName, folders: folders)
    return reader?.ineffectiveSettings ?? []
  }
}
