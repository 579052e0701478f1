package import Positioning
public import Spatial
public import Telemetry

/// Names one vehicle of all that a broker knows.
public struct VehicleKey: Hashable, Sendable, Comparable, CustomStringConvertible {
  public var fleet: String
  public var vehicle: String

  public init(fleet: String, vehicle: String) {
    self.fleet = fleet
    self.vehicle = vehicle
  }

  public var description: String { "\(fleet)/\(vehicle)" }

  /// By fleet and then by vehicle, numbers in names by their values: `sim-2` before `sim-10`.
  public static func < (a: VehicleKey, b: VehicleKey) -> Bool {
    a.fleet == b.fleet
      ? NaturalOrder.precedes(a.vehicle, b.vehicle) : NaturalOrder.precedes(a.fleet, b.fleet)
  }

  /// A text whose plain order is that of keys; those of names that differ in leading zeros alone are alike.
  var sortKey: String { NaturalOrder.key(fleet) + "\0" + NaturalOrder.key(vehicle) }
}

extension TopicAddress {
  /// The vehicle whose topic it is.
  package var key: VehicleKey { VehicleKey(fleet: fleet, vehicle: vehicle) }
}

/// Whether a vehicle is there, as far as its status says.
public enum VehicleState: String, Hashable, Sendable, CaseIterable, Comparable {
  case online
  case asleep
  case offline
  /// It never sent a status that could be read.
  case unknown

  public static func < (a: Self, b: Self) -> Bool { a.order < b.order }

  private var order: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// What is known of one vehicle.
public struct VehicleRecord: Sendable {
  public let key: VehicleKey
  /// What vehicles are sorted by where there are many of them; see `NaturalOrder.key(_:)`.
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
  /// The newest of what the vehicle's own bus told.
  public internal(set) var signals: Received<VehicleSignals>? {
    get { last.signals.value }
    set { last.signals.value = newValue }
  }
  /// How high it is by its barometer, and on which level of a garage.
  public internal(set) var altitude: Received<AltitudeMessage>? {
    get { last.altitude.value }
    set { last.altitude.value = newValue }
  }
  /// The newest trip, without its way.
  public internal(set) var trip: Received<TripMessage>? {
    get { last.trip.value }
    set { last.trip.value = newValue }
  }
  /// The newest of how it was driven and what was done to it.
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
  /// The last ones, oldest first, the newest included.
  public private(set) var recentEvents: [Received<VehicleEvent>] = []
  /// Sequence numbers that have not arrived since the subscription: lost, or still on their way.
  public var missing: Int { Int(clamping: lost &+ (sequence?.missing ?? 0)) }
  /// When `missing` last grew; nil if it never did.
  public private(set) var lastGap: Moment?
  /// The status as it came, for whoever shows more of it than this version knows.
  package var statusPayload: [UInt8] = []
  /// What the vehicle is to watch, and which of it it has accepted; nil before it has said so.
  package internal(set) var wantedRegions: [RegionShape] = []
  package internal(set) var acceptedRegions: Set<String>?
  /// What the vehicle watches, as far as it has said so.
  package var regions: [RegionShape] {
    wantedRegions.filter { acceptedRegions?.contains($0.identifier) == true }
  }
  /// Regions that it is in: as it told last of all of them (`regions/state`), and then of single ones.
  package var insideRegions: [String] = []
  /// How it stands with the regions, as the vehicle told last; nil before it has.
  package internal(set) var regionStates: RegionsStateMessage? {
    get { last.regionStates.value }
    set { last.regionStates.value = newValue }
  }
  package var trail = Trail()
  /// When the vehicle itself was last heard: a kept message or a will is no sign of life. Nil when it was not heard
  /// since the subscription.
  public internal(set) var lastHeard: Moment?
  /// Messages below the vehicle's topic, of any kind.
  public internal(set) var messageCount = 0
  /// Messages below the vehicle's topic that are not what their topic promises, kept ones among them.
  public internal(set) var unreadable = 0
  /// Rises with each change, across all vehicles: what changed since a number is what is above it.
  public internal(set) var revision: UInt64 = 0

  /// Kinds of which the broker keeps nothing any more, since the last message of each.
  var takenBack: Set<MessageKind> = []

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
  /// Missing numbers of former epochs: they will not come any more.
  private var lost: UInt64 = 0

  /// How the vehicle's position goes on, for one that reports within bounds.
  var prediction: VehiclePrediction?
  // The order of each kind is kept apart from what is shown: a will replaces the state, not the order.
  var stamps = MessageStamps()
  /// The newest epoch, and those that it took the place of, newest last.
  package var epoch: String?
  var formerEpochs: [String] = []
  /// Start of the newest session that a status spoke of.
  package var sessionStart: UTCTime?

  package init(key: VehicleKey) {
    self.key = key
    sortKey = key.sortKey
  }

  /// Of a vehicle that is asleep: when it means to be heard again, by its own clock. Nil when it did not say, as one that
  /// only an event wakes.
  public var nextContact: UTCTime? { state == .asleep ? status?.message.nextContact : nil }

  /// Whether a vehicle that is asleep should have been heard by now.
  /// - Parameter tolerance: seconds, for a connection that takes its time and clocks that do not agree.
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

  /// Whether messages went missing within the last quarter of an hour.
  public func hasRecentGap(at now: Moment) -> Bool {
    guard missing > 0, let lastGap else { return false }
    return now.seconds(since: lastGap) < Self.gapDuration
  }

  private mutating func remember(_ event: Received<VehicleEvent>) {
    if recentEvents.count >= Self.rememberedEvents { recentEvents.removeFirst() }
    recentEvents.append(event)
  }

