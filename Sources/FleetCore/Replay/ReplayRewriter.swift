internal import MQTT
internal import Spatial
internal import Telemetry

/// Makes of a recorded message the one that is published.
struct ReplayRewriter {
  private let options: ReplayOptions
  /// What is put behind the recorded epochs: the vehicles' stores are not those of the recording, or consumers that know
  /// that would take the replay for repetitions.
  private let epochSuffix: String

  init(_ options: ReplayOptions, run: UInt32) {
    self.options = options
    epochSuffix = "-" + String(run, radix: 36)
  }

  func message(_ stored: StoredMessage, _ clock: ReplayClock) -> MQTTMessage {
    MQTTMessage(
      topic: topic(stored), payload: options.times == .keep ? stored.payload : payload(stored, clock),
      qos: stored.qos, retain: stored.retain)
  }

  private func topic(_ stored: StoredMessage) -> String {
    guard let fleet = options.fleet, let key = stored.vehicle else { return stored.topic }
    for root in [options.root, MessageProfile.ownTracks.usualRoot] {
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
    return JSONMembers.replacing(in: stored.payload) { name, value in
      switch name {
      case "time", "sessionStart", "nextContact":
        guard case .string(let text) = value, let time = UTCTime(rfc3339: text) else { return nil }
        return .string(clock.moved(time).rfc3339)
      case "tst", "created_at":
        guard let seconds = value.double, (0...9e9).contains(seconds) else { return nil }
        let moved = clock.moved(UTCTime(secondsSince1970: seconds))
        return .integer(Int64((moved.secondsSince1970).rounded(.down)))
      case "epoch":
        guard case .string(let text) = value else { return nil }
        return .string(text + epochSuffix)
      default: return nil
      }
    }
  }
}
