package import Fleet
package import Spatial
package import Telemetry
internal import VehicleData

/// The data of a message that rules use.
package struct VehicleFacts: Hashable, Sendable {
  /// The subject of the data.
  package enum Topic: Hashable, Sendable {
    case status, position, regions, event, trace
    /// The arrival of a message, regardless of its content.
    case contact
    /// The removal of a vehicle, for which there is no message.
    case removal

    /// True for an event, false for a state.
    var isOfEvents: Bool { self == .event || self == .trace }

    /// True for a state that the next message replaces completely. A region message reports a change, so it
    /// is not included.
    var isState: Bool { self == .status || self == .position || self == .contact }
  }

  /// An event, which is either instantaneous or has a start and an end.
  package struct Event: Hashable, Sendable {
    package var name: String
    /// A description for an operator.
    package var summary: String
    /// The remedy for a failure; nil if there is none.
    package var remedy: String?
    package var time: UTCTime?
    package var place: Coordinate?
    /// A key that identifies the event in all messages about it.
    package var key: String
    /// True at the start of an event that lasts, false at its end; nil for an instantaneous event.
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
  /// The time of arrival.
  package var at: Moment
  /// The time to which the facts apply: the time of the message, which is earlier than `at` for a message from a
  /// backlog. It is the time of arrival if the time of the message is later, and if the vehicle's clock is known
  /// to be wrong. A status always applies to the time of its arrival.
  package var time: UTCTime
  /// True for a retained position that is only the last known one. It can end an alert, but not start one.
  package var isStale = false
  /// True if the broker sent the message as a retained one. It then reports a state that may be old, not a
  /// change.
  package var isRetained: Bool
  package var state: VehicleState
  /// The time of the vehicle's last message; nil if it is unknown.
  package var heard: Timestamp?
  /// The time in s until a sleeping vehicle becomes overdue, negative afterwards; nil if it announced no
  /// contact.
  package var overdue: Double?
  /// The battery charge, 0 ... 1.
  package var battery: Double?
  /// The number of messages in the vehicle's queue; nil if unknown.
  package var queue: Double?
  /// The ground speed in m/s; nil if unknown.
  package var speed: Double?
  /// The 68 % accuracy in m. Infinite if the vehicle reports that it has no position; nil if the message does
  /// not contain it.
  package var accuracy: Double?
  package var place: Coordinate?
  /// The regions in which the vehicle is, according to the message.
  package var inside: [String] = []
  /// The regions of which the message reports that the vehicle is outside.
  package var outside: [String] = []
  /// The regions that the vehicle monitors; nil unless the message lists all of them.
  package var watched: Set<String>?
  /// True if the message reports that the vehicle entered or left a region.
  package var isCrossing = false
  package var event: Event?

  package init(
    key: VehicleKey, topic: Topic, at: Moment, state: VehicleState = .online, isRetained: Bool = false
  ) {
    (self.key, self.topic, self.at, self.state, self.isRetained) = (key, topic, at, state, isRetained)
    time = at.time
    heard = isRetained ? nil : at.timestamp
  }

  /// The arrival of the message, without its content.
  var contact: VehicleFacts {
    var contact = self
    (contact.topic, contact.event, contact.accuracy) = (.contact, nil, nil)
    return contact
  }
}

extension VehicleFacts {
  /// The maximum lag in s of messages that are processed as they arrive.
  static let liveLag = 5.0

  /// The time in s from the facts to their arrival.
  var lag: Double { max(0, at.time.seconds(since: time)) }

  /// `time` by the monotonic clock.
  var timestamp: Timestamp { at.timestamp.advanced(bySeconds: -lag) }

  /// True for facts from a backlog.
  var isLate: Bool { lag > Self.liveLag }
}

extension VehicleFacts {
  /// The time in s by which a sleeping vehicle may contact the broker late before it is overdue, as in
  /// `VehicleRecord.isOverdue`.
  private static let tolerance = 300.0
  /// The maximum age in s of a message in a backlog. An older time is from a clock that was not set.
  private static let longestBacklog = 366.0 * 86_400
  /// The maximum time in s between a late message and a position that is used as its place.
  private static let samePlace = 60.0

  /// Returns the time of a message if it is credible, otherwise the time of arrival.
  private static func time(_ time: UTCTime, of record: VehicleRecord, at moment: Moment) -> UTCTime {
    let lag = moment.time.seconds(since: time)
    return record.isClockWrong || !(0...longestBacklog).contains(lag) ? moment.time : time
  }

  /// Returns the time of a vehicle's last message; nil if it is unknown. Retained messages show what arrived at the
  /// broker while this program was not connected. Their times are by the vehicle's clock.
  private static func heard(_ record: VehicleRecord, isRetained: Bool, at moment: Moment) -> Timestamp? {
    let live = record.lastHeard?.timestamp
    guard isRetained, !record.isClockWrong, let newest = record.newestTime else { return live }
    let age = moment.time.seconds(since: newest)
    guard age >= -VehicleRecord.futureLimit, age <= longestBacklog else { return live }
    let written = moment.timestamp.advanced(bySeconds: -max(0, age))
    return max(live ?? written, written)
  }

  /// Extracts the facts from a message.
  ///
  /// - Parameters:
  ///   - message: the decoded message.
  ///   - isRetained: true if the broker sent the message as a retained one.
  ///   - record: the vehicle's state, to which the message was already applied.
  ///   - moment: the time of arrival.
  /// - Returns: nil for a message that is not counted as a sign of life, such as the answer to a request.
  package init?(_ message: VehicleMessage, isRetained: Bool, of record: VehicleRecord, at moment: Moment) {
    let topic: Topic
    switch message {
    case .status: topic = .status
    case .location: topic = .position
    case .region, .regionsState: topic = .regions
    case .motion, .drivingEvent, .locationEvent: topic = .event
    case .trace: topic = .trace
    default:
      guard message.kind != nil else { return nil }
      topic = .contact
    }
    self.init(key: record.key, topic: topic, at: moment, state: record.state, isRetained: isRetained)
    heard = Self.heard(record, isRetained: isRetained, at: moment)
    overdue = record.nextContact.map { $0.seconds(since: moment.time) + Self.tolerance }
    if topic != .status, let sent = message.time { time = Self.time(sent, of: record, at: moment) }
    if let known = record.location?.message, known.location.suspicion == nil {
      // The last position is the place of a current message, but not of a message from a backlog.
      let isThere = !isLate || abs(known.time.seconds(since: message.time ?? time)) <= Self.samePlace
      place = isThere ? known.location.coordinate : nil
    }
    switch message {
    case .status(let status):
      battery = status.device?.battery?.level
      queue = status.counters["queue.records"].map(Double.init)
    case .location(let message):
      let isPast = isRetained && record.isLocationStale(at: moment)
      // After a start, the position can arrive before the status, which shows whether it is current.
      isStale = isPast && (record.state != .unknown || lag > Self.samePlace)
      guard message.location.suspicion == nil, isStale == isPast else { break }
      (speed, accuracy) = (message.location.speed, message.location.horizontalAccuracy)
    case .region(let region):
      let name = region.region.cut(80)
      if region.event == .exit { outside = [name] }
      inside = region.event == .exit ? [] : [name]
      isCrossing = !isRetained && region.event != .dwell
      place = region.coordinate ?? place
    case .regionsState(let states):
      inside = states.regions.filter { $0.state == .inside }.map { $0.identifier.cut(80) }
      outside = states.regions.filter { $0.state == .outside }.map { $0.identifier.cut(80) }
      if states.omitted == 0 { watched = Set(states.regions.map { $0.identifier.cut(80) }) }
    case .locationEvent(let failure):
      // A position after the failure can arrive before it.
      if failure.event == .failed, record.location.map({ $0.message.time <= failure.time }) ?? true {
        accuracy = .infinity
      }
      event = Event(
        name: failure.event.name, summary: VehicleEvent.summary(failure), time: time, place: place,
        key: Self.key(failure.identity, failure.time, failure.event.name))
      event?.remedy = failure.remedy
    case .motion(let motion):
      event = Event(
        name: motion.event.name, summary: motion.event.name, time: time, place: place,
        key: Self.key(motion.identity, motion.time, motion.event.name))
    case .drivingEvent(let driving):
      event = Event(
        name: driving.event.name, summary: "\(driving.event.name) (\(driving.severity.rawValue))",
        time: time, place: driving.coordinate ?? place,
        key: "\(driving.journal.series):\(driving.journal.number)", isOngoing: driving.isOngoing)
      // The message contains the start of the event.
      if !driving.isOngoing {
        let end = driving.duration.map { driving.time.advanced(bySeconds: $0) }
        time = end.map { Self.time($0, of: record, at: moment) } ?? moment.time
      }
    case .trace(let trace):
      let severity = trace.impact.map { " (\($0.severity.rawValue))" } ?? ""
      event = Event(
        name: trace.cause.name, summary: "trace \(trace.trace.number) of \(trace.cause.name)\(severity)",
        time: time, place: trace.coordinate ?? place,
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
  /// Returns the first Unicode scalars of a text. Characters are not counted, because one can have any number
  /// of combining marks.
  fileprivate func cut(_ length: Int) -> String {
    String(String.UnicodeScalarView(unicodeScalars.prefix(length)))
  }
}

extension VehicleFacts.Event {
  /// Truncates texts to the length that is displayed, so that a publisher cannot exhaust memory and disk.
  fileprivate mutating func shorten() {
    name = name.cut(80)
    summary = summary.abbreviated(to: 160)
    remedy = remedy?.abbreviated(to: 300)
    key = key.cut(120)
  }
}

extension VehicleEvent {
  fileprivate static func summary(_ message: LocationEventMessage) -> String {
    "location \(message.event.name)" + ((message.reason ?? message.error).map { ": \($0)" } ?? "")
  }
}
