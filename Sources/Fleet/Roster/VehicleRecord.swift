internal import Sensors
public import Spatial
public import Telemetry
internal import VehicleData

/// The fleet and name of a vehicle, unique on a broker.
public struct VehicleKey: Hashable, Sendable, Comparable, CustomStringConvertible {
  public var fleet: String
  public var vehicle: String

  public init(fleet: String, vehicle: String) {
    self.fleet = fleet
    self.vehicle = vehicle
  }

  public var description: String { "\(fleet)/\(vehicle)" }

  /// Orders by fleet, then by vehicle, in the natural order of names: `sim-2` precedes `sim-10`.
  public static func < (a: VehicleKey, b: VehicleKey) -> Bool {
    a.fleet == b.fleet
      ? NaturalOrder.precedes(a.vehicle, b.vehicle) : NaturalOrder.precedes(a.fleet, b.fleet)
  }

  /// A sort key: the byte order of sort keys is the order of vehicles. Names that only differ in leading
  /// zeros have the same sort key.
  package var sortKey: String { NaturalOrder.key(fleet) + "\0" + NaturalOrder.key(vehicle) }
}

extension TopicAddress {
  /// The vehicle to which the topic belongs.
  package var key: VehicleKey { VehicleKey(fleet: fleet, vehicle: vehicle) }
}

/// The presence of a vehicle according to its status.
public enum VehicleState: String, Hashable, Sendable, CaseIterable, Comparable {
  case online
  case asleep
  case offline
  /// No valid status was received.
  case unknown

  public static func < (a: Self, b: Self) -> Bool { a.order < b.order }

  private var order: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// The state of one vehicle, from its last messages.
public struct VehicleRecord: Sendable {
  public let key: VehicleKey
  /// The sort key for sorting long lists; see `NaturalOrder.key(_:)`.
  package let sortKey: String
  public internal(set) var state: VehicleState = .unknown
  public internal(set) var status: Received<StatusMessage>?
  public internal(set) var location: Received<LocationMessage>?
  public internal(set) var heading: Received<HeadingMessage>? {
    get { last.heading.value }
    set { last.heading.value = newValue }
  }
  public internal(set) var attitude: Received<AttitudeMessage>? {
    get { last.attitude.value }
    set { last.attitude.value = newValue }
  }
  /// The latest vehicle signals.
  public internal(set) var signals: Received<VehicleSignals>? {
    get { last.signals.value }
    set { last.signals.value = newValue }
  }
  /// The latest `altitude` message, with barometric altitude and garage level.
  public internal(set) var altitude: Received<AltitudeMessage>? {
    get { last.altitude.value }
    set { last.altitude.value = newValue }
  }
  /// The latest trip, without its track.
  public internal(set) var trip: Received<TripMessage>? {
    get { last.trip.value }
    set { last.trip.value = newValue }
  }
  /// The latest driving event.
  public internal(set) var drivingEvent: Received<DrivingEventMessage>? {
    get { last.drivingEvent.value }
    set { last.drivingEvent.value = newValue }
  }
  /// The last failure, pause, resumption or end of a deferral.
  public internal(set) var locationEvent: Received<LocationEventMessage>? {
    get { last.locationEvent.value }
    set { last.locationEvent.value = newValue }
  }
  public internal(set) var event: Received<VehicleEvent>? {
    didSet { if let event, event != oldValue { remember(event) } }
  }
  /// The last events, oldest first; the newest is `event`.
  public private(set) var recentEvents: [Received<VehicleEvent>] = []
  /// The number of sequence numbers that were skipped since the subscription and have not arrived. Their
  /// messages are lost, or still to come.
  public var missing: Int { Int(clamping: lost &+ (sequence?.missing ?? 0)) }
  /// The time at which `missing` last increased; nil if it never did.
  public private(set) var lastGap: Moment?
  /// The payload of the last status as received, for clients that use members unknown to this version.
  package var statusPayload: [UInt8] = []
  /// The regions that the vehicle was requested to monitor.
  package internal(set) var wantedRegions: [RegionShape] = []
  /// The identifiers of the requested regions that the vehicle has accepted; nil before it reported them.
  package internal(set) var acceptedRegions: Set<String>?
  /// The regions that the vehicle monitors: the requested regions that it has accepted.
  package var regions: [RegionShape] {
    wantedRegions.filter { acceptedRegions?.contains($0.identifier) == true }
  }
  /// The regions in which the vehicle is, by its last `regions/state` message and by single region events
  /// since.
  package var insideRegions: [String] = []
  /// The vehicle's last report of all region states; nil before the first.
  package internal(set) var regionStates: RegionsStateMessage? {
    get { last.regionStates.value }
    set { last.regionStates.value = newValue }
  }
  package var trail = Trail()
  /// The time of arrival of the vehicle's last live message; nil if none arrived since the subscription.
  /// Retained messages and wills do not count.
  public internal(set) var lastHeard: Moment?
  /// The number of messages received on the vehicle's topics.
  public internal(set) var messageCount = 0
  /// The number of messages on the vehicle's topics that could not be decoded, including retained ones.
  public internal(set) var unreadable = 0
  /// The number of the vehicle's last change. Numbers increase across all vehicles: a vehicle with a higher
  /// number has changed later.
  public internal(set) var revision: UInt64 = 0

