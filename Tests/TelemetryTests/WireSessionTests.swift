import Foundation
import JSON
import Telemetry
import Testing

/// Output of version 0.1.0 for a simulated drive of 25 minutes through three regions, with tracks, both formats
/// and Home Assistant (`Tests/Fixtures/wire-0.1.0.jsonl`). Each native message, decoded and encoded in all
/// formats, gives the same lines in the same order.
@Suite struct WireSessionTests {
  private static let session = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Fixtures/wire-0.1.0.jsonl")

  /// Removes the values after `energy` and `roll`: sums of rounded numbers and angles of a rounded quaternion
  /// differ from the exact values.
  /// Removes `services`: version 0.1.0 repeated a reason that services share.
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
    // Since version 0.1.0, attitudes are retained because they are published on change, and discovery messages
    // have no numbers.
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
    // Discovery messages follow Home Assistant's format, not this contract (see `HomeAssistantTests`).
    said.removeAll { $0.hasPrefix(#"{"topic":"homeassistant/"#) }
    // Kinds added after version 0.1.0.
    #expect(
      kinds
        == Set(MessageKind.allCases).subtracting([
          .locationEvent, .altitude, .trip, .drivingEvent, .vehicle, .scan, .trace,
        ]))
    #expect(said.count == lines.count)
    for (line, expected) in zip(said, lines) { #expect(comparable(line) == comparable(expected)) }
  }
}
