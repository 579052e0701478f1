package import Positioning
public import Spatial
public import Telemetry

/// The name of a vehicle, unique on a broker.
public struct VehicleKey: Hashable, Sendable, Comparable, CustomStringConvertible {
  public var fleet: String
  public var vehicle: String

  public init(fleet: String, vehicle: String) {
    self.fleet = fleet
    self.vehicle = vehicle
  }

  public var description: String { "\(fleet)/\(vehicle)" }

  /// Orders by fleet, then by vehicle, with numbers by value: `sim-2` before `sim-10`.
  public static func < (a: VehicleKey, b: VehicleKey) -> Bool {
    a.fleet == b.fleet
      ? NaturalOrder.precedes(a.vehicle, b.vehicle) : NaturalOrder.precedes(a.fleet, b.fleet)
  }

  /// A sort key whose byte order is that of keys; names that differ only in leading zeros have the same key.
  var sortKey: String { NaturalOrder.key(fleet) + "\0" + NaturalOrder.key(vehicle) }
}

extension TopicAddress {
  /// The vehicle of the topic.
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

/// The state of one vehicle.
public struct VehicleRecord: Sendable {
  public let key: VehicleKey
  /// The sort key for long lists; see `NaturalOrder.key(_:)`.
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
  /// The latest barometric altitude, with the level of a garage.
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
  /// The last events, oldest first, including the newest.
  public private(set) var recentEvents: [Received<VehicleEvent>] = []
  /// Sequence numbers that have not arrived since the subscription: lost, or still on their way.
  public var missing: Int { Int(clamping: lost &+ (sequence?.missing ?? 0)) }
  /// Time of the last increase of `missing`; nil if it never increased.
  public private(set) var lastGap: Moment?
  /// The status payload as received, for clients that use fields unknown to this version.
  package var statusPayload: [UInt8] = []
  /// The regions that the vehicle is to monitor, and those of them that it accepted; nil before it reported
  /// them.
  package internal(set) var wantedRegions: [RegionShape] = []
  package internal(set) var acceptedRegions: Set<String>?
  /// The regions that the vehicle monitors, as far as it reported them.
  package var regions: [RegionShape] {
    wantedRegions.filter { acceptedRegions?.contains($0.identifier) == true }
  }
  /// The regions that contain the vehicle: from its last report of all regions (`regions/state`) and later
  /// single events.
  package var insideRegions: [String] = []
  /// The vehicle's last report of all region states; nil before the first.
  package internal(set) var regionStates: RegionsStateMessage? {
    get { last.regionStates.value }
    set { last.regionStates.value = newValue }
  }
  package var trail = Trail()
  /// The time of the vehicle's last live message; retained messages and wills do not count. Nil if there was
  /// none since the subscription.
  public internal(set) var lastHeard: Moment?
  /// The number of messages below the vehicle's topic.
  public internal(set) var messageCount = 0
  /// The number of messages below the vehicle's topic that could not be decoded, including retained ones.
  public internal(set) var unreadable = 0
  /// The number of the last change, increasing across all vehicles: vehicles with a higher number changed
  /// later.
  public internal(set) var revision: UInt64 = 0

  /// The kinds whose retained message was cleared since their last message.
  var clearedKinds: Set<MessageKind> = []

  private var last = LastMessages()

  private static let rememberedEvents = 12
  /// Seconds for which a stored position without a promise counts as current: a few intervals of a vehicle that reports by
  /// distance.
  private static let storedDuration = 30.0
  /// Seconds for which a gap is reported as a fault: late messages fill most gaps within minutes, and what has not come by
  /// then is a fact of the past.
  package static let gapDuration = 900.0
  private var sequence: SequenceGaps?
  private var sequenceEpoch: String?
  /// Missing numbers of former epochs, which will not arrive any more.
  private var lost: UInt64 = 0

  /// The predicted position; nil for a vehicle without bounded reporting.
  var prediction: VehiclePrediction?
  // The order of each kind is stored separately from its data, because a will replaces the state but not the
  // order.
  var stamps = MessageStamps()
  /// The current epoch, and those that it replaced, newest last.
  package var epoch: String?
  var formerEpochs: [String] = []
  /// The start of the latest session reported by a status.
  package var sessionStart: UTCTime?