  /// The times at which retained messages were deleted, with no message of the kind since then.
  var deletions: [MessageKind: Moment] = [:]

  private var last = LastMessages()

  private static let rememberedEvents = 12
  /// The seconds by which the time of a position may be after its arrival. A later time is from a wrong clock.
  package static let futureLimit = 60.0
  /// The time in s for which missing messages are displayed as a fault. Most of them arrive late within
  /// minutes; later they are lost for good, and no longer of current interest.
  package static let gapDuration = 900.0
  private var sequence: SequenceGaps?
  private var sequenceEpoch: String?
  private var clockComparison: ClockComparison?
  /// The number of missing messages of earlier epochs, which will not arrive any more.
  private var lost: UInt64 = 0

  /// Predicts the position; nil for a vehicle without bounded reporting.
  var prediction: VehiclePrediction?
  // The stamps are stored separately from the messages. A will replaces the status, but has no position in
  // the order of status messages.
  var stamps = MessageStamps()
  /// The current epoch of the vehicle's sequence numbers; nil before the first numbered message.
  package var epoch: String?
  /// Earlier epochs, newest last.
  var formerEpochs: [String] = []
  /// The start of the latest broker session that a status has reported; nil if none has.
  package var sessionStart: UTCTime?

  package init(key: VehicleKey) {
    self.key = key
    sortKey = key.sortKey
  }

  /// The time at which a sleeping vehicle will next connect, as it announced. Nil if it is not asleep or
  /// announced no time, for example because it only wakes on events.
  ///
  /// It is a time by the local clock if the announcement arrived live: only its distance from the time of the
  /// message is used, so that it is valid even if the vehicle's clock is wrong. That of a retained message is a
  /// time by the vehicle's clock.
  public var nextContact: UTCTime? {
    guard state == .asleep, let status, let announced = status.message.nextContact else { return nil }
    guard !status.isRetained else { return announced }
    return status.receivedAt.time.advanced(bySeconds: announced.seconds(since: status.message.time))
  }

  /// Returns whether a sleeping vehicle has not connected at its announced time.
  /// - Parameters:
  ///   - now: the current time.
  ///   - tolerance: seconds by which it may be late, because of a slow connection and of differences between
  ///     clocks.
  public func isOverdue(at now: Moment, tolerance: Double = 300) -> Bool {
    nextContact.map { now.time.seconds(since: $0) > tolerance } ?? false
  }

  /// Counts the sequence number of a live message, and finds missing numbers.
  mutating func count(_ identity: MessageIdentity, at moment: Moment) {
    if identity.epoch == sequenceEpoch {
      let before = sequence?.missing ?? 0
      _ = sequence?.insert(identity.seq)
      if sequence?.missing ?? 0 > before { lastGap = moment }
    } else if !formerEpochs.contains(identity.epoch) {
      lost &+= sequence?.missing ?? 0
      sequenceEpoch = identity.epoch
      sequence = SequenceGaps(startingWith: identity.seq)
    }
  }

  /// Excludes the numbers up to the next message from the missing ones. Numbers that are missing already remain
  /// missing until they arrive.
  mutating func restartSequence() { sequence?.interrupt() }

  /// Returns whether messages are missing, and the last gap was found within the last quarter of an hour.
  public func hasRecentGap(at now: Moment) -> Bool {
    guard missing > 0, let lastGap else { return false }
    return now.seconds(since: lastGap) < Self.gapDuration
  }

  private mutating func remember(_ event: Received<VehicleEvent>) {
    if recentEvents.count >= Self.rememberedEvents { recentEvents.removeFirst() }
    recentEvents.append(event)
  }

