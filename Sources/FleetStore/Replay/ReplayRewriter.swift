internal import Bytes
internal import Fleet
internal import JSON
package import MQTT
package import Spatial
internal import Telemetry
internal import VehicleData

/// The times in replayed messages.
package enum ReplayTimes: String, Hashable, Sendable, CaseIterable {
  /// Times are shifted, so that the replay starts now. The messages get new epochs, because they are new
  /// messages.
  case shift
  /// Payloads are published unchanged, with the recorded times and epochs.
  case keep
}

/// Converts recorded messages to the messages that a replay publishes.
package struct ReplayRewriter {
  private let times: ReplayTimes
  private let fleet: String?
  private let root: String
  private let epochs: ReplayedEpochs

  /// Creates a converter.
  ///
  /// - Parameters:
  ///   - times: whether times are shifted.
  ///   - fleet: the fleet whose topics are used; nil for the recorded topics.
  ///   - root: the topic root, for finding the fleet in topics.
  ///   - run: a random number of this replay, from which the new epochs are derived.
  package init(
    _ times: ReplayTimes, fleet: String? = nil, root: String = TopicScheme.defaultRoot, run: UInt32
  ) {
    self.times = times
    self.fleet = fleet
    self.root = root
    epochs = ReplayedEpochs(run: run)
  }

  package func message(_ stored: StoredMessage, _ clock: ReplayClock) -> MQTTMessage {
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
    // The times in a track are encoded as differences, which change with the speed of the replay. The track
    // is therefore encoded again.
    if stored.kind == MessageKind.track.rawValue, clock.speed ?? 1 != 1,
      let json = try? JSONValue(parsing: stored.payload), let track = try? TrackMessage(json: json)
    {
      let fixes = track.fixes.map { fix in
        var moved = fix
        moved.time = clock.moved(fix.time)
        return moved
      }
      var identity = track.identity
      identity = identity.map { MessageIdentity(epoch: epochs.epoch(for: $0.epoch), seq: $0.seq) }
      return TrackMessage(
        identity: identity, fixes: fixes, precision: track.precision, bound: track.bound
      ).payload
    }
    if stored.kind == MessageKind.trip.rawValue, clock.speed ?? 1 != 1,
      let json = try? JSONValue(parsing: stored.payload), let trip = try? TripMessage(json: json)
    {
      return moved(trip, clock).payload
    }
    var edits: [(value: Range<Int>, text: [UInt8])] = []
    if let kind = stored.kind, JournalRow.kinds.contains(kind) {
      var shift = JournalShift(clock: clock, epochs: epochs)
      guard JSONScan(stored.payload.span, &shift).isValid else { return stored.payload }
      edits = shift.edits
    } else {
      var shift = TimeShift(clock: clock, epochs: epochs)
      guard JSONScan(membersOf: stored.payload.span, &shift).isValid else { return stored.payload }
      edits = shift.edits
    }
    var result: [UInt8] = []
    var copied = 0
    for (value, text) in edits {
      result += stored.payload[copied..<value.lowerBound]
      result += text
      copied = value.upperBound
    }
    return result + stored.payload[copied...]
  }
}

extension ReplayRewriter {
  /// Returns a trip with its times shifted. The times of its track are encoded as differences, which change
  /// with the speed of the replay, so the trip is encoded again.
  private func moved(_ trip: TripMessage, _ clock: ReplayClock) -> TripMessage {
    var (start, end) = (trip.start, trip.end)
    (start.time, end.time) = (clock.moved(start.time), clock.moved(end.time))
    let way = trip.way.map {
      TripMessage.Waypoint(
        time: clock.moved($0.time), coordinate: PrivacyPolicy.unrestricted($0.coordinate))
    }
    var moved = TripMessage(
      trip: JournalNumber(series: epochs.epoch(for: trip.trip.series), number: trip.trip.number),
      revision: trip.revision, phase: trip.phase, kind: trip.kind, start: start, end: end,
      distance: trip.distance, estimated: trip.estimated, moving: trip.moving, standing: trip.standing,
      idling: trip.idling, greatestSpeed: trip.greatestSpeed, meanSpeed: trip.meanSpeed, fuel: trip.fuel,
      electricity: trip.electricity, events: trip.events, driver: trip.driver, purpose: trip.purpose,
      way: way, bound: trip.bound)
    moved.identity = trip.identity.map {
      MessageIdentity(epoch: epochs.epoch(for: $0.epoch), seq: $0.seq)
    }
    return moved
  }
}

/// Replaces the recorded epochs by new ones. With the recorded epochs, subscribers would drop the replayed
/// messages as duplicates.
private struct ReplayedEpochs {
  let run: UInt32

  func epoch(for recorded: String) -> String {
    MessageIdentity.epoch(FNV1a.hash64(Array("\(run) \(recorded)".utf8)))
  }
}

