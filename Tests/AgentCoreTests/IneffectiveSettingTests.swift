import AgentCore
import Pipeline
import Positioning
import Settings
import Simulation
import Telemetry
import TestSupport
import Testing

/// Settings that other settings leave without effect, and the reporting that a distance filter selects.
@Suite struct IneffectiveSettingTests {
  /// A distance filter above the preset selects distance reporting, unless the reporting is set above the preset, too.
  @Test(arguments: [
    ([], [], "bounded"), (["location.distance_filter=50"], [], "distance"),
    ([], ["location.distance_filter=50"], "distance"),
    (["location.distance_filter=0"], [], "bounded"),
    (["location.distance_filter=50"], ["location.reporting=bounded"], "bounded"),
    (["location.reporting=significant"], ["location.distance_filter=50"], "significant"),
    (["preset=asset-tracker"], ["location.distance_filter=50"], "distance"),
    (["preset=person"], ["location.reporting=bounded"], "bounded"), (["preset=person"], [], "distance"),
    (["preset=truck"], ["location.distance_filter=50"], "distance"),
  ])
  func distanceFilterSelectsDistanceReporting(file: [String], flags: [String], reporting: String) throws {
    let layers = ConfigurationLayers(
      flags: try ConfigurationLayer(assignments: ["vehicle.id=v"] + flags), environment: ConfigurationLayer(),
      file: try ConfigurationLayer(assignments: file), fileName: nil)
    let location = try layers.configuration().pipeline.location
    switch location.policy {
    case .distance(let filter):
      #expect(reporting == "distance" && filter == (file == ["preset=person"] ? 30 : 50))
    case .bounded: #expect(reporting == "bounded")
    case .significant: #expect(reporting == "significant")
    }
    let isIdle = (file + flags).contains("location.distance_filter=50") && reporting == "significant"
    #expect(layers.ineffectiveSettings().map(\.key) == (isIdle ? ["location.distance_filter"] : []))
  }

  /// Each format that is published adds its limit, and so does a distance filter that is set. The filter of a preset does not.
  @Test(arguments: [
    (["mqtt.profile=native"], ["location"]), (["mqtt.profile=owntracks"], ["owntracks"]),
    (
      ["mqtt.profile=native,owntracks", "homeassistant.enabled=true"],
      ["location", "owntracks", "homeassistant"]
    ),
    (["location.displacement_bound=0"], []),
    (["location.distance_filter=30"], ["location", "filter"]), (["preset=person"], ["location"]),
  ])
  func eachFormatLimitsTheDisplacement(settings: [String], sources: [String]) throws {
    let limits = [
      "location": DisplacementLimit(metres: 60, seconds: 3),
      "owntracks": DisplacementLimit(metres: 61, seconds: 4),
      "homeassistant": DisplacementLimit(metres: 62, seconds: 5), "filter": DisplacementLimit(metres: 30),
    ]
    let assignments = limits.filter { $0.key != "filter" }.flatMap { table, limit in
      ["\(table).displacement_bound=\(limit.metres)", "\(table).displacement_time=\(limit.seconds)"]
    }
    let layers = ConfigurationLayers(
      flags: try ConfigurationLayer(assignments: settings), environment: ConfigurationLayer(),
      file: try ConfigurationLayer(
        assignments: ["vehicle.id=v", "location.reporting=bounded"] + assignments),
      fileName: nil)
    #expect(try layers.configuration().pipeline.location.limits == sources.compactMap { limits[$0] })
  }