  /// Whether the position is only the last known one, so that it must not be shown as live: the vehicle is offline, or the
  /// broker had stored the position, and neither the vehicle's own promise covers it nor is it new.
  public func isLocationStale(at now: Moment) -> Bool {
    guard let location else { return false }
    if state == .offline { return true }
    guard location.isRetained else { return false }
    guard state == .online || state == .asleep else { return true }
    if let predicted = predictedPosition(at: now) { return !predicted.isPromised }
    let age = now.time.seconds(since: location.message.time)
    return !(0..<Self.storedDuration).contains(age)
  }

  /// Seconds since the vehicle was heard; where it was not heard since the subscription, since the newest message
  /// that the broker had kept was written. Nil when there is neither.
  public func age(at now: Moment) -> Double? {
    if let lastHeard { return max(0, now.seconds(since: lastHeard)) }
    let written = [status?.message.time, location?.message.time].compactMap { $0 }.max()
    return written.map { max(0, now.time.seconds(since: $0)) }
  }
}

extension VehicleRecord {
  /// Whether somebody has deleted at the broker how the vehicle stands. `odographd check` publishes an empty status, which the
  /// broker does not keep: one that is online and has no position is not taken for deleted by that alone.
  var isTakenBack: Bool {
    guard takenBack.contains(.status) else { return false }
    return takenBack.contains(.location) || location == nil && state != .online
  }
}

extension VehicleRecord {
  /// Where a vehicle is shown.
  public struct ShownPosition: Hashable, Sendable {
    public var coordinate: Coordinate
    /// Metres: the vehicle's fix is no farther away; nil when nothing is promised, as for a position that was reported and
    /// not predicted.
    public var bound: Double?
    /// Whether the vehicle promised that bound for now; false once it has withdrawn it or fallen silent, and where nothing
    /// is promised.
    public var isPromised = false
  }

  /// What is known of the magnetometer, from the newer of heading and status; nil when neither says anything of it.
  public var compass: CompassReport? {
    guard let heading, heading.message.compass.calibration != nil, !heading.isRetained else {
      return status?.message.compass
    }
    guard let status, status.message.time > heading.message.time else { return heading.message.compass }
    return status.message.compass ?? heading.message.compass
  }

  /// Where the vehicle is now by its own prediction; without one, where it was last. Nil before the first position.
  public func shownPosition(at now: Moment) -> ShownPosition? {
    if let predicted = predictedPosition(at: now) {
      return ShownPosition(
        coordinate: predicted.coordinate, bound: predicted.bound, isPromised: predicted.isPromised)
    }
    return location.map { ShownPosition(coordinate: $0.message.location.coordinate, bound: nil) }
  }
}

extension VehicleRecord {
  /// As many as a vehicle is believed to have had stores while somebody watched.
  private static let rememberedEpochs = 8

  /// Takes in a message of this vehicle.
  mutating func apply(_ message: VehicleMessage, _ arrival: Arrival) -> Roster.Outcome {
    if case .status(let status) = message, status.isWill { return applyWill(status, arrival) }
    let stamp = MessageStamp(
      identity: message.identity, time: message.time ?? arrival.moment.time, isRetained: arrival.isRetained,
      receivedAt: arrival.moment)
    switch order(of: stamp, arrival) {
    case .duplicate: return .duplicate
    case .older: return .outdated
    case .newer: break
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

  private func order(of stamp: MessageStamp, _ arrival: Arrival) -> MessageOrder {
    switch arrival.kind {
    case .heading, .attitude:
      // QoS 0 keeps the order of its connection and repeats nothing: a clock that was set back holds nothing up.
      guard !arrival.isRetained, let last = stamps[arrival.kind] else { break }
      return stamp.time == last.time ? .duplicate : .newer
    default: break
    }
    return MessageOrder(of: stamp, after: stamps[arrival.kind], formerEpochs: formerEpochs)
  }

  /// A will was written when its session began and arrives when that ended without a word. It counts unless a later
  /// session has begun since; its time says nothing about when.
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
      trail.append(message.location.coordinate)
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
      // What is told again of an earlier one, as who has driven, is not the newest.
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

  /// A change of state is an event too. What the broker had kept was no change that anyone saw.
  private mutating func record(_ summary: String, _ arrival: Arrival, time: UTCTime? = nil) {
    guard !arrival.isRetained else { return }
    event = Received(
      message: VehicleEvent(summary: summary, time: time), receivedAt: arrival.moment, isRetained: false)
  }

  /// A live location says that the vehicle is there, in a profile that has no other word for it.
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
  /// Where the vehicle is now by its own prediction, and how wrong that may be; nil for one that does not report within
  /// bounds, before its first report takes effect, when the vehicle is gone, as nobody keeps the promise then, and two minutes
  /// after the promise has lapsed.
  public func predictedPosition(at now: Moment) -> PredictedPosition? {
    guard state == .online || state == .asleep else { return nil }
    return prediction?.position(at: now)
  }

  /// The vehicle's own reports that a subscriber may still need to show it, in the order in which they take effect, for
  /// whoever predicts without asking again; none where `predictedPosition` is nil for good.
  package var promisedReports: [ReportPredictor] {
    state == .online || state == .asleep ? prediction?.reports ?? [] : []
  }

  /// Whether the position's time can be meant to be of our clock. In the replay of an old recording it is not: what was
  /// measured is as old as its message then.
  package var isLocationOfOurTime: Bool {
    guard let location else { return true }
    return VehicleMessage.location(location.message).delay(at: location.receivedAt) != nil
  }

  /// Follows how a location goes on; one that does not say ends the prediction, and so does one of days ago that
  /// the broker had kept.
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
