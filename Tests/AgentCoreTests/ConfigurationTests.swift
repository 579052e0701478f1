import AgentCore
import Foundation
import MQTT
import Pipeline
import Sensors
import SensorsGPSD
import SensorsIIO
import Settings
import Spatial
import Telemetry
import Testing

@Suite struct ConfigurationTests {
  private func load(_ toml: String, environment: [String: String] = [:], flags: [String] = []) throws
    -> AgentConfiguration
  {
    try AgentConfiguration(
      layers: [
        ConfigurationLayer(assignments: flags), ConfigurationLayer(environment: environment),
        ConfigurationLayer(toml: toml, name: "test.toml"),
      ], file: "test.toml")
  }

  private func problem(_ toml: String, environment: [String: String] = [:], flags: [String] = []) -> String {
    do {
      _ = try load(toml, environment: environment, flags: flags)
      return "accepted"
    } catch {
      return "\(error)"
    }
  }

  @Test(arguments: [
    ("motion.shake_swings=30", "motion.shake_swings"), ("motion.shake_axes=sideways", "motion.shake_axes"),
    ("motion.impact_sides=middle", "motion.impact_sides"),
    ("motion.orientations=flat", "motion.orientations"),
  ])
  func invalidGestureSettingsAreRejected(setting: String, key: String) {
    let error = #expect(throws: ConfigurationError.self) {
      try load("", flags: ["vehicle.id=v", "input.mode=simulation", setting])
    }
    #expect(error?.description.contains(key) == true)
  }

  @Test func pipelineDefaultsAreThoseOfTheKeys() throws {
    func pipeline(_ settings: String...) throws -> PipelineConfiguration {
      try AgentConfiguration(settings: ["vehicle.id=v"] + settings).pipeline
    }
    #expect(try pipeline() == PipelineConfiguration())
    #expect(try pipeline("can.interface=can0").vehicle == PipelineConfiguration.Vehicle())
    #expect(try pipeline("trace.enabled=true").traces == PipelineConfiguration.Traces())
  }

  @Test(arguments: [
    ("signals = [\"vehicle.speed\"]", "; did you mean Vehicle.Speed?"),
    ("signals = [\"Vehicle,Speed = Engine.Speed\"]", "; did you mean Vehicle.Speed?"),
    ("speed = \"Vehicle Speed\"", "; did you mean Vehicle.Speed?"),
    ("signals = [\"Engine.Torque\"]", "\"Vehicle.Speed = EngineData.Speed\""),
  ])
  func mistypedSignalSuggestsTheNearestPath(line: String, ending: String) {
    let problem = problem("[vehicle]\nid = \"v\"\n[can]\ninterface = \"can0\"\n\(line)")
    #expect(problem.hasSuffix(ending), "\(problem)")
  }

  /// A missing barometer is reported only if it is configured by name or required for messages.
  @Test(
    arguments: [
      ([], true), (["altitude.interval=5"], false), (["iio.barometer=press"], false),
      (["altitude.interval=5", "altitude.enabled=false"], true),
    ])
  func missingBarometerIsReportedIfRequired(settings: [String], isHelper: Bool) throws {
    let configuration = try AgentConfiguration(settings: ["vehicle.id=v"] + settings)
    #expect(configuration.iio.allSatisfy { $0.helpers.contains(.barometer) == isHelper })
    #expect(!configuration.iio.isEmpty)
  }

  @Test(arguments: [
    (#"["impact", "shake"]"#, ["impact", "shake"]), (" [ 'impact', ] # a comment", ["impact"]), ("[]", []),
    (#"["48.1, 11.5 300 blur", "a]b"]"#, ["48.1, 11.5 300 blur", "a]b"]), (#""impact""#, ["impact"]),
    ("impact, shake", ["impact", "shake"]), ("", []), ("a[b],c", ["a[b]", "c"]),
  ])
  func arraysInTheEnvironmentUseFileSyntax(text: String, texts: [String]) throws {
    let flags = try ConfigurationLayer(assignments: ["motion.events=\(text)"])
    #expect(flags["motion.events"]?.value == .texts(texts))
    let environment = try ConfigurationLayer(environment: ["ODOGRAPH_MOTION_EVENTS": text])
    #expect(environment["motion.events"]?.value == .texts(texts))
  }

  /// Columns: an invalid array, and the expected position and remedy.
  @Test(arguments: [
    (#"["impact""#, "is not TOML", #"write it as in ["a", "b"]"#),
    (#"["impact" "shake"]"#, "(character 11)", #"write it as in ["a", "b"]"#),
    ("[\"impact\"]\ngpsd.port = 1", "more than one value", #"write it as in ["a", "b"]"#),
    (#"["impact", 5]"#, "is not an array of strings", "or one string"),
    (#"[["impact"]]"#, "is not an array of strings", "or one string"),
    (#"["impcat"]"#, "\"impcat\" is not one of", "\"shake\""),
  ])
  func invalidArrayNamesPositionAndRemedy(text: String, problem: String, remedy: String) {
    let toml = "[vehicle]\nid = \"v\""
    for (place, said) in [
      ("--set motion.events: ", self.problem(toml, flags: ["motion.events=\(text)"])),
      (
        "environment variable ODOGRAPH_MOTION_EVENTS: ",
        self.problem(toml, environment: ["ODOGRAPH_MOTION_EVENTS": text])
      ),
    ] {
      #expect(said.hasPrefix(place) && said.contains(problem) && said.contains(remedy), "\(said)")
    }
  }

  @Test func optionsPrecedeTheEnvironmentAndTheFile() throws {
    let toml = "[vehicle]\nid = \"file\"\nfleet = \"file\"\n[gpsd]\nport = 1\nhost = \"file\""
    let configuration = try load(
      toml, environment: ["ODOGRAPH_VEHICLE_FLEET": "env", "ODOGRAPH_GPSD_PORT": "2", "HOME": "/"],
      flags: ["gpsd.port=3"])
    #expect(configuration.vehicle == "file")
    #expect(configuration.fleet == "env")
    #expect(configuration.gpsd?.address.port == 3)
    #expect(configuration.gpsd?.address.host == "file")
    #expect(configuration.mqtt.client.clientID == "odographd-env-file")
  }

  @Test(arguments: [
    (
      "[vehicle]\nid = \"v\"\n[gpsd]\nprot = 2947",
      "test.toml:4:1: unknown key gpsd.prot; did you mean gpsd.port?"
    ),
    ("[vehicle]\nid = \"v\"\n[gps]\nport = 2947", "test.toml:3:2: unknown table [gps]; did you mean [gpsd]?"),
    (
      "[vehicle]\nid = \"v\"\n\n[gpsd]\nport = \"x\"",
      "test.toml:5:8: key gpsd.port: \"x\" is not an integer from 1 to 65535"
    ),
    ("[vehicle]\nid = 5", "test.toml:2:6: key vehicle.id: 5 is not a string"),
    ("[vehicle]\nid = \"v\"\n[gpsd]\nport = 0", "test.toml:4:8: key gpsd.port: 0 is not an integer from 1"),
    (
      "[vehicle]\nid = \"v\"\nid = \"w\"",
      "test.toml:3:6: not TOML: Error while parsing key-value pair: cannot redefine"
    ),
    ("vehicle = 1", "test.toml:1:1: unknown key vehicle"),
    ("[vehicle]\nfleet = \"f\"", "test.toml: key vehicle.id is missing; set it to a string"),
    ("[vehicle]\nid = \"a/b\"", "test.toml:2:6: the vehicle must not hold \"/\""),
    ("[vehicle]\nid = \"v\"\nfleet = \"bad/x\"", "test.toml:3:9: the fleet must not hold \"/\""),
    (
      "[vehicle]\nid = \"v\"\n[mqtt]\ntopic_root = \"a/#\"",
      "test.toml:4:14: the topic root must not hold \"#\""
    ),
    (
      "[vehicle]\nid = \"v\"\n[input]\nmode = \"magic\"",
      "test.toml:4:8: key input.mode: \"magic\" is not one of \"hardware\", \"replay\", \"simulation\""
    ),
    ("[vehicle]\nid = \"v\"\n[input]\nmode = \"replay\"", "test.toml:4:8: a replay needs replay.position"),
    (
      "[vehicle]\nid = \"v\"\n[mqtt]\nbroker = \"http://x\"",
      "test.toml:4:10: key mqtt.broker: \"http://x\" is not mqtt://HOST"
    ),
    (
      "[vehicle]\nid = \"v\"\n[mqtt]\nbroker = \"user@h\"",
      "test.toml:4:10: key mqtt.broker: \"user@h\" names a user; set mqtt.user"
    ),
    (
      "[vehicle]\nid = \"v\"\n[mqtt]\nkey_file = \"k\"\nbroker = \"mqtts://h\"",
      "test.toml:4:12: mqtt.certificate_file and mqtt.key_file"
    ),
    (
      "[vehicle]\nid = \"v\"\n[iio]\nmount_matrix = [\"a = 1,2\"]",
      "test.toml:4:16: key iio.mount_matrix: \"a = 1,2\" is not"
    ),
    (
      "[vehicle]\nid = \"v\"\n[iio]\nmount_matrix = [\"a = 2, 0, 0; 0, 1, 0; 0, 0, 1\"]",
      "test.toml:4:16: key iio.mount_matrix: \"a = 2, 0, 0; 0, 1, 0; 0, 0, 1\" is not a rotation"
    ),
    (
      "[vehicle]\nid = \"v\"\n[iio]\nmount_matrix = [\"a = 1, 0, 0; 0, 1, 0; 0, 0, -1\"]",
      "test.toml:4:16: key iio.mount_matrix: \"a = 1, 0, 0; 0, 1, 0; 0, 0, -1\" is not a rotation"
    ),
    (
      "[vehicle]\nid = \"v\"\n[iio]\ncontexts = [1]",
      "test.toml:4:12: key iio.contexts: [1] is not an array of strings"
    ),
    (
      "[vehicle]\nid = \"v\"\n[motion]\nevents = [\"jump\"]",
      "test.toml:4:10: key motion.events: \"jump\" is not one of \"shake\", \"impact\""
    ),
    ("[vehicle", "test.toml:1:9: not TOML"), ("[=]", "test.toml:1:2: not TOML: a name is missing here"),
    ("a = 1\n[[ .x", "test.toml:2:4: not TOML: a name is missing here"),
  ])
  func errorsNamePositionKeyAndRemedy(toml: String, expected: String) {
    let message = problem(toml)
    #expect(message.hasPrefix(expected), "\(message)")
  }

  /// Unknown variables may belong to another program. They are ignored with a warning.
  @Test func unknownVariableIsReported() throws {
    let layers = try ConfigurationLayers(
      file: nil,
      environment: ["ODOGRAPH_GPSD_PROT": "1", "ODOGRAPH_BROKER": "x", "GPSD_PROT": "1", "HOME": "/"],
      assignments: ["vehicle.id=v"])
    let lines = layers.findings().map(\.line)
    #expect(
      lines == [
        "warning  ODOGRAPH_GPSD_PROT: names no key and is ignored; did you mean ODOGRAPH_GPSD_PORT?"
      ], "\(lines)")
  }

  @Test func errorsNameTheVariableOrTheOption() {
    let toml = "[vehicle]\nid = \"v\""
    #expect(
      problem(toml, environment: ["ODOGRAPH_GPSD_PORT": "many"])
        == "environment variable ODOGRAPH_GPSD_PORT: \"many\" is not an integer from 1 to 65535")
    #expect(problem(toml, flags: ["gpsd.port"]) == "--set gpsd.port: write it as key=value")
    #expect(problem(toml, flags: ["gpsd.prot=1"]) == "--set: unknown key gpsd.prot; did you mean gpsd.port?")
  }

  /// Impacts exceed the range of most drivers, ±2 g.
  @Test func impactsAndTracesRequestALargeRange() throws {
    func demand(_ settings: String) throws -> IIOConfiguration.RangeDemand? {
      try #require(try load("[vehicle]\nid = \"v\"\n\(settings)").iio.first).accelerometerRange
    }
    let impact = try #require(try demand("[motion]\nimpact_threshold = 4"))
    #expect(impact.requested == 16 * standardGravity && impact.required == 5 * standardGravity)
    #expect(try demand("[motion]\nevents = []\n[trace]\nenabled = true") != nil)
    #expect(try demand("[motion]\nevents = [\"shake\"]") == nil)
  }

  @Test func mountMatrixIsRead() throws {
    let toml = "[vehicle]\nid = \"v\"\n[iio]\nmount_matrix = [\"imu = 0, 1, 0; -1, 0, 0; 0, 0, 1\"]"
    let matrix = try #require(try load(toml).iio.first?.mountMatrices["imu"])
    #expect(matrix.rows * Vector3(1, 2, 3) == Vector3(2, -1, 3))
  }

  /// The example is the documentation: it can be loaded, and contains each key with its default.
  @Test func exampleListsEveryKeyWithItsDefault() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let text = try String(contentsOf: root.appending(path: "Config/odograph.toml"), encoding: .utf8)
    let layer = try ConfigurationLayer(toml: text, name: "odograph.toml")
    let commented = text.split(separator: "\n").filter { $0.hasPrefix("# ") }.map { $0.dropFirst(2) }
    for key in ConfigurationKey.all {
      let name = key.path.split(separator: ".").last.map(String.init) ?? key.path
      if let value = key.defaultValue {
        #expect(layer[key.path]?.value == value, "\(key.path)")
      } else {
        let isShown = layer[key.path] != nil || commented.contains { $0.hasPrefix("\(name) =") }
        #expect(isShown, "\(key.path)")
      }
    }
  }
}
