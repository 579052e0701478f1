internal import MQTT
internal import Motion
internal import Pipeline
internal import Positioning
internal import Sensors
internal import SensorsIIO
internal import Simulation
internal import Spatial
internal import StoreAndForward
internal import Telemetry

/// The agent's pipeline over a simulated vehicle whose sensors do what the pipeline demands of them, and what that uses.
///
/// A class, as the code that would copy such a value is a hundredth of the agent's program.
final class SimulatedStretch {
  /// Hz of inertial sensors at most, and the seconds that a block of samples spans at least. What a day uses hangs on how long
  /// sensors are on, not on their rate; how often their blocks wake the processor is computed from the demands.
  private static let (highestRate, shortestBlock) = (5.0, Duration.seconds(1))
  /// Bytes of a message beside topic and payload: header, lengths, packet identifier, content type, acknowledgement.
  private static let framing = 31
  /// Seconds of processor time for one wake-up with what it is for.
  private static let workPerWakeup = 80e-6
  /// Wake-ups that a fix and a message take: gpsd's reports, and the connection's thread for sending and for the answer.
  private static let (wakeupsPerFix, wakeupsPerMessage) = (4.0, 4.0)
  private static let identity = MessageIdentity(epoch: "0123456789abcdef", seq: 12_345)

  private var drive: SimulatedDrive
  private var pipeline: AgentPipeline
  private var link: SimulatedLink
  private var formats: MessageFormats
  private let figures: EnergyFigures
  private let inertialKinds: Set<SensorKind> = [
    .accelerometer, .gyroscope, .magnetometer, .barometer, .thermometer,
  ]
  private var isInertialSilent = false
  private var demands: [SensorKind: SensorDemand] = [:]
  private var wakeups = 0.0
  private var now = Timestamp(nanoseconds: 0)
  private var pending: SensorEvent?

  var lapDuration: Double { drive.lapDuration }

  /// - Throws: `SimulationError`; `TopicError`.
  init(_ configuration: AgentConfiguration, _ scenario: SimulatedDrive.Scenario) throws {
    drive = try SimulatedDrive(Self.simulation(of: configuration, scenario))
    formats = try MessageFormats(
      configuration.profiles,
      topics: TopicScheme(
        root: configuration.topicRoot, fleet: configuration.fleet, vehicle: configuration.vehicle),
      version: Self.version)
    figures = configuration.pipeline.energy
    var decisions = configuration.pipeline
    // What the simulated receiver says of the time is true.
    decisions.isVirtual = true
    pipeline = AgentPipeline(
      configuration: decisions, start: now, time: Self.startTime, version: Self.version)
    pipeline.environment = AgentEnvironment(
      counters: BrokerDelivery.counters(MQTTStatistics(), .empty), device: Self.deviceHealth)
    link = SimulatedLink(configuration, start: now)
    if let first = pipeline.drainDemands() { demand(first) }
  }

  /// No further sample of an inertial sensor is heard: at rest it would say the same again.
  func silenceInertialSensors() {
    isInertialSilent = true
    for kind in inertialKinds { drive.setDemand(.off, for: kind) }
  }

  /// Runs to a moment, in seconds since the start.
  /// - Returns: what was used since the start.
  func advance(to seconds: Double) -> SimulatedDay.Use {
    let end = Timestamp(seconds: seconds)
    while let event = pending ?? drive.next(), let time = event.timestamp {
      pending = event
      guard time <= end else { break }
      pending = nil
      // That sensors are off which are not heard is not what their source would say.
      let isHeard = if case .status = event { !isInertialSilent } else { true }
      let changed = step(to: time) { pipeline, send in
        isHeard ? pipeline.process(event, into: send) : pipeline.advance(to: time, into: send)
      }
      if case .position(let fixes) = event { wakeups += Double(fixes.count) * Self.wakeupsPerFix }
      if let changed { demand(changed) }
    }
    book(until: end)
    return use(at: end)
  }

  private func step(
    to time: Timestamp, _ process: (inout AgentPipeline, (VehicleMessage) -> Void) -> Void
  ) -> [SensorKind: SensorDemand]? {
    book(until: time)
    var sent: [VehicleMessage] = []
    process(&pipeline) { sent.append($0) }
    for message in sent { publish(message, at: time) }
    link.observe(isAtRest: pipeline.isAtRest, at: time)
    while let change = link.advance(to: time) { follow(change, at: time) }
    return pipeline.drainDemands()
  }

  /// Books what the demands cost until a moment: a block of samples wakes its own thread and the pipeline's.
  private func book(until time: Timestamp) {
    let seconds = max(0, time.seconds(since: now))
    now = max(now, time)
    for (kind, demand) in demands where inertialKinds.contains(kind) && drive.kinds.contains(kind) {
      guard case .rate(let hertz, let latency) = demand else { continue }
      wakeups += 2 * seconds / max(latency / .seconds(1), 1 / hertz)
    }
  }