  /// The state of the magnetometer, from the newer of the last heading and the last status; nil if neither
  /// contains it.
  public var compass: CompassReport? {
    guard let heading, heading.message.compass.calibration != nil, !heading.isRetained else {
      return status?.message.compass
    }
    guard let status, status.message.time > heading.message.time else { return heading.message.compass }
    return status.message.compass ?? heading.message.compass
  }

  /// The seconds by which the vehicle's clock is behind the local clock; nil up to a minute, and if it is
  /// unknown.
  public var clockLag: Double? { clockComparison?.lag }

  /// True if the vehicle's clock is known to be wrong, so that the times of its messages have no meaning here.
  package var isClockWrong: Bool { clockLag != nil || clockLead != nil }

  /// The seconds by which the vehicle's clock is ahead of the local clock, according to the status or location
  /// that arrived last; nil up to a minute.
  public var clockLead: Double? {
    let leads = [
      status.flatMap { $0.message.isWill ? nil : ($0.receivedAt, $0.message.time) },
      location.map { ($0.receivedAt, $0.message.time) },
    ].compactMap { $0 }
    let last = leads.max { ($0.0.timestamp, $0.1) < ($1.0.timestamp, $1.1) }
    guard let (arrival, time) = last else { return nil }
    let lead = time.seconds(since: arrival.time)
    return lead > Self.futureLimit ? lead : nil
  }

  /// Returns the seconds since the last live message. Without a live message, the seconds since the time in
  /// the latest retained message; nil without any message.
  public func age(at now: Moment) -> Double? {
    if let lastHeard { return max(0, now.seconds(since: lastHeard)) }
    return newestTime.map { max(0, now.time.seconds(since: $0)) }
  }

  /// The newer of the times in the last status and position, by the vehicle's clock; nil without both.
  package var newestTime: UTCTime? {
    [status?.message.time, location?.message.time].compactMap { $0 }.max()
  }
}

extension VehicleRecord {
  /// The time in s within which `odograph forget` deletes the retained messages of a vehicle.
  private static let removalDuration = 10.0

  /// Deletes the position if the retained one was deleted.
  ///
  /// A deleted status alone does not remove a vehicle: `odographd check` publishes an empty one that is not
  /// retained. Nor does a deleted position: an agent with changed privacy settings has no permitted position
  /// until the next one.
  /// - Returns: true if the deletions mean that the vehicle must be removed.
  mutating func delete(_ kind: MessageKind, with profile: MessageProfile, at moment: Moment) -> Bool {
    deletions[kind] = moment
    if kind == .location {
      location = nil
      prediction = nil
    }
    // Most OwnTracks vehicles have no other retained message than their position.
    if profile.locationShowsPresence, kind == .location { return state != .online }
    if kind == .status, location == nil, state != .online { return true }
    guard let status = deletions[.status], let position = deletions[.location] else { return false }
    return abs(status.seconds(since: position)) <= Self.removalDuration
  }
}

extension VehicleRecord {
  /// The maximum number of earlier epochs that are stored.
  private static let rememberedEpochs = 8

  /// Applies a message of this vehicle, unless it is a duplicate or outdated.
  mutating func apply(_ message: VehicleMessage, _ arrival: Arrival) -> Roster.Outcome {
    if case .status(let status) = message, status.isWill { return applyWill(status, arrival) }
    let stamp = MessageStamp(
      identity: message.identity, time: message.time ?? arrival.moment.time, isRetained: arrival.isRetained,
      receivedAt: arrival.moment)
    let isMoreAccurate = compareAccuracy(message)
    if isMoreAccurate == false { return .outdated }
    switch order(of: stamp, arrival) {
    case .duplicate where isMoreAccurate == nil: return .duplicate
    case .older where isMoreAccurate == nil: return .outdated
    case .duplicate, .older, .newer: break
    }
    if case .status(let status) = message, let sessionStart, status.sessionStart < sessionStart,
      stamp.identity == nil || arrival.isRetained
    {
      return .outdated
    }
    stamps[arrival.kind] = stamp
    remember(epoch: stamp.identity?.epoch)
    if !arrival.isRetained { lastHeard = arrival.moment }
    store(message, arrival)
    return .applied
  }

  /// Compares the accuracy of a new position without a sequence number with the last position, if both have
  /// the same time. Phones report a network position and a satellite position for the same second.
  /// - Returns: true if the new position is more accurate, false if it is less accurate; nil if the times
  ///   differ, a sequence number exists, or the accuracies are equal.
  private func compareAccuracy(_ message: VehicleMessage) -> Bool? {
    guard case .location(let new) = message, new.identity == nil, let known = location?.message,
      known.identity == nil, known.time == new.time
    else { return nil }
    let (ours, theirs) = (
      known.location.horizontalAccuracy ?? .infinity, new.location.horizontalAccuracy ?? .infinity
    )
    return ours == theirs ? nil : theirs < ours
  }