  package init(key: VehicleKey) {
    self.key = key
    sortKey = key.sortKey
  }

  /// The next announced contact of a vehicle that is asleep, by its own clock. Nil if it announced none, such
  /// as a vehicle that only wakes on events.
  public var nextContact: UTCTime? { state == .asleep ? status?.message.nextContact : nil }

  /// Returns whether a vehicle that is asleep has missed its announced contact.
  /// - Parameter tolerance: seconds for a slow connection and clock differences.
  public func isOverdue(at now: Moment, tolerance: Double = 300) -> Bool {
    nextContact.map { now.time.seconds(since: $0) > tolerance } ?? false
  }

  /// Counts the sequence number of a live message.
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

  /// Forgets the open gaps of the sequence; the next message starts it anew.
  mutating func restartSequence() { (sequence, sequenceEpoch) = (nil, nil) }

  /// Returns whether messages went missing within the last quarter of an hour.
  public func hasRecentGap(at now: Moment) -> Bool {
    guard missing > 0, let lastGap else { return false }
    return now.seconds(since: lastGap) < Self.gapDuration
  }

  private mutating func remember(_ event: Received<VehicleEvent>) {
    if recentEvents.count >= Self.rememberedEvents { recentEvents.removeFirst() }
    recentEvents.append(event)
  }

  /// Returns whether the position is only the last known one, so that it must not be shown as live: the vehicle
  /// is offline, or the broker had stored the position, which is neither new nor covered by the vehicle's own
  /// guarantee.
  public func isLocationStale(at now: Moment) -> Bool {
    guard let location else { return false }
    if state == .offline { return true }
    guard location.isRetained else { return false }
    guard state == .online || state == .asleep else { return true }
    if let predicted = predictedPosition(at: now) { return !predicted.isPromised }
    let age = now.time.seconds(since: location.message.time)
    return !(0..<Self.storedDuration).contains(age)
  }

  /// Returns the seconds since the last live message; without one, since the latest retained message was
  /// written. Nil if there is neither.
  public func age(at now: Moment) -> Double? {
    if let lastHeard { return max(0, now.seconds(since: lastHeard)) }
    let written = [status?.message.time, location?.message.time].compactMap { $0 }.max()
    return written.map { max(0, now.time.seconds(since: $0)) }
  }
}

extension VehicleRecord {
  /// True if the vehicle's retained messages were deleted at the broker. `odographd check` publishes an empty
  /// status that is not retained; an online vehicle without a position is therefore not regarded as deleted
  /// by that alone.
  var isCleared: Bool {
    guard clearedKinds.contains(.status) else { return false }
    return clearedKinds.contains(.location) || location == nil && state != .online
  }
}

extension VehicleRecord {
  /// The position at which a vehicle is shown.
  public struct ShownPosition: Hashable, Sendable {
    public var coordinate: Coordinate
    /// The maximum distance to the vehicle's fix, m; nil without a guarantee, as for a reported position that
    /// is not predicted.
    public var bound: Double?
    /// True if the vehicle currently guarantees the bound; false after it was withdrawn or has expired, and
    /// without a guarantee.
    public var isPromised = false
  }

  /// The state of the magnetometer from the newer of heading and status; nil if neither contains it.
  public var compass: CompassReport? {
    guard let heading, heading.message.compass.calibration != nil, !heading.isRetained else {
      return status?.message.compass
    }
    guard let status, status.message.time > heading.message.time else { return heading.message.compass }
    return status.message.compass ?? heading.message.compass
  }

  /// Returns the vehicle's predicted position; without a prediction, its last one. Nil before the first
  /// position.
  public func shownPosition(at now: Moment) -> ShownPosition? {
    if let predicted = predictedPosition(at: now) {
      return ShownPosition(
        coordinate: predicted.coordinate, bound: predicted.bound, isPromised: predicted.isPromised)
    }
    return location.map { ShownPosition(coordinate: $0.message.location.coordinate, bound: nil) }
  }
}

extension VehicleRecord {
  /// The maximum number of stored former epochs.
  private static let rememberedEpochs = 8

  /// Applies a message of this vehicle.
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

