internal import Bytes
internal import Fleet
internal import JSON
internal import MQTT
internal import Spatial
internal import Telemetry

/// A converter from recorded messages to published ones.
struct ReplayRewriter {
  private let times: ReplayOptions.Times
  private let fleet: String?
  private let root: String
  private let epochs: ReplayedEpochs

  /// Creates a converter.
  ///
  /// - Parameters:
  ///   - fleet: the fleet of the replay; nil to leave it unchanged.
  ///   - root: the topic root, for finding the fleet in topics.
  init(
    _ times: ReplayOptions.Times, fleet: String? = nil, root: String = TopicScheme.defaultRoot, run: UInt32
  ) {
    self.times = times
    self.fleet = fleet
    self.root = root
    epochs = ReplayedEpochs(run: run)
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
    // A track's times are relative to each other, so it is encoded again for another speed.
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
  /// Returns the times of a trip's track are relative to each other, like those of a track.
  private func moved(_ trip: TripMessage, _ clock: ReplayClock) -> TripMessage {
    var (start, end) = (trip.start, trip.end)
    (start.time, end.time) = (clock.moved(start.time), clock.moved(end.time))
    let way = trip.way.map {
      TripMessage.Waypoint(time: clock.moved($0.time), coordinate: $0.coordinate)
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

/// The epochs of a replay, which replace the recorded ones. With the recorded epochs, consumers would drop
/// the messages as duplicates.
private struct ReplayedEpochs {
  let run: UInt32

  func epoch(for recorded: String) -> String {
    MessageIdentity.epoch(FNV1a.hash64(Array("\(run) \(recorded)".utf8)))
  }
}

/// A visitor that finds the times and the epoch of a message and their replacements. All other bytes are
/// unchanged, independent of the fields of other versions.
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

/// A visitor for trips and driving events, which have nested times (of both ends and the track) and a series:
/// like an epoch, it is replaced.
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

/// The mapping from recorded times to those of the replay.
///
/// A value type; the current time is passed in. The recorder's times determine the pace. Vehicles' times are
/// mapped in the same way, so that a message has the same delay, scaled by the speed of the replay.
struct ReplayClock: Hashable, Sendable {
  /// Recorded seconds per second; nil for the pace of the broker.
  let speed: Double?
  /// The first recorded time, and its time in the replay.
  private var origin: UTCTime
  private var start: UTCTime
  private var last: UTCTime
  /// The maximum pause in recorded seconds between two messages.
  private let longestPause: Double

  /// Creates a clock.
  ///
  /// - Parameter extent: the recorder's first and last time. At the pace of the broker, the last one is
  ///   mapped to now.
  init(_ extent: ClosedRange<UTCTime>, speed: Double?, longestPause: Double?, start: UTCTime) {
    self.speed = speed
    self.longestPause = longestPause ?? .infinity
    origin = speed == nil ? extent.upperBound : extent.lowerBound
    self.start = start
    last = extent.lowerBound
  }

  /// Returns the due time of a message received at a time; never earlier than that of the previous one.
  mutating func due(_ received: UTCTime) -> UTCTime {
    guard let speed else { return start }
    let pause = received.seconds(since: last)
    // A shortened pause moves the rest forward; a clock that was set back causes no delay.
    if pause > longestPause { origin = origin.advanced(bySeconds: pause - longestPause) }
    if pause < 0 { origin = origin.advanced(bySeconds: pause) }
    last = received
    return start.advanced(bySeconds: received.seconds(since: origin) / speed)
  }

  /// Returns a vehicle's time in the replay.
  func moved(_ time: UTCTime) -> UTCTime {
    start.advanced(bySeconds: time.seconds(since: origin) / (speed ?? 1))
  }
}

extension StoredMessage {
  /// True for a message to a vehicle: a command, or desired settings or regions.
  ///
  /// A topic without a known vehicle, such as below an unknown root, is classified by its end: an omitted
  /// message can be requested, but a command that a live vehicle has executed cannot be reverted.
  var isOrder: Bool {
    if vehicle != nil, let kind { return kind == Self.ownTracksCommand || TopicScheme.isOrder(path: kind) }
    let levels = topic.split(separator: "/", omittingEmptySubsequences: false)
    // At least a root, a fleet and a vehicle precede it.
    if levels.count >= 4, levels[levels.count - 1] == Self.ownTracksCommand { return true }
    return levels.count >= 5 && TopicScheme.isOrder(path: levels.suffix(2).joined(separator: "/"))
  }

  /// The last level of `owntracks/USER/DEVICE/cmd`.
  private static let ownTracksCommand = "cmd"
}