  private func order(of stamp: MessageStamp, _ arrival: Arrival) -> MessageOrder {
    switch arrival.kind {
    case .heading, .attitude:
      // Messages of QoS 0 arrive in order and never twice. They are therefore accepted even if their time is
      // earlier because the vehicle's clock was set back.
      guard !arrival.isRetained, let last = stamps[arrival.kind] else { break }
      return stamp.time == last.time ? .duplicate : .newer
    default: break
    }
    return MessageOrder(of: stamp, after: stamps[arrival.kind], formerEpochs: formerEpochs)
  }

  /// Applies a will. The vehicle wrote it at the start of its session, and the broker published it when the
  /// session ended unexpectedly. It is valid unless a later session has started. Its time is the start of the
  /// session, not that of the disconnection. After the farewell of the same session it is not news: a vehicle that
  /// does not know whether its farewell arrived leaves the will.
  private mutating func applyWill(_ will: StatusMessage, _ arrival: Arrival) -> Roster.Outcome {
    if let sessionStart, will.sessionStart < sessionStart { return .outdated }
    if state == .offline, will.sessionStart == sessionStart { return .duplicate }
    sessionStart = will.sessionStart
    status = Received(message: will, receivedAt: arrival.moment, isRetained: arrival.isRetained)
    state = .offline
    record("lost", arrival)
    return .applied
  }

  private mutating func store(_ message: VehicleMessage, _ arrival: Arrival) {
    func received<Message>(_ message: Message) -> Received<Message> {
      Received(message: message, receivedAt: arrival.moment, isRetained: arrival.isRetained)
    }
    switch message {
    case .status(let message):
      if !arrival.isRetained {
        clockComparison = ClockComparison(message, at: arrival.moment, after: clockComparison)
      }
      let before = state
      sessionStart = message.sessionStart
      status = received(message)
      state =
        switch message.state {
        case .online: .online
        case .asleep: .asleep
        case .offline: .offline
        }
      if state != before { record(state.rawValue, arrival, time: message.time) }
    case .location(let message):
      location = received(message)
      if message.location.suspicion == nil, message.location.positionSource != .coarse {
        trail.append(message.location.coordinate)
      }
      predict(from: message, arrival)
    case .heading(let message): heading = received(message)
    case .attitude(let message): attitude = received(message)
    case .altitude(let message): altitude = received(message)
    case .motion(let message): event = received(VehicleEvent(message))
    case .locationEvent(let message):
      locationEvent = received(message)
      event = received(VehicleEvent(message))
    case .vehicle(let message): signals = received(message)
    case .region(let message):
      let crossing = VehicleEvent(message)
      event = received(crossing)
      recordCrossing(crossing)
    case .trip(let message):
      // A message can update an earlier trip, for example set its driver. It does not replace the newest
      // trip.
      if message.isNewer(than: trip?.message) { trip = received(message) }
    case .drivingEvent(let message):
      if message.isNewer(than: drivingEvent?.message) { drivingEvent = received(message) }
      event = received(VehicleEvent(message))
    default: break
    }
  }

  private mutating func recordCrossing(_ event: VehicleEvent) {
    guard let region = event.region else { return }
    insideRegions.removeAll { $0 == region }
    if event.entersRegion == true { insideRegions.append(region) }
    if insideRegions.count > 32 { insideRegions.removeFirst() }
  }

  /// Records a change of state as an event, unless it is from a retained message, which reports no change.
  private mutating func record(_ summary: String, _ arrival: Arrival, time: UTCTime? = nil) {
    guard !arrival.isRetained else { return }
    event = Received(
      message: VehicleEvent(summary: summary, time: time), receivedAt: arrival.moment, isRetained: false)
  }

  /// Marks the vehicle as online after a live location, for a wire format in which vehicles send no status.
  mutating func observePresence(_ arrival: Arrival) {
    guard !arrival.isRetained, state != .online else { return }
    if state == .offline { record(VehicleState.online.rawValue, arrival) }
    state = .online
  }

  private mutating func remember(epoch new: String?) {
    guard let new, new != epoch else { return }
    formerEpochs.removeAll { $0 == new }
    if let epoch {
      formerEpochs.append(epoch)
      if formerEpochs.count > Self.rememberedEpochs { formerEpochs.removeFirst() }
    }
    epoch = new
  }
}