  /// A distance filter that is set remotely selects distance reporting, too.
  @Test func remoteDistanceFilterSelectsDistanceReporting() throws {
    let remote: [String: ConfigurationKey.Value] = ["location.distance_filter": .number(50)]
    func layers(_ file: String...) throws -> ConfigurationLayers {
      ConfigurationLayers(
        flags: ConfigurationLayer(), environment: ConfigurationLayer(),
        file: try ConfigurationLayer(assignments: ["vehicle.id=v"] + file), fileName: nil)
    }
    let free = try layers()
    #expect(try free.configuration(remote: remote).pipeline.location.policy == .distance(50))
    #expect(free.ineffectiveSettings(remote: remote).isEmpty)
    let bounded = try layers("location.reporting=bounded")
    #expect(
      try bounded.configuration(remote: remote).pipeline.location.limits?.last
        == DisplacementLimit(metres: 50))
    #expect(bounded.ineffectiveSettings(remote: remote).isEmpty)
    let fixed = try layers("location.reporting=significant")
    let idle = try #require(fixed.ineffectiveSettings(remote: remote).first)
    #expect(idle.key == "location.distance_filter" && idle.place == "config/desired")
    #expect(idle.problem == #"has no effect while location.reporting is "significant""#)
  }

  /// Each line names the key, the cause and the remedy.
  @Test(arguments: [
    ("heading.filter=3", "heading.enabled=false", "heading.enabled is false"),
    ("trips.stop=60", "trips.enabled=false", "trips.enabled is false"),
    ("trips.stop=60", "location.enabled=false", "location.enabled is false"),
    ("location.track_error=5", "", "neither location.deferral_timeout nor location.deferral_distance is set"),
    ("location.error_bound=50", "location.reporting=distance", #"location.reporting is "distance""#),
    ("location.error_bound=50", "location.distance_filter=20", #"location.reporting is "distance""#),
    ("location.displacement_bound=80", "location.distance_filter=20", #"location.reporting is "distance""#),
    ("location.displacement_bound=80", "mqtt.profile=owntracks", #"mqtt.profile is ["owntracks"]"#),
    ("location.displacement_time=7", "location.displacement_bound=0", "location.displacement_bound is 0.0"),
    ("owntracks.displacement_bound=80", "", #"mqtt.profile is ["native"]"#),
    ("homeassistant.displacement_time=7", "", "homeassistant.enabled is false"),
    (
      "location.desired_accuracy=kilometer", "location.reporting=significant",
      #"location.reporting is "significant""#
    ),
    ("location.desired_accuracy=reduced", "location.reporting=significant", nil),
    ("motion.shake_threshold=3", "", #"motion.events is ["impact", "activity"]"#),
    ("motion.impact_threshold=3", "", nil), ("metrics.interval=5", "", "metrics.file is not set"),
    ("can.interval=5", "", "neither can.interface nor replay.can is set"), ("iio.rate=50", "", nil),
  ])
  func settingWithoutEffectIsReported(setting: String, other: String, cause: String?) throws {
    let layers = try ConfigurationLayers(
      file: nil, environment: [:], assignments: ["vehicle.id=v", setting] + (other.isEmpty ? [] : [other]))
    let key = String(setting.prefix { $0 != "=" })
    let idle = layers.ineffectiveSettings().first { $0.key == key }
    #expect(idle?.cause == cause)
    #expect(idle.map { $0.remedy.hasSuffix(", or remove the key") } ?? true)
  }

  /// Each setting that does not change the configuration is reported. Prints its seed.
  @Test func noSettingWithoutEffectIsMissed() throws {
    var random = SeededGenerator.announced()
    let enabling = [
      "location.reporting=distance", "location.reporting=bounded", "location.reporting=significant",
      "location.deferral_timeout=60", "mqtt.link=always", "input.mode=simulation", "recorder.enabled=true",
      "trace.enabled=true", "gpsd.enabled=false", "iio.enabled=false", "can.interface=can0",
      "homeassistant.enabled=true", "mqtt.profile=native,owntracks", "location.distance_filter=70",
      "altitude.enabled=false", "metrics.file=/tmp/odograph.prom",
    ]
    let keys = ConfigurationKey.all.filter { key in
      if case .number = key.kind { true } else if case .integer = key.kind { true } else { false }
    }
    var missed: Set<String> = []
    var checked = 0
    for _ in 0..<200 {
      let context = enabling.filter { _ in Int.random(in: 0..<4, using: &random) == 0 }
      for key in keys {
        guard let value = Self.other(key) else { continue }
        func layers(_ settings: [String]) throws -> ConfigurationLayers {
          try ConfigurationLayers(file: nil, environment: [:], assignments: ["vehicle.id=v"] + settings)
        }
        let with = try layers(context + ["\(key.path)=\(value)"])
        guard let base = try? layers(context).configuration(), let other = try? with.configuration() else {
          continue
        }
        checked += 1
        let isReported = with.ineffectiveSettings().contains { $0.key == key.path }
        if base == other, !isReported, !context.contains(where: { $0.hasPrefix(key.path + "=") }) {
          missed.insert(key.path)
        }
      }
    }
    #expect(missed.isEmpty && checked > 1000, "\(missed.sorted())")
  }

  /// A value other than the default; nil if there is none.
  private static func other(_ key: ConfigurationKey) -> String? {
    switch (key.kind, key.defaultValue) {
    case (.integer(let range), .integer(let value)?):
      range.contains(value + 1) ? "\(value + 1)" : "\(value - 1)"
    case (.number(let range), .number(let value)?):
      range.contains(value * 1.5 + 1) ? "\(value * 1.5 + 1)" : "\(value / 2)"
    default: nil
    }
  }
}

extension PipelineConfiguration.Location {
  /// Displacement limits; nil without bounded reporting.
  fileprivate var limits: [DisplacementLimit]? {
    if case .bounded(_, _, let limits) = policy { limits } else { nil }
  }
}
