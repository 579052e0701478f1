package import Fleet
internal import Positioning
package import Spatial
package import Telemetry

/// What a message has told of a vehicle, as far as rules ask for it.
package struct VehicleFacts: Hashable, Sendable {
  /// What the message was about.
  package enum Topic: Hashable, Sendable {
    case status, position, regions, event, trace
    /// That the vehicle was retired; of no message of its own.
    case removal

    /// Whether it tells of what happens, and not of how things stand.
    var isOfEvents: Bool { self == .event || self == .trace }
  }

  /// Something that happened, once or for a while.
  package struct Event: Hashable, Sendable {
    package var name: String
    /// For people.
    package var summary: String
    package var time: UTCTime?
    package var place: Coordinate?
    /// The same for each message that tells of the same event.
    package var key: String
    /// Whether there is another message when it is over; nil for what happens at once.
    package var isOngoing: Bool?

    package init(
      name: String, summary: String, time: UTCTime? = nil, place: Coordinate? = nil, key: String,
      isOngoing: Bool? = nil
    ) {
      (self.name, self.summary, self.time, self.place) = (name, summary, time, place)
      (self.key, self.isOngoing) = (key, isOngoing)
    }
  }

  package var key: VehicleKey
  package var topic: Topic
  package var at: Moment
  /// The broker had kept it: it tells how things stand, and not that they have just become so.
  package var isRetained: Bool
  package var state: VehicleState
  /// Seconds until a vehicle that sleeps is overdue, negative once it is; nil for one that did not say when it wakes.
  package var overdue: Double?
  /// Share, 0 ... 1.
  package var battery: Double?
  /// Messages that wait in the vehicle.
  package var queue: Double?
  /// m/s.
  package var speed: Double?
  /// Metres at 68 %; infinite where the vehicle says that it has no position.
  package var accuracy: Double?
  package var place: Coordinate?
  /// Regions that it is in, and of others those of which it said that it is not.
  package var inside: [String] = []
  package var outside: [String] = []
  /// All regions that it watches; nil where the message does not tell them all.
  package var watched: Set<String>?
  /// Whether the vehicle has told that it just came in or went out.
  package var isCrossing = false
  package var event: Event?

  package init(
    key: VehicleKey, topic: Topic, at: Moment, state: VehicleState = .online, isRetained: Bool = false
  ) {
    (self.key, self.topic, self.at, self.state, self.isRetained) = (key, topic, at, state, isRetained)
  }
}

extension VehicleFacts {
  /// Seconds by which a sleeping vehicle may be late: its clock and its network take their time, as `VehicleRecord.isOverdue` has it.
  private static let tolerance = 300.0

  /// - Parameters:
  ///   - message: what came; nil for what is no message of a kind that rules ask for.
  ///   - record: with the message taken in.
  /// - Returns: nil for what no rule asks for.
  package init?(_ message: VehicleMessage, isRetained: Bool, of record: VehicleRecord, at moment: Moment) {
    let topic: Topic
    switch message {
    case .status: topic = .status
    case .location: topic = .position
    case .region, .regionsState: topic = .regions
    case .motion, .drivingEvent, .locationEvent: topic = .event
    case .trace: topic = .trace
    default: return nil
    }
    self.init(key: record.key, topic: topic, at: moment, state: record.state, isRetained: isRetained)
    place = record.location?.message.location.coordinate
    switch message {
    case .status(let status):
      overdue = record.nextContact.map { $0.seconds(since: moment.time) + Self.tolerance }
      battery = status.device?.battery?.level
      queue = status.counters["queue.records"].map(Double.init)
    case .location(let message):
      speed = message.location.speed
      accuracy = message.location.horizontalAccuracy
    case .region(let region):
      let name = region.region.cut(80)
      if region.event == .exit { outside = [name] }
      inside = region.event == .exit ? [] : [name]
      isCrossing = !isRetained && region.event != .dwell
    case .regionsState(let states):
      inside = states.regions.filter { $0.state == .inside }.map { $0.identifier.cut(80) }
      outside = states.regions.filter { $0.state == .outside }.map { $0.identifier.cut(80) }
      if states.omitted == 0 { watched = Set(states.regions.map { $0.identifier.cut(80) }) }
    case .locationEvent(let failure):
      if failure.event == .failed { accuracy = .infinity }
      event = Event(
        name: failure.event.name, summary: VehicleEvent.summary(failure), time: failure.time, place: place,
        key: Self.key(failure.identity, failure.time, failure.event.name))
    case .motion(let motion):
      event = Event(
        name: motion.event.name, summary: motion.event.name, time: motion.time, place: place,
        key: Self.key(motion.identity, motion.time, motion.event.name))
    case .drivingEvent(let driving):
      event = Event(
        name: driving.event.name, summary: "\(driving.event.name) (\(driving.severity.rawValue))",
        time: driving.time, place: driving.coordinate ?? place,
        key: "\(driving.journal.series):\(driving.journal.number)", isOngoing: driving.isOngoing)
    case .trace(let trace):
      let severity = trace.impact.map { " (\($0.severity.rawValue))" } ?? ""
      event = Event(
        name: trace.cause.name, summary: "trace \(trace.trace.number) of \(trace.cause.name)\(severity)",
        time: trace.time, place: trace.coordinate ?? place,
        key: "trace:\(trace.trace.series):\(trace.trace.number)")
    default: break
    }
    event?.shorten()
  }

  private static func key(_ identity: MessageIdentity?, _ time: UTCTime, _ name: String) -> String {
    identity.map { "\($0.epoch.cut(32)):\($0.seq)" } ?? "\(time.nanoseconds):\(name.cut(80))"
  }
}

extension String {
  /// Its beginning: of scalars, as a character may have any number of marks.
  fileprivate func cut(_ length: Int) -> String {
    String(String.UnicodeScalarView(unicodeScalars.prefix(length)))
  }
}

extension VehicleFacts.Event {
  /// Leaves of texts what is shown: whoever speaks for a vehicle does not fill memory and disk.
  fileprivate mutating func shorten() {
    name = name.cut(80)
    summary = summary.cut(120)
    key = key.cut(120)
  }
}

extension VehicleEvent {
  fileprivate static func summary(_ message: LocationEventMessage) -> String {
    "location \(message.event.name)" + ((message.reason ?? message.error).map { ": \($0.cut(80))" } ?? "")
  }
}
