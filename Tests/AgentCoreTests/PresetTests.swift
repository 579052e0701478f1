import AgentCore
import Foundation
import Navigation
import Pipeline
import Positioning
import Sensors
import Settings
import Spatial
import Telemetry
import TestSupport
import Testing

/// Built-in presets, which have the lowest precedence.
@Suite struct PresetTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  private static func load(
    _ toml: String = "", environment: [String: String] = [:], flags: [String] = []
  ) throws -> AgentConfiguration {
    try AgentConfiguration(
      layers: [
        ConfigurationLayer(assignments: ["vehicle.id=v"] + flags),
        ConfigurationLayer(environment: environment), ConfigurationLayer(toml: toml, name: "test.toml"),
      ], file: "test.toml")
  }

  @Test func truckHasItsOwnEventLimits() throws {
    let truck = try Self.load(flags: ["preset=truck"]).pipeline.events.limits
    let car = try Self.load().pipeline.events.limits
    #expect(truck.braking < car.braking && truck.supply > 20 && car.supply < 13)
  }

  @Test func presetFilesMatchTheProgram() throws {
    let folder = Self.root.appending(path: "Config/presets")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    #expect(names == Preset.allCases.map { $0.rawValue + ".toml" }.sorted())
    for preset in Preset.allCases {
      let file = folder.appending(path: "\(preset.rawValue).toml")
      #expect(try preset.text == String(contentsOf: file, encoding: .utf8))
    }
  }

  /// A preset contains no default values, names or brokers: names and brokers are specific to each vehicle.
  @Test(arguments: Preset.allCases) func presetContainsOnlyDifferences(preset: Preset) throws {
    let layer = try preset.layer()
    #expect(layer.settings.isEmpty == (preset == .usual))
    for (path, setting) in layer.settings {
      let key = try #require(ConfigurationKey.byPath[path])
      #expect(setting.value != key.defaultValue, "\(setting.place)")
      #expect(!["preset", "mqtt.broker"].contains(path) && !path.hasPrefix("vehicle."), "\(setting.place)")
    }
  }

  /// A parked vehicle, whose first fix is accurate to 925 m and later ones to 5 m, is soon shown with a better accuracy than its
  /// preset requires, with few messages.
  @Test(arguments: Preset.allCases) func firstInaccuratePositionIsReplaced(preset: Preset) throws {
    let configuration = try Self.load(flags: ["preset=\(preset.rawValue)", "input.mode=simulation"]).pipeline
    let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)
    var pipeline = AgentPipeline(
      configuration: configuration, start: Timestamp(seconds: 0), time: start, version: "1")
    var accuracies: [Double] = []
    var fixes = 0
    for second in 0..<1800 {
      let timestamp = Timestamp(seconds: Double(second))
      func take(_ message: VehicleMessage) {
        guard case .location(let message) = message else { return }
        accuracies.append(message.location.horizontalAccuracy ?? .infinity)
      }
      pipeline.advance(to: timestamp, into: take)
      guard pipeline.demands[.positioning]?.isOn ?? false else { continue }
      var fix = PositionFix(
        timestamp: timestamp, time: start.advanced(bySeconds: Double(second)), mode: .threeDimensional,
        coordinate: Coordinate(latitude: 48, longitude: 11))
      // gpsd's error has a confidence of 95 %.
      (fix.speed, fix.speedError, fix.horizontalError) = (0, 0.2, fixes == 0 ? 1500 : 8)
      fixes += 1
      pipeline.process(.position([fix]), into: take)
    }
    let sufficient: [Preset: Double] = [
      .car: 20, .truck: 50, .person: 30, .assetTracker: 100, .testBench: 10,
    ]
    #expect(
      accuracies.first.map { $0 > 900 } == true
        && accuracies.last.map { $0 <= sufficient[preset, default: 0] } == true)
    if preset == .assetTracker { #expect(accuracies.count == 2, "\(accuracies)") }
  }

  @Test func fileOverridesOnlyItsOwnKeys() throws {
    let truck = try Self.load("preset = \"truck\"")
    #expect(truck.preset == .truck && truck.pipeline.location.desiredAccuracy == .bestForNavigation)
    #expect(truck.pipeline.location.bounds == [50, 10])
    let other = try Self.load("preset = \"truck\"\n[location]\nerror_bound = 30")
    #expect(other.pipeline.location.bounds == [30, 10])
    #expect(other.store == truck.store && other.mqtt == truck.mqtt)
  }

  @Test func presetOptionPrecedesEnvironmentAndFile() throws {
    let file = "preset = \"truck\""
    #expect(try Self.load(file, environment: ["ODOGRAPH_PRESET": "person"]).preset == .person)
    let flagged = try Self.load(
      file, environment: ["ODOGRAPH_PRESET": "person"], flags: ["preset=asset-tracker"])
    #expect(flagged.preset == .assetTracker && flagged.pipeline.location.policy == .significant)
    #expect(try Self.load().preset == .car)
  }

  /// Remote settings override the file and so the preset. The preset itself cannot be changed remotely.
  @Test func remoteSettingsOverrideThePreset() throws {
    let layers = try ConfigurationLayers(
      file: nil, environment: [:], assignments: ["vehicle.id=v", "preset=truck"])
    let configuration = try layers.configuration(remote: ["location.error_bound": .number(80)])
    #expect(configuration.pipeline.location.bounds == [80, 10])
    #expect(RemoteKeys.problem(with: "preset")?.contains("requires a restart") == true)
  }

  /// A changed preset in the file requires a restart; until then the previous preset is in effect.
  @Test func changedPresetRequiresARestart() throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "odograph-\(UUID()).toml")
    defer { try? FileManager.default.removeItem(at: directory) }
    func write(_ text: String) throws { try Data(text.utf8).write(to: directory) }
    try write("preset = \"truck\"\n[vehicle]\nid = \"v\"\n")
    let layers = try ConfigurationLayers(file: directory.path, environment: [:], assignments: [])
    var manager = try RemoteManager(layers: layers, memory: RemoteMemory(), at: .init(nanoseconds: 0))
    try write("preset = \"person\"\n[vehicle]\nid = \"v\"\n[heading]\nenabled = true\n")
    let outcome = try manager.reload(layers.reloadingFile())
    #expect(outcome.needsRestart == ["preset"] && outcome.changed == ["heading.enabled"])
    #expect(manager.active.preset == .truck && manager.active.pipeline.heading.isEnabled)
  }

  /// Columns: an invalid setting, and part of the expected message.
  @Test(arguments: [
    ("preset = \"trcuk\"", "test.toml:1:10: key preset: \"trcuk\" is not one of \"car\", \"truck\","),
    ("preset = \"trcuk\"", "did you mean \"truck\"?"),
    ("preset = \"asset_tracker\"", "did you mean \"asset-tracker\"?"),
    ("preset = 5", "test.toml:1:10: key preset: 5 is not one of \"car\""),
    (
      "[vehicle]\npreset = \"car\"",
      "test.toml:2:1: unknown key vehicle.preset; preset must precede the first"
    ),
    ("[preset]\nname = \"car\"", "key preset: a table is not one of \"car\""),
    ("prest = \"car\"", "did you mean preset?"),
  ])
  func unknownPresetNamesPositionAndRemedy(toml: String, expected: String) {
    do {
      _ = try Self.load(toml)
      Issue.record("accepted \(toml)")
    } catch { #expect("\(error)".contains(expected), "\(error)") }
  }

  @Test func unknownPresetInAnOptionIsNamed() {
    do {
      _ = try Self.load(flags: ["preset=cra"])
      Issue.record("accepted")
    } catch {
      #expect("\(error)".hasPrefix("--set preset: \"cra\" is not one of \"car\", "))
      #expect("\(error)".hasSuffix("; did you mean \"car\"?"))
    }
  }

  /// Only secrets and positions are redacted: the mounting has as many decimals as a position.
  @Test func supportReportRedactsOnlySecretsAndPositions() throws {
    let directory = try TemporaryDirectory()
    let password = try directory.write("password", "hunter2")
    let layers = try ConfigurationLayers(
      file: nil, environment: [:],
      assignments: [
        "vehicle.id=v", "input.mode=simulation", "simulation.seed=17", "input.place=[48.137154, 11.576124]",
        "iio.mount_matrix=[\"imu = 0.70710678, 0.70710678, 0; -0.70710678, 0.70710678, 0; 0, 0, 1\"]",
        "mqtt.user=somebody", "mqtt.password_file=\(password)", "mqtt.psk_file=hunter2",
        "mqtt.key_file=/none",
        "privacy.zones=[\"48.1 11.5 300 blur\"]", "mqtt.broker=mqtt://van:hunter2@h",
      ])
    let lines = RedactedConfiguration(layers).lines
    for line in [
      "simulation.seed = 17  # set", "input.place = (redacted)  # set", "mqtt.user = (redacted)  # set",
      "iio.mount_matrix = [\"imu = 0.70710678, 0.70710678, 0; -0.70710678, 0.70710678, 0; 0, 0, 1\"]  # set",
      "mqtt.password_file = \"\(password)\" (readable)  # set",
      "mqtt.key_file = \"/none\" (not readable)  # set",
      "mqtt.psk_file = (redacted: not an absolute path)  # set", "privacy.zones = (1 redacted)  # set",
      "mqtt.broker = [\"mqtt://(redacted)@h\"]  # set",
    ] {
      #expect(lines.contains(line), "\(line) in \(lines.filter { $0.hasPrefix(line.prefix(8)) })")
    }
    #expect(!lines.contains { $0.contains("hunter2") || $0.contains("48.1") })
  }

  @Test func supportReportShowsTheOriginOfValues() throws {
    let layers = try ConfigurationLayers(
      file: nil, environment: [:], assignments: ["vehicle.id=v", "preset=truck", "location.error_bound=7"])
    let lines = RedactedConfiguration(layers).lines
    for line in [
      "preset = \"truck\"  # set", "location.error_bound = 7.0  # set",
      "location.delay_bound = 10.0  # preset",
      "gpsd.port = 2947",
    ] {
      #expect(lines.contains(line), "\(lines.filter { $0.contains("bound") })")
    }
  }
}

extension PipelineConfiguration.Location {
  /// Metres and seconds of bounded reporting; nil without it.
  fileprivate var bounds: [Double]? {
    if case .bounded(let error, let delay, _) = policy { [error, delay] } else { nil }
  }
}
