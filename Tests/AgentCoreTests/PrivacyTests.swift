import Positioning
import Sensors
import Spatial
import Telemetry
import Testing

@testable import AgentCore

/// A drive through a place that is nobody's business: what the agent hands out for the store and the broker.
@Suite struct PrivacyTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)

  private func configuration(_ settings: String...) throws -> AgentConfiguration {
    try AgentConfiguration(
      layers: [ConfigurationLayer(assignments: ["vehicle.id=v", "input.mode=simulation"] + settings)],
      file: nil)
  }

  /// Drives north at 11 m/s through 48.02° for 200 s, and returns all payloads as text with their kinds.
  private func drive(_ configuration: AgentConfiguration) -> [(kind: MessageKind, text: String)] {
    var pipeline = AgentPipeline(
      configuration: configuration, start: Timestamp(nanoseconds: 0), time: Self.start, version: "1")
    var messages: [(kind: MessageKind, text: String)] = []
    for second in 0..<400 {
      let time = Timestamp(seconds: Double(second))
      var fix = PositionFix(
        timestamp: time, time: Self.start.advanced(bySeconds: Double(second)), mode: .threeDimensional,
        coordinate: Coordinate(latitude: 48 + Double(second) * 1e-4, longitude: 11.00777))
      (fix.speed, fix.course, fix.altitudeMeanSeaLevel) = (11, 0, 513.25)
      pipeline.process(.position([fix])) { draft in
        let payload = draft.encode(MessageIdentity(epoch: "e", seq: 1))
        messages.append((draft.kind, String(decoding: payload, as: UTF8.self)))
      }
    }
    return messages
  }

  private func latitudes(_ messages: [(kind: MessageKind, text: String)]) throws -> [Double] {
    try messages.filter { $0.kind == .location }.map {
      try LocationMessage(json: JSONValue(parsing: Array($0.text.utf8))).location.coordinate.latitude
    }
  }

  @Test func inAZoneThatWithholdsNoPositionIsHandedOut() throws {
    let zone = Coordinate(latitude: 48.02, longitude: 11.00777)
    let told = try latitudes(
      drive(configuration("privacy.zones=48.02 11.00777 500 withhold", "location.distance_filter=0")))
    #expect(!told.isEmpty)
    for latitude in told {
      #expect(Coordinate(latitude: latitude, longitude: 11.00777).distance(to: zone) > 500)
    }
    // A metre more or less: 500 m are 45 fixes on either side.
    let all = try latitudes(drive(configuration()))
    #expect((88...92).contains(all.count - told.count))
  }

  @Test func inAZoneThatBlursOnlyTheCellIsTold() throws {
    let messages = try drive(configuration("privacy.zones=48.02 11.00777 5000 blur"))
    #expect(messages.contains { $0.kind == .location })
    for message in messages {
      #expect(!message.text.contains("11.00777") && !message.text.contains("513.25"), "\(message.text)")
      #expect(!message.text.contains("\"speed\"") && !message.text.contains("\"course\""))
    }
    #expect(Set(try latitudes(messages)).count <= 2)
  }

  @Test func reducedAccuracyHoldsEverywhere() throws {
    let messages = try drive(configuration("privacy.accuracy=3000"))
    #expect(Set(try latitudes(messages)).count <= 3)
    for message in messages where message.kind == .location {
      let location = try LocationMessage(json: JSONValue(parsing: Array(message.text.utf8))).location
      #expect((1500...3500).contains(location.horizontalAccuracy ?? 0))
    }
  }

  @Test(arguments: [
    "48 11", "48 11 x", "91 11 100", "48 181 100", "48 11 0", "48 11 100 hide", "48 11 100 blur more", "",
    "nan 11 100",
  ])
  func zonesThatAreNone(text: String) {
    var layer = ConfigurationLayer()
    layer.values = ["vehicle.id": .text("v"), "privacy.zones": .texts([text])]
    do {
      _ = try AgentConfiguration(layers: [layer], file: "test.toml")
      Issue.record("accepted")
    } catch {
      #expect(
        "\(error)".contains("key privacy.zones: \"\(text)\" is not \"LATITUDE LONGITUDE RADIUS"), "\(error)")
    }
  }

  @Test func zonesOfAllForms() throws {
    var layer = ConfigurationLayer()
    layer.values = [
      "vehicle.id": .text("v"),
      "privacy.zones": .texts(["48.5 -11 100", "-48, 11.25, 200, blur", "0 0 1e3 withhold"]),
    ]
    let zones = try AgentConfiguration(layers: [layer], file: nil).privacy.zones
    #expect(zones.map(\.radius) == [100, 200, 1000])
    #expect(zones.map(\.treatment) == [.withhold, .blur, .withhold])
    #expect(zones.map(\.centre.latitude) == [48.5, -48, 0])
    #expect(zones.map(\.centre.longitude) == [-11, 11.25, 0])
  }
}