  /// Compares an unnumbered position with the last one of the same time. Phones report a position of the network and one of
  /// the satellites for the same second.
  /// - Returns: true if it is more accurate, false if it is less accurate, nil if the accuracy does not decide.
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
      // QoS 0 retains the order of its connection and never repeats, so a clock that was set back does not
      // block messages.
      guard !arrival.isRetained, let last = stamps[arrival.kind] else { break }
      return stamp.time == last.time ? .duplicate : .newer
    default: break
    }
    return MessageOrder(of: stamp, after: stamps[arrival.kind], formerEpochs: formerEpochs)
  }

  /// Applies a will. It was written at the start of its session and arrives when the session ended
  /// unexpectedly. It is valid unless a later session has started; its time is not the time of the event.
  private mutating func applyWill(_ will: StatusMessage, _ arrival: Arrival) -> Roster.Outcome {
    if let sessionStart, will.sessionStart < sessionStart { return .outdated }
    if state == .offline, status?.message.isWill == true, will.sessionStart == sessionStart {
      return .duplicate
    }
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
      if message.location.suspicion == nil { trail.append(message.location.coordinate) }
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
      // An update of an earlier trip, such as its driver, is not the newest.
      if message.isNewer(than: trip?.message) { trip = received(message) }
    case .drivingEvent(let message):
      if message.isNewer(than: drivingEvent?.message) { drivingEvent = received(message) }
      event = received(VehicleEvent(message))
    case .track, .scan, .trace, .tracePiece, .commandResponse, .configReported, .regionsReported,
      .regionsState, .beaconsWanted:
      break
    }
  }

  private mutating func recordCrossing(_ event: VehicleEvent) {
    guard let region = event.region else { return }
    insideRegions.removeAll { $0 == region }
    if event.entersRegion == true { insideRegions.append(region) }
    if insideRegions.count > 32 { insideRegions.removeFirst() }
  }

  /// Records a change of state as an event. Retained messages are not changes.
  private mutating func record(_ summary: String, _ arrival: Arrival, time: UTCTime? = nil) {
    guard !arrival.isRetained else { return }
    event = Received(
      message: VehicleEvent(summary: summary, time: time), receivedAt: arrival.moment, isRetained: false)
  }

  /// Sets the vehicle online after a live location, in a profile without a status.
  mutating func observePresence(_ arrival: Arrival) {
    guard !arrival.isRetained, state != .online else { return }
    if state == .offline { record(VehicleState.online.rawValue, arrival) }
    state = .online
  }

  private mutating func remember(epoch new: String?) {
    guard let new, new != epoch else { return }
    if let epoch {
      formerEpochs.append(epoch)
      if formerEpochs.count > Self.rememberedEpochs { formerEpochs.removeFirst() }
    }
    epoch = new
  }
}

extension VehicleRecord {
  /// Returns the predicted position with its error bound. Nil without bounded reporting, before the first
  /// report takes effect, for an offline vehicle, and two minutes after the guarantee has expired.
  public func predictedPosition(at now: Moment) -> PredictedPosition? {
    validPrediction?.position(at: now)
  }

  /// The prediction of a vehicle that is online or asleep; nil for others, whose guarantee is withdrawn.
  package var validPrediction: VehiclePrediction? {
    state == .online || state == .asleep ? prediction : nil
  }

  /// The reports that a client needs to predict the position itself, in order of their validity; empty if
  /// `predictedPosition` is permanently nil.
  package var promisedReports: [ReportPredictor] {
    validPrediction?.reports ?? []
  }

  /// The number of messages that the vehicle has accepted and the broker has not acknowledged; nil if
  /// unknown.
  package var backlog: Int? { status?.message.counters["queue.records"] }

  /// True if the position's time is plausible on the local clock. In the replay of an old recording it is
  /// not: the measurement is then as old as its message.
  package var isLocationOfOurTime: Bool {
    guard let location else { return true }
    return VehicleMessage.location(location.message).delay(at: location.receivedAt) != nil
  }

  /// Updates the prediction with a location. A location without a prediction ends it, and so does a retained
  /// one that is days old.
  mutating func predict(from message: LocationMessage, _ arrival: Arrival) {
    let agrees = VehicleMessage.location(message).delay(at: arrival.moment) != nil
    guard let report = message.predictor, agrees || !arrival.isRetained else {
      prediction = nil
      return
    }
    prediction = prediction ?? VehiclePrediction()
    prediction?.receive(report, at: arrival.moment, clocksAgree: agrees)
  }
}
