import AgentCore
import Foundation
import Settings
import Telemetry
import Testing

/// `ConfigurationKey.all` and the keys that `AgentConfiguration` reads are the same.
@Suite struct ConfigurationKeyTests {
  /// Valid values other than the default, for keys with restrictions beyond their type.
  private static let values = [
    "iio.accelerometer": "off", "iio.gyroscope": "off", "iio.magnetometer": "off", "iio.barometer": "off",
    "can.interface": "can0", "can.signals": "Vehicle.Speed", "can.speed": "none",
    "iio.mount_matrix": "[\"imu = 0, 1, 0; -1, 0, 0; 0, 0, 1\"]", "replay.date": "2026-11-21",
    "input.place": "[48.1, 11.5]", "radio.wifi": "wlan0", "simulation.start": "2026-11-21T08:00:00Z",
    "privacy.zones": "48 11 300 blur",
    "events.kinds": "idling", "motion.events": "shake",
    "motion.shake_axes": "vertical", "motion.impact_sides": "left", "motion.orientations": "faceUp",
    "sensors.required": "barometer", "mqtt.broker": "mqtt://broker.example", "mqtt.profile": "owntracks",
    "metrics.file": "/tmp/odograph.prom", "owntracks.tid": "v1", "remote.keys": "heading.interval",
    "mqtt.topic_root": "fleet/v1", "remote.files_path": "/etc/odographd/remote", "mqtt.backoff_base": "2",
    "mqtt.backoff_limit": "60", "nmea.listen": "127.0.0.1:10110", "nmea.socket": "/run/nmea",
    "nmea.socket_mode": "0600", "nmea.access": "alice=none", "nmea.sentences": "RMC",
    "gpsd_server.listen": "127.0.0.1:2948", "gpsd_server.socket": "/run/gpsd",
    "gpsd_server.socket_mode": "0600", "gpsd_server.access": "alice=none",
    "regions.notify": "/run/parcels.socket",
  ]

  /// The fleet's command line accepts the same elements of arrays as the agent.
  @Test func elementsOfArraysAreThoseOfTheAgent() throws {
    let keys = ConfigurationKey.all.filter { $0.elements != nil }
    #expect(keys.map(\.path).contains("motion.events") && keys.count == 6)
    for key in keys {
      let elements = try #require(key.elements)
      _ = try AgentConfiguration(settings: ["vehicle.id=v", "\(key.path)=\(elements.joined(separator: ","))"])
      let error = #expect(throws: (any Error).self) {
        try AgentConfiguration(settings: ["vehicle.id=v", "\(key.path)=unknown"])
      }
      let text = error.map { "\($0)" } ?? ""
      // The agent's message lists its own choices.
      let quoted = text.split(separator: "is not one of ").last?.filter { $0 == "\"" }.count
      #expect(quoted == 2 * elements.count, "\(text)")
      for element in elements { #expect(text.contains("\"\(element)\""), "\(text)") }
    }
  }

  /// Returns settings without which a key has no effect. A later assignment overrides them.
  private static func needed(for key: String) -> [String] {
    let secure = ["mqtt.broker=mqtts://h"]
    return switch key {
    case "input.mode": ["replay.position=none"]
    case "input.place": ["input.mode=simulation"]
    case _ where key.hasPrefix("replay."):
      ["input.mode=replay", "replay.position=none", "replay.sensors=a.csv"]
    case "can.interface": []
    case "can.voltage_path": ["can.interface=can0", "can.obd=11-bit"]
    case _ where key.hasPrefix("can."): ["can.interface=can0"]
    case _ where key.hasPrefix("simulation."): ["input.mode=simulation"]
    case "location.error_bound", "location.delay_bound": ["location.reporting=bounded"]
    case "location.distance_filter": ["location.reporting=distance"]
    case _ where key.hasPrefix("location.displacement_"): ["location.reporting=bounded"]
    case "location.track_error": ["location.deferral_timeout=60"]
    case "mqtt.password_file": ["mqtt.user=v"]
    case "mqtt.certificate_file", "mqtt.key_file":
      secure + ["mqtt.certificate_file=/c", "mqtt.key_file=/k"]
    case "mqtt.psk_identity", "mqtt.psk_file": secure + ["mqtt.psk_identity=i", "mqtt.psk_file=/k"]
    case "mqtt.ca_file", "mqtt.alpn", "mqtt.tls_minimum": secure
    case "mqtt.burst_interval", "mqtt.burst_linger": ["mqtt.link=bursts"]
    case _ where key.hasPrefix("owntracks."): ["mqtt.profile=owntracks"]
    case _ where key.hasPrefix("homeassistant.") && key != "homeassistant.enabled":
      ["homeassistant.enabled=true"]
    case "recorder.path", "recorder.megabytes": ["recorder.enabled=true"]
    case "nmea.listen", "nmea.socket", "gpsd_server.listen", "gpsd_server.socket": []
    case _ where key.hasPrefix("nmea."): ["nmea.socket=/run/nmea"]
    case _ where key.hasPrefix("gpsd_server."): ["gpsd_server.socket=/run/gpsd"]
    case _ where key.hasPrefix("trace.") && key != "trace.enabled": ["trace.enabled=true"]
    default: []
    }
  }

  /// Returns a value other than the default.
  private static func other(_ key: ConfigurationKey) -> String {
    if let value = values[key.path] { return value }
    switch (key.kind, key.defaultValue) {
    case (.oneOf(let choices), let value): return choices.first { .text($0) != value } ?? ""
    case (.integer(let range), let value):
      return "\(value == .integer(range.lowerBound) ? range.lowerBound + 1 : range.lowerBound)"
    case (.number(let range), let value), (.speed(let range), let value):
      return
        "\(value == .number(range.lowerBound) ? min(range.lowerBound + 1, range.upperBound) : range.lowerBound)"
    case (.flag, let value): return value == .flag(true) ? "false" : "true"
    case (.text, _), (.texts, _), (.coordinate, _): return "another"
    }
  }

  private static func load(_ assignments: [String]) throws(ConfigurationError) -> AgentConfiguration {
    try ConfigurationLayers(
      flags: ConfigurationLayer(assignments: ["vehicle.id=v"] + assignments),
      environment: ConfigurationLayer(), file: nil, fileName: nil
    ).configuration()
  }

  @Test(arguments: ConfigurationKey.all.map(\.path)) func everyKeyHasAnEffect(path: String) throws {
    let key = try #require(ConfigurationKey.byPath[path])
    var value = Self.other(key)
    if path == "privacy.path" {
      value = FileManager.default.temporaryDirectory.appending(path: "odograph-\(UUID()).geojson").path
      let zone =
        #"{"type": "Feature", "properties": {"radius": 100}, "id": "home", "geometry": {"type": "Point", "coordinates": [11, 48]}}"#
      try #"{"type": "FeatureCollection", "features": [\#(zone)]}"#
        .write(toFile: value, atomically: true, encoding: .utf8)
    }
    defer { if path == "privacy.path" { try? FileManager.default.removeItem(atPath: value) } }
    let needed = Self.needed(for: path)
    let before = try Self.load(needed)
    let after = try Self.load(needed + ["\(path)=\(value)"])
    #expect(before != after, "\(path) = \(value)")
  }
}
