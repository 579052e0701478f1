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
  private let epochs: ReplayedEpochs

  /// - Parameters:
  ///   - fleet: what it is played as; nil keeps each its own.
  ///   - root: where the native topics begin, to find the fleet in them.
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
    // A track's times are relative to one another: at another speed it is written anew.
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
  /// The way's times are relative to one another, as a track's.
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

/// The epochs of one run of a replay, in place of the recorded ones: the vehicles' stores are not those of the recording, or
/// consumers that know that would take the replay for repetitions.
private struct ReplayedEpochs {
  let run: UInt32

  func epoch(for recorded: String) -> String {
    MessageIdentity.epoch(FNV1a.hash64(Array("\(run) \(recorded)".utf8)))
  }
}

/// Finds the times and the epoch of a message and says what replaces them. Every other byte stays: who changes a time is not
/// to know every field of every version.
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

/// The same of trips and driving events, which have times within (of both ends, and of the way) and numbers of a series: that is
/// the replay's own, as epochs are.
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

/// When a recorded moment comes again.
///
/// A value: the present comes in. The recorder's times are the pace; vehicles' times are moved along the same line, so that
/// a message keeps its delay, seen at the speed of the replay.
struct ReplayClock: Hashable, Sendable {
  /// Recorded seconds for one of now; nil where pace is the broker's.
  let speed: Double?
  /// The first recorded moment, and when it comes again.
  private var origin: UTCTime
  private var start: UTCTime
  private var last: UTCTime
  /// Seconds of the recording that are skipped beyond between two messages.
  private let longestPause: Double

  /// - Parameter extent: the recorder's first and last moment. As fast as the broker takes it, the last is now.
  init(_ extent: ClosedRange<UTCTime>, speed: Double?, longestPause: Double?, start: UTCTime) {
    self.speed = speed
    self.longestPause = longestPause ?? .infinity
    origin = speed == nil ? extent.upperBound : extent.lowerBound
    self.start = start
    last = extent.lowerBound
  }

  /// When a message is due that was received at a moment; never earlier than the one before it.
  mutating func due(_ received: UTCTime) -> UTCTime {
    guard let speed else { return start }
    let pause = received.seconds(since: last)
    // A pause that is cut short moves the whole rest forward; a clock that was set back holds nothing up.
    if pause > longestPause { origin = origin.advanced(bySeconds: pause - longestPause) }
    if pause < 0 { origin = origin.advanced(bySeconds: pause) }
    last = received
    return start.advanced(bySeconds: received.seconds(since: origin) / speed)
  }

  /// A vehicle's time as it is said in the replay.
  func moved(_ time: UTCTime) -> UTCTime {
    start.advanced(bySeconds: time.seconds(since: origin) / (speed ?? 1))
  }
}

extension StoredMessage {
  /// Whether it was said to a vehicle and not by it: a command, or settings or regions that were wanted.
  ///
  /// A topic of which the recorder did not know the vehicle, as below a root that it was not told, is judged by its end:
  /// what is left out by mistake can be asked for, what live vehicles obey cannot be taken back.
  var isOrder: Bool {
    if vehicle != nil, let kind { return kind == Self.ownTracksCommand || TopicScheme.isOrder(path: kind) }
    let levels = topic.split(separator: "/", omittingEmptySubsequences: false)
    // A root, a fleet and a vehicle stand before it at least.
    if levels.count >= 4, levels[levels.count - 1] == Self.ownTracksCommand { return true }
    return levels.count >= 5 && TopicScheme.isOrder(path: levels.suffix(2).joined(separator: "/"))
  }

  /// `owntracks/USER/DEVICE/cmd`.
  private static let ownTracksCommand = "cmd"
}
