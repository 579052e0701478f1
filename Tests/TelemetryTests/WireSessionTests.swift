import Foundation
import JSON
import Telemetry
import Testing

/// What version 0.1.0 printed of a simulated drive of 25 minutes, through three regions, with tracks, in both formats and
/// with Home Assistant (`Tests/Fixtures/wire-0.1.0.jsonl`): every native message, read and said again in all formats, gives
/// the very lines, in their order.
@Suite struct WireSessionTests {
  private static let session = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Fixtures/wire-0.1.0.jsonl")

  /// A sum of rounded numbers is not the rounded sum, nor are the angles of a rounded quaternion those of the exact one: what
  /// follows these keys is left out.
  /// Services state a reason that they share once, which version 0.1.0 did not.
  private func comparable(_ line: some StringProtocol) -> String {
    var line = String(line)
    if let start = line.range(of: "\"services\":{"),
      let end = line.range(of: "}", range: start.upperBound..<line.endIndex)
    {
      line.removeSubrange(start.upperBound..<end.lowerBound)
    }
    for key in ["\"energy\":", "\"roll\":"] {
      if let range = line.range(of: key) { return String(line[..<range.lowerBound]) }
    }
    return line
  }

  @Test func decodedAndReencodedMessagesAreEqual() throws {
    // An attitude is retained since it is published on change; discovery messages have no numbers any more.
    let lines = try String(contentsOf: Self.session, encoding: .utf8)
      .replacing("/attitude\",\"qos\":0,\"retain\":false", with: "/attitude\",\"qos\":0,\"retain\":true")
      .split(separator: "\n")
      .filter { !$0.hasPrefix(#"{"topic":"homeassistant/"#) }
    let topics = try TopicScheme(fleet: "delivery", vehicle: "van-1")
    var formats = MessageFormats(
      topics: topics,
      ownTracks: OwnTracksFormat(
        topics: try OwnTracksTopics(user: "delivery", device: "van-1"), trackerID: "-1"),
      homeAssistant: HomeAssistantDiscovery(prefix: "homeassistant", topics: topics, version: "0.1.0"))
    var said: [String] = []
    var kinds: Set<MessageKind> = []
    for line in lines {
      let json = try JSONValue(parsing: Array(line.utf8))
      guard let topic = json["topic"]?.string, let address = TopicAddress(topic: topic) else { continue }
      let payload = try #require(json["payload"])
      let decoded = try VehicleMessage.decode(path: address.path, json: payload)
      let message = try #require(decoded, "\(line)")
      if let kind = message.kind { kinds.insert(kind) }
      for publication in formats.encode(message) {
        said.append(String(decoding: publication.line(identity: message.identity), as: UTF8.self))
      }
    }
    // Announcements to Home Assistant follow its format, not this contract (`HomeAssistantTests`).
    said.removeAll { $0.hasPrefix(#"{"topic":"homeassistant/"#) }
    // Which came later.
    #expect(
      kinds
        == Set(MessageKind.allCases).subtracting([
          .locationEvent, .altitude, .trip, .drivingEvent, .vehicle, .scan, .trace,
        ]))
    #expect(said.count == lines.count)
    for (line, expected) in zip(said, lines) { #expect(comparable(line) == comparable(expected)) }
  }
}