/// A JSON visitor that finds the times and the epoch of a message, and determines their replacements. All
/// other bytes are unchanged, including members that only newer versions define.
private struct TimeShift: JSONMemberVisitor {
  let clock: ReplayClock
  let epochs: ReplayedEpochs
  private(set) var edits: [(value: Range<Int>, text: [UInt8])] = []

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
      text.appendJSON(quoting: epochs.epoch(for: epoch))
    default: return
    }
    edits.append((value, text))
  }
}

/// A JSON visitor for trips and driving events. Their start, end and track contain times, too, and their
/// journal series is replaced in the same way as the epoch.
private struct JournalShift: JSONVisitor {
  let clock: ReplayClock
  let epochs: ReplayedEpochs
  private(set) var edits: [(value: Range<Int>, text: [UInt8])] = []
  private var name: Range<Int>?

  init(clock: ReplayClock, epochs: ReplayedEpochs) { (self.clock, self.epochs) = (clock, epochs) }

  mutating func visit(name: Range<Int>, hasEscapes: Bool, depth: Int, of bytes: Span<UInt8>) -> Bool {
    self.name = name
    return true
  }

  mutating func visit(_ scalar: JSONScalar, _ range: Range<Int>, depth: Int, of bytes: Span<UInt8>) -> Bool {
    guard let name, case .string = scalar, let value = bytes.jsonString(range) else { return true }
    self.name = nil
    var text: [UInt8] = []
    if bytes.equals(name, "time"), let time = UTCTime(rfc3339: value) {
      text.appendJSON(quoting: clock.moved(time).rfc3339)
    } else if depth == 1, bytes.equals(name, "epoch") || bytes.equals(name, "series") {
      text.appendJSON(quoting: epochs.epoch(for: value))
    } else {
      return true
    }
    edits.append((range, text))
    return true
  }
}

/// Converts recorded times to times of the replay.
///
/// A value type; the current time is passed in. Messages are due at intervals of their recorded times of
/// reception, divided by the speed. Times by vehicles' clocks are converted in the same way, so that a
/// message's age at publication is its recorded age, divided by the speed.
package struct ReplayClock: Hashable, Sendable {
  /// The number of recorded seconds per second of the replay; nil for as fast as the broker accepts messages.
  let speed: Double?
  /// A recorded time that is converted to `start`.
  private var origin: UTCTime
  /// The time of the replay to which `origin` is converted.
  private var start: UTCTime
  private var last: UTCTime
  /// The maximum pause between two messages, in recorded seconds.
  private let longestPause: Double

  /// Creates a clock.
  ///
  /// - Parameters:
  ///   - extent: the times of reception of the first and the last message. If `speed` is nil, the last one is
  ///     converted to `start`, otherwise the first one.
  ///   - longestPause: the maximum pause between two messages, in recorded seconds; nil for no limit.
  ///   - start: the time at which the replay starts.
  package init(_ extent: ClosedRange<UTCTime>, speed: Double?, longestPause: Double?, start: UTCTime) {
    self.speed = speed
    self.longestPause = longestPause ?? .infinity
    origin = speed == nil ? extent.upperBound : extent.lowerBound
    self.start = start
    last = extent.lowerBound
  }

  /// Returns the time at which a message is due, never earlier than the previous message.
  /// - Parameter received: the message's recorded time of reception.
  package mutating func due(_ received: UTCTime) -> UTCTime {
    guard let speed else { return start }
    let pause = received.seconds(since: last)
    // When a pause is shortened, all later messages are due earlier. If the recorder's clock was set back,
    // the next message is due immediately.
    if pause > longestPause { origin = origin.advanced(bySeconds: pause - longestPause) }
    if pause < 0 { origin = origin.advanced(bySeconds: pause) }
    last = received
    return start.advanced(bySeconds: received.seconds(since: origin) / speed)
  }

  /// Converts a time by a vehicle's clock.
  package func moved(_ time: UTCTime) -> UTCTime {
    start.advanced(bySeconds: time.seconds(since: origin) / (speed ?? 1))
  }
}

extension StoredMessage {
  /// True for a message to a vehicle: a command, or desired settings or regions.
  ///
  /// A topic in which no vehicle can be found, for example below an unknown root, is classified by its last
  /// levels. If in doubt, the message counts as one to a vehicle. An omitted message can be replayed on
  /// request, but a command that a live vehicle has executed cannot be reverted.
  package var isOrder: Bool {
    if vehicle != nil, let kind { return kind == Self.ownTracksCommand || TopicScheme.isOrder(path: kind) }
    let levels = topic.split(separator: "/", omittingEmptySubsequences: false)
    // At least a root, a fleet and a vehicle precede the level `cmd`.
    if levels.count >= 4, levels[levels.count - 1] == Self.ownTracksCommand { return true }
    return levels.count >= 5 && TopicScheme.isOrder(path: levels.suffix(2).joined(separator: "/"))
  }

  /// The last level of `owntracks/USER/DEVICE/cmd`.
  private static let ownTracksCommand = "cmd"
}