  private func demand(_ changed: [SensorKind: SensorDemand]) {
    demands = changed
    for kind in SensorKind.allCases where !isInertialSilent || !inertialKinds.contains(kind) {
      var demand = changed[kind] ?? .off
      if inertialKinds.contains(kind), case .rate(let hertz, let latency) = demand {
        demand = .rate(hertz: min(hertz, Self.highestRate), latency: max(latency, Self.shortestBlock))
      }
      drive.setDemand(demand, for: kind)
    }
  }

  // MARK: Messages

  private func publish(_ message: VehicleMessage, at time: Timestamp) {
    wakeups += Self.wakeupsPerMessage
    for publication in formats.encode(message) {
      if let change = link.send(Self.counted(publication, of: message), at: time) { follow(change, at: time) }
    }
  }

  private func follow(_ change: SimulatedLink.Change, at time: Timestamp) {
    switch change {
    case .opened:
      var sent: [VehicleMessage] = []
      pipeline.beginSession(at: nil)
      pipeline.advance(to: time) { sent.append($0) }
      for message in sent { publish(message, at: time) }
    case .closing:
      guard let last = pipeline.lastStatus, let asleep = formats.asleep(last) else { return }
      link.sendLast(Self.counted(asleep, of: .status(last)), at: time)
    }
  }

  private static func counted(_ publication: Publication, of message: VehicleMessage) -> SimulatedLink.Message
  {
    let payload = publication.payload(identity: publication.lane == nil ? nil : identity)
    return SimulatedLink.Message(
      kind: message.path, topic: publication.topic, lane: publication.lane,
      bytes: framing + publication.topic.utf8.count + payload.count)
  }

  // MARK: Sums

  private func use(at end: Timestamp) -> SimulatedDay.Use {
    var use = SimulatedDay.Use(messages: link.messages, linkBytes: Double(link.overhead))
    use.joules = pipeline.energy(at: end).mapValues(\.joules)
    use.joules[.processor] =
      wakeups * (figures.wakeup + Self.workPerWakeup * (figures.power[.processor] ?? 0))
    use.joules[.radio] =
      link.use.seconds * (figures.power[.radio] ?? 0) + Double(link.use.bursts) * figures.burst
      + Double(link.use.bytes) * figures.byte
    return use
  }

  // MARK: Premises

  /// Of a usual length, so that the estimate does not depend on the build.
  private static let version = "1.0.0"
  private static let startTime = UTCTime(nanoseconds: 1_795_219_200_000_000_000)

  private static func simulation(
    of configuration: AgentConfiguration, _ scenario: SimulatedDrive.Scenario
  ) -> SimulatedDrive.Configuration {
    var simulation = SimulatedDrive.Configuration()
    simulation.scenario = scenario
    simulation.startTime = startTime
    simulation.longestSilence = 5
    (simulation.rates.accelerometer, simulation.rates.gyroscope) = (highestRate, highestRate)
    simulation.rates.magnetometer = highestRate
    let pace = configuration.pipeline.location.activity.typicalSpeed
    if configuration.pipeline.location.activity != .automotive {
      for index in simulation.route.waypoints.indices { simulation.route.waypoints[index].speedLimit = pace }
      // Steps shake by some 2 m/s² (root mean square); the simulation's figure is that at 15 m/s.
      simulation.inertialErrors.roadVibration = 2 * 15 / pace
    }
    guard configuration.input == .hardware else { return simulation }
    if configuration.gpsd == nil { simulation.rates.positioning = 0 }
    func isThere(_ kind: SensorKind) -> Bool { configuration.iio.contains { $0.kinds.contains(kind) } }
    if !isThere(.accelerometer) { simulation.rates.accelerometer = 0 }
    if !isThere(.gyroscope) { simulation.rates.gyroscope = 0 }
    if !isThere(.magnetometer) { simulation.rates.magnetometer = 0 }
    if !isThere(.barometer) { simulation.rates.barometer = 0 }
    return simulation
  }

  /// A small computer with a battery, for the size of `status`.
  private static let deviceHealth: DeviceHealth = {
    var health = DeviceHealth()
    health.model = "Raspberry Pi 4 Model B Rev 1.5"
    health.system = DeviceHealth.System(name: "Debian GNU/Linux 12 (bookworm)", kernel: "6.1.0-18-arm64")
    health.processors = 4
    health.battery = DeviceHealth.Battery(level: 0.87, isCharging: true, voltage: 12.6)
    health.externalPower = true
    health.storage = DeviceHealth.Storage(free: 12_884_901_888, total: 31_268_536_320)
    health.memory = DeviceHealth.Memory(resident: 18_874_368, available: 3_221_225_472, total: 3_976_200_192)
    health.temperature = 48.7
    return health
  }()
}
