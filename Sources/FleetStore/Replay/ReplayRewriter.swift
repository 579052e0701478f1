internal import Bytes
internal import Fleet
internal import JSON
internal import MQTT
internal import Spatial
internal import Telemetry

/// Makes of a recorded message the one that is published.
struct ReplayRewriter {
  private let times: ReplayOptions.Times
  private let fleet: String?
  private let root: String
  /// What is put behind the recorded epochs: the vehicles' stores are not those of the recording, or consumers that know
  /// that would take the replay for repetitions.
  private let epochSuffix: String

  /// - Parameters:
  ///   - fleet: what it is played as; nil keeps each its own.
  ///   - root: where the native topics begin, to find the fleet in them.
  init(
    _ times: ReplayOptions.Times, fleet: String? = nil, root: String = TopicScheme.defaultRoot, run: UInt32
  ) {
    self.times = times
    self.fleet = fleet
    self.root = root
    epochSuffix = "-" + String(run, radix: 36)
  }

  func message(_ stored: StoredMessage, _ clock: ReplayClock) -> MQTTMessage {
    MQTTMessage(
      topic: topic(stored), payload: times == .keep ? stored.payload : payload(stored, clock),
      qos: stored.qos, retain: stored.retain)
  }

  private func topic(_ stored: StoredMessage) -> String {
    guard let fleet, let key = stored.vehicle else { return stored.topic }
    for root in [root, MessageProfile.ownTracks.usualRoot] {
      let start = "\(root)/\(key.fleet)/"
      if stored.topic.hasPrefix(start) { return "\(root)/\(fleet)/\(stored.topic.dropFirst(start.count))" }
    }
    return stored.topic
  }

  private func payload(_ stored: StoredMessage, _ clock: ReplayClock) -> [UInt8] {
    // A track's times are relative to one another: at another speed it is written anew.
    if stored.kind == MessageKind.track.rawValue, clock.speed ?? 1 != 1,
      let json = try? JSONValue(parsing: stored.payload), let track = try? TrackMessage(json: json)
    {
      let fixes = track.fixes.map { fix in
        TrackMessage.Fix(
          time: clock.moved(fix.time), coordinate: fix.coordinate, horizontalAccuracy: fix.horizontalAccuracy)
      }
      var identity = track.identity
      identity?.epoch += epochSuffix
      return TrackMessage(
        identity: identity, fixes: fixes, precision: track.precision, bound: track.bound
      ).payload
    }
    var shift = TimeShift(clock: clock, epochSuffix: epochSuffix)
    guard JSONScan(membersOf: stored.payload.span, &shift).isValid else { return stored.payload }
    var result: [UInt8] = []
    var copied = 0
    for (value, text) in shift.edits {
      result += stored.payload[copied..<value.lowerBound]
      result += text
      copied = value.upperBound
    }
    return result + stored.payload[copied...]
  }
}

/// Finds the times and the epoch of a message and says what replaces them. Every other byte stays: who changes a time is not
/// to know every field of every version.
private struct TimeShift: JSONMemberVisitor {
  let clock: ReplayClock
  let epochSuffix: String
  private(set) var edits: [(value: Range<Int>, text: [UInt8])] = []

  init(clock: ReplayClock, epochSuffix: String) {
    self.clock = clock
    self.epochSuffix = epochSuffix
  }

  mutating func visit(_ name: Range<Int>, _ value: Range<Int>, of bytes: Span<UInt8>) {
    var text: [UInt8] = []
    switch name.count {
    case 4 where bytes.equals(name, "time"), 12 where bytes.equals(name, "sessionStart"),
      11 where bytes.equals(name, "nextContact"):
      guard let time = bytes.jsonString(value).flatMap({ UTCTime(rfc3339: $0) }) else { return }
      text.appendJSON(quoting: clock.moved(time).rfc3339)
    case 3 where bytes.equals(name, "tst"), 10 where bytes.equals(name, "created_at"):
      guard let seconds = bytes.jsonNumber(value), (0...9e9).contains(seconds) else { return }
      let moved = clock.moved(UTCTime(secondsSince1970: seconds))
      text.append(decimal: Int64(moved.secondsSince1970.rounded(.down)))
    case 5 where bytes.equals(name, "epoch"):
      guard let epoch = bytes.jsonString(value) else { return }
      text.appendJSON(quoting: epoch + epochSuffix)
    default: return
    }
    edits.append((value, text))
  }
}
