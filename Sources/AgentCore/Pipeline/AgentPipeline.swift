internal import Motion
internal import Positioning
public import Sensors
public import Spatial
internal import Telemetry

/// From sensor events to messages: the whole of the agent's decisions, as a value without I/O.
///
/// Events go in with their time, drafts of messages come out. The same value therefore runs live, in a replay as fast as
/// the machine can, and in a test with exact answers.
public struct AgentPipeline: Sendable {
  let configuration: AgentConfiguration
  private var timeBase: TimeBase
  private(set) var location: LocationManager
  /// The newest position, told or not.
  private(set) var lastSeen: Location?
  var power: PowerControl
  private var motion: MotionManager
  private var heading: HeadingManager
  private var headingGate: IntervalGate
  private var attitudeGate: IntervalGate
  private var motionEvents: MotionEvents
  private var status: StatusReporter

  /// - Parameters:
  ///   - start: where the device's time line stands now.
  ///   - time: the civil time then, as far as it is known.
  ///   - version: of the program, for `status`.
  public init(configuration: AgentConfiguration, start: Timestamp, time: UTCTime, version: String) {
    self.configuration = configuration
    timeBase = TimeBase(timestamp: start, time: time, followsReceiver: configuration.input != .hardware)
    location = LocationManager(distanceFilter: configuration.distanceFilter)
    motion = MotionManager(frame: configuration.attitudeFrame)
    heading = HeadingManager(headingFilter: configuration.headingFilter)
    headingGate = IntervalGate(interval: configuration.headingInterval)
    attitudeGate = IntervalGate(interval: configuration.attitudeInterval)
    motionEvents = MotionEvents(configuration.motionEvents)
    status = StatusReporter(start: start, interval: configuration.statusInterval, version: version)
    power = PowerControl(figures: configuration.energy)
    planPower(at: start)
  }

  /// Takes one event in; hands out the messages that follow from it, in order.
  public mutating func process(_ event: SensorEvent, into send: (MessageDraft) -> Void) {
    switch event {
    case .accelerometer(let block):
      motion.process(block)
      tell(motionEvents.process(block, gravity: motion.deviceMotion?.gravity), into: send)
    case .gyroscope(let block):
      motion.process(block)
      tell(motionEvents.process(block), into: send)
      if let last = block.last { tellMotion(at: last.timestamp, into: send) }
    case .magnetometer(let block): motion.process(block)
    case .barometer, .thermometer: break
    case .position(let fixes): for fix in fixes { process(fix, into: send) }
    case .status(let change):
      motion.note(change)
      status.note(change)
    }
    power.note(event)
    if let timestamp = event.timestamp { advance(to: timestamp, into: send) }
  }

  /// Lets time pass without an event.
  public mutating func advance(to timestamp: Timestamp, into send: (MessageDraft) -> Void) {
    planPower(at: timestamp)
    guard var message = status.due(at: timestamp, timeBase: timeBase, counters: counters) else { return }
    message.energy = EnergyReport(power.accounts(at: timestamp))
    send(Self.draft(message))
  }

  /// When `advance` has something to do, if no event comes before.
  public var nextDeadline: Timestamp? {
    [status.nextDeadline, power.nextDeadline].compactMap { $0 }.min()
  }

  /// Counts to be shown in `status`, from outside the pipeline, as in messages dropped.
  public var externalCounters: [String: Int] = [:]

  /// The last word of a clean stop.
  public mutating func farewell(at timestamp: Timestamp) -> MessageDraft {
    var message = status.message(.offline, at: timestamp, timeBase: timeBase, counters: counters)
    message.energy = EnergyReport(power.accounts(at: timestamp))
    return Self.draft(message)
  }

  /// The payload that the broker publishes as `status` on our behalf when a connection ends without a word.
  public var will: [UInt8] { status.will(timeBase: timeBase).payload }

  /// Makes `status` due at the next moment: a new connection must overrule the will of the one before.
  public mutating func requestStatus() { status.requestNow() }

  private var counters: [String: Int] {
    externalCounters.merging(
      [
        "fixes.withoutPosition": location.reportsWithoutPosition,
        "locations.filtered": location.filteredCount, "fixes.duplicate": location.duplicateCount,
      ], uniquingKeysWith: { $1 })
  }

  private mutating func process(_ fix: PositionFix, into send: (MessageDraft) -> Void) {
    timeBase.observe(fix)
    lastSeen = Location(fix: fix) ?? lastSeen
    if let coordinate = fix.coordinate {
      motion.update(
        location: coordinate, altitude: fix.altitudeEllipsoidal,
        time: fix.time ?? timeBase.utc(at: fix.timestamp))
      heading.declination = motion.declination
    }
    guard configuration.isLocationEnabled, let location = location.process(fix) else { return }
    let time = location.time ?? timeBase.utc(at: location.timestamp)
    send(
      MessageDraft(kind: .location, lane: .track, retain: true) { identity in
        LocationMessage(identity: identity, time: time, location: location).payload
      })
  }

  private mutating func tellMotion(at timestamp: Timestamp, into send: (MessageDraft) -> Void) {
    if configuration.isHeadingEnabled, headingGate.isOpen(at: timestamp),
      let heading = heading.process(motion)
    {
      let message = HeadingMessage(
        time: timeBase.utc(at: heading.timestamp), magneticHeading: heading.magneticHeading,
        trueHeading: heading.trueHeading, headingAccuracy: heading.headingAccuracy)
      send(
        MessageDraft(kind: .heading, lane: .live, retain: false, expirySeconds: 60) { _ in message.payload })
    }
    if configuration.isAttitudeEnabled, attitudeGate.isOpen(at: timestamp), let motion = motion.deviceMotion,
      let attitude = motion.attitude
    {
      var message = AttitudeMessage(
        time: timeBase.utc(at: motion.timestamp), frame: motion.frame, attitude: attitude)
      message.rotationRate = motion.rotationRate
      message.gravity = motion.gravity
      message.userAcceleration = motion.userAcceleration
      let final = message
      send(
        MessageDraft(kind: .attitude, lane: .live, retain: false, expirySeconds: 60) { _ in final.payload })
    }
  }

  private func tell(_ events: [MotionEvents.Event], into send: (MessageDraft) -> Void) {
    for (timestamp, event) in events {
      let time = timeBase.utc(at: timestamp)
      send(
        MessageDraft(kind: .motion, lane: .event, retain: false) { identity in
          MotionMessage(identity: identity, time: time, event: event).payload
        })
    }
  }

  private static func draft(_ message: StatusMessage) -> MessageDraft {
    MessageDraft(kind: .status, lane: .state, retain: true) { identity in
      var message = message
      message.identity = identity
      return message.payload
    }
  }
}
