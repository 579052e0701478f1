internal import Fleet
internal import MQTT
internal import Sensors
internal import Simulation
internal import Spatial
internal import Telemetry
internal import VehicleData

/// A vehicle of a simulated fleet: its position on the shared route, its messages and its outages.
///
/// It has no internal clock: the caller passes the time, and equal calls give equal messages.
package struct SimulatedVehicle: Sendable {
  /// A message with its sequence number; nil for a message without one.
  struct NumberedMessage: Sendable {
    var message: MQTTMessage
    var number: UInt64?
  }

  /// The standard deviation in m of the slowly varying receiver error, and the correlation of the error from
  /// one report to the next.
  private static let receiverError = 1.5
  private static let receiverMemory = 0.95
  /// The maximum number of fixes stored for the track of an outage; the oldest are dropped.
  private static let longestTrack = 2000

  let topics: TopicScheme
  /// The vehicle's position on the route at the start, in seconds of driving from the start of the lap.
  private let phase: Double
  /// The offset in degrees of this vehicle's streets from the shared route.
  private let shift: Coordinate
  let epoch: String
  /// The last assigned sequence number.
  private(set) var seq: UInt64 = 0
  private var generator: SeededGenerator
  /// The receiver error east and north, m.
  private var error = SIMD2<Double>.zero
  private var sessionStart: UTCTime
  private var nextEvent: Double?
  private var nextOutage: Double?
  private var outageEnd: Double?
  private var missed: [TrackMessage.Fix] = []

  /// Creates a vehicle.
  ///
  /// - Parameters:
  ///   - number: distinguishes vehicles with the same seed.
  ///   - lap: the duration of a lap of the shared route, s.
  init(
    topics: TopicScheme, number: Int, configuration: SimulatedFleet.Configuration, lap: Double, start: UTCTime
  ) {
    self.topics = topics
    generator = SeededGenerator(seed: configuration.seed, stream: UInt64(number))
    phase = generator.nextUniform() * lap
    // Vehicles are distributed over a square that grows with the fleet, about 250 m per vehicle.
    let side = 0.0022 * Double(configuration.vehicles).squareRoot()
    shift = Coordinate(
      latitude: side * (generator.nextUniform() - 0.5),
      longitude: 1.5 * side * (generator.nextUniform() - 0.5))
    // Each run has a random epoch, so that the sequence numbers of the next run start again.
    epoch = MessageIdentity.epoch(.random(in: .min ... .max))
    sessionStart = start
    nextEvent = Self.draw(configuration.eventsPerHour, after: 0, &generator)
    nextOutage = Self.draw(configuration.outagesPerHour, after: 0, &generator)
  }

  /// True during a simulated outage of the vehicle's connection.
  package var isOut: Bool { outageEnd != nil }

  /// The will, which the broker publishes if the connection is lost.
  var will: MQTTMessage {
    message(
      .status(StatusMessage(state: .offline, time: sessionStart, sessionStart: sessionStart, isWill: true)))
  }

  /// Returns a status message for signing on or off.
  mutating func status(_ state: StatusMessage.State, at time: UTCTime) -> NumberedMessage {
    var status = StatusMessage(state: state, time: time, sessionStart: sessionStart)
    status.version = "simulation"
    return numbered(.status(status))
  }

  /// The messages that clear this vehicle's retained messages.
  var removals: [MQTTMessage] {
    [MessageKind.status, .location].map {
      MQTTMessage(topic: topics.topic($0), payload: [], qos: .atLeastOnce, retain: true)
    }
  }

  /// Appends a report.
  /// - Parameters:
  ///   - state: the state on the shared route at `lapTime(after:)`.
  ///   - seconds: the time since the start.
  mutating func report(
    _ state: SimulatedState, after seconds: Double, at time: UTCTime,
    configuration: SimulatedFleet.Configuration,
    into messages: inout [NumberedMessage]
  ) {
    let location = location(state, at: time, speed: configuration.speed)
    if let end = outageEnd {
      guard seconds >= end else { return remember(location, at: time) }
      outageEnd = nil
      nextOutage = Self.draw(configuration.outagesPerHour, after: seconds, &generator)
      sessionStart = time
      messages.append(status(.online, at: time))
      if !missed.isEmpty {
        messages.append(numbered(.track(TrackMessage(identity: nil, fixes: missed))))
        missed = []
      }
    } else if let next = nextOutage, seconds >= next {
      outageEnd = seconds + configuration.outageSeconds
      messages.append(NumberedMessage(message: will))
      return remember(location, at: time)
    }
    var report = numbered(
      .location(
        LocationMessage(identity: nil, time: time, location: PrivacyPolicy.unrestricted(location))))
    report.message.qos = QoS(rawValue: configuration.qos) ?? .atLeastOnce
    messages.append(report)
    if let next = nextEvent, seconds >= next {
      nextEvent = Self.draw(configuration.eventsPerHour, after: seconds, &generator)
      messages.append(event(at: time))
    }
  }

  /// Appends heading and attitude, which are not durable.
  func live(_ state: SimulatedState, at time: UTCTime, into messages: inout [NumberedMessage]) {
    guard outageEnd == nil else { return }
    // The reference is rotated by 90°: the simulation's x axis points east, the x axis of the reported frame
    // points north.
    let attitude = Attitude(quaternion: state.motion.quaternion).rotatedReference(by: .pi / 2)
    let heading = attitude.heading() ?? 0
    let told = HeadingMessage(time: time, magneticHeading: heading, trueHeading: heading)
    messages.append(NumberedMessage(message: message(.heading(told))))
    var motion = AttitudeMessage(time: time, frame: .xTrueNorthZVertical, attitude: attitude)
    motion.rotationRate = state.motion.rotationRate
    messages.append(NumberedMessage(message: message(.attitude(motion))))
  }

  /// Returns the time on the route in seconds from its start.
  func lapTime(after seconds: Double, speed: Double) -> Double { phase + seconds * speed }

  private mutating func location(_ state: SimulatedState, at time: UTCTime, speed: Double)
    -> Location
  {
    let fresh = Self.receiverError * (1 - Self.receiverMemory * Self.receiverMemory).squareRoot()
    error = Self.receiverMemory * error + fresh * SIMD2(generator.nextNormal(), generator.nextNormal())
    // Metres to degrees on a sphere; the accuracy is sufficient for noise.
    var coordinate = state.coordinate
    coordinate.latitude += shift.latitude + error.y / 111_200
    coordinate.longitude += shift.longitude + error.x / 74_000
    var location = Location(timestamp: state.timestamp, coordinate: coordinate)
    location.time = time
    location.altitude = state.altitudeMeanSeaLevel
    location.horizontalAccuracy = 2.5
    location.speed = state.speed * speed
    location.course = state.course
    location.source = "simulation"
    return location
  }

  private mutating func remember(_ location: Location, at time: UTCTime) {
    if missed.count >= Self.longestTrack { missed.removeFirst(Self.longestTrack / 10) }
    missed.append(
      TrackMessage.Fix(
        time: time, coordinate: PrivacyPolicy.unrestricted(location.coordinate),
        horizontalAccuracy: location.horizontalAccuracy))
  }

  private mutating func event(at time: UTCTime) -> NumberedMessage {
    let event: MotionMessage.Event
    switch generator.next() % 4 {
    case 0: event = .impact(side: .front, peak: 2 + 3 * generator.nextUniform(), direction: nil)
    case 1: event = .shake(.began, axis: .horizontal)
    case 2: event = .activity(.stationary)
    default: event = .activity(.moving)
    }
    return numbered(.motion(MotionMessage(time: time, event: event)))
  }

  /// Adds the next sequence number to a message.
  private mutating func numbered(_ message: VehicleMessage) -> NumberedMessage {
    seq += 1
    return NumberedMessage(
      message: self.message(message, identity: MessageIdentity(epoch: epoch, seq: seq)), number: seq)
  }

  private func message(_ message: VehicleMessage, identity: MessageIdentity? = nil) -> MQTTMessage {
    MQTTMessage(
      topic: topics.topic(path: message.path), payload: message.encode(identity: identity),
      qos: message.qos == 0 ? .atMostOnce : .atLeastOnce, retain: message.isRetained)
  }

  /// Returns the time of the next random event; nil for never.
  private static func draw(
    _ perHour: Double, after seconds: Double, _ generator: inout SeededGenerator
  ) -> Double? {
    perHour > 0 ? seconds + generator.nextExponential(mean: 3600 / perHour) : nil
  }
}
