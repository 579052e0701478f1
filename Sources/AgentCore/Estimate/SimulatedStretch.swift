internal import LiveSensors
internal import Logging
internal import Pipeline
internal import Positioning
internal import Sensors
internal import SensorsIIO
package import Simulation
internal import Spatial
internal import Telemetry

/// The agent's own loop over a simulated vehicle, with the use of energy and of the link.
///
/// A class instead of a struct, because the generated code that copies such a struct would add 1 % to the
/// size of the agent's program.
package final class SimulatedStretch {
  /// Version with the usual length, so that the estimate does not depend on the build.
  private static let version = "1.0.0"
  private static let startTime = UTCTime(nanoseconds: 1_795_219_200_000_000_000)

  private var loop: AgentLoop
  private let delivery: PrintDelivery

  /// Seconds of one lap of the route.
  package let lapDuration: Double

  /// - Parameter silentFrom: time in s after which inertial sensors are not simulated any more, because the
  ///   samples at standstill would only repeat; nil for never.
  /// - Throws: `SimulationError`; `TopicError`.
  package init(
    _ configuration: AgentConfiguration, _ scenario: SimulatedDrive.Scenario, silentFrom: Double? = nil
  ) throws {
    let start = Timestamp(nanoseconds: 0)
    let drive = try SimulatedDrive(Self.simulation(of: configuration, scenario))
    lapDuration = drive.lapDuration
    let formats = try MessageFormats(
      configuration.profiles,
      topics: TopicScheme(
        root: configuration.topicRoot, fleet: configuration.fleet, vehicle: configuration.vehicle),
      version: Self.version)
    var decisions = configuration.pipeline
    // All times come from the simulated receiver, and no receiver is assumed before the drive reports one.
    (decisions.isVirtual, decisions.hasReceiver) = (true, false)
    delivery = PrintDelivery(
      formats: formats, link: LinkModel(configuration.mqtt, formats: formats, start: start), descriptor: nil)
    loop = try AgentLoop(
      pipeline: AgentPipeline(
        configuration: decisions, start: start, time: Self.startTime, version: Self.version),
      sensors: .recorded(SettlingDrive(drive, silentFrom: silentFrom)), inbox: AgentInbox(),
      delivery: delivery, log: Logger(label: "estimate") { _ in SwiftLogNoOpLogHandler() })
    try loop.start()
  }

  /// Runs up to a time in s since the start.
  /// - Returns: the use since the start.
  package func advance(to seconds: Double) throws -> SimulatedDay.Use {
    let accounts = try loop.advance(recordingTo: Timestamp(seconds: seconds))
    let link = delivery.model
    return SimulatedDay.Use(
      joules: accounts.mapValues(\.joules), messages: link?.bytes ?? [:], counts: link?.messages ?? [:],
      linkBytes: link?.overhead ?? 0)
  }

  private static func simulation(
    of configuration: AgentConfiguration, _ scenario: SimulatedDrive.Scenario
  ) -> SimulatedDrive.Configuration {
    var simulation = SimulatedDrive.Configuration()
    if case .simulation(let own) = configuration.input { simulation = own }
    simulation.scenario = scenario
    simulation.startTime = startTime
    simulation.duration = nil
    simulation.longestSilence = 5
    guard configuration.input == .hardware else { return simulation }
    let pace = configuration.pipeline.location.activity.typicalSpeed
    if configuration.pipeline.location.activity != .automotive {
      for index in simulation.route.waypoints.indices { simulation.route.waypoints[index].speedLimit = pace }
      // A person's steps have accelerations of about 2 m/s² (root mean square). The simulation's
      // `roadVibration` is the value at 15 m/s.
      simulation.inertialErrors.roadVibration = 2 * 15 / pace
    }
    if configuration.gpsd == nil { simulation.rates.positioning = 0 }
    func isThere(_ kind: SensorKind) -> Bool { configuration.iio.contains { $0.kinds.contains(kind) } }
    if !isThere(.accelerometer) { simulation.rates.accelerometer = 0 }
    if !isThere(.gyroscope) { simulation.rates.gyroscope = 0 }
    if !isThere(.magnetometer) { simulation.rates.magnetometer = 0 }
    if !isThere(.barometer) { simulation.rates.barometer = 0 }
    return simulation
  }
}

/// A simulated drive whose inertial sensors stop at `silentFrom`, because their samples at standstill would
/// only repeat. Their reported state does not change.
private struct SettlingDrive: SensorRecording {
  private var drive: SimulatedDrive
  private let silentFrom: Timestamp?
  private var isSilent = false
  private var lastState = SourceStatus.State.idle

  init(_ drive: SimulatedDrive, silentFrom: Double?) {
    self.drive = drive
    self.silentFrom = silentFrom.map { Timestamp(seconds: $0) }
  }

  var name: String { drive.name }
  var kinds: Set<SensorKind> { drive.kinds }

  mutating func next() -> SensorEvent? {
    if !isSilent, let silentFrom, drive.timestamp >= silentFrom {
      isSilent = true
      for kind in SensorKind.allCases where kind != .positioning { drive.setDemand(.off, for: kind) }
    }
    let event = drive.next()
    guard case .status(var status)? = event else { return event }
    if isSilent { status.state = lastState }
    lastState = status.state
    return .status(status)
  }

  mutating func setDemand(_ demand: SensorDemand, for kind: SensorKind) {
    if !isSilent || kind == .positioning { drive.setDemand(demand, for: kind) }
  }
}
