import AgentCore
import Pipeline
import Positioning
import Sensors
import Spatial
import Telemetry
import TestSupport

/// A vehicle that alternately drives and parks, with a gpsd that fails temporarily, a delayed iiod, and clock
/// changes. It runs the agent's pipeline in virtual time.
struct AttackedVehicle {
  private let configuration: AgentConfiguration
  private var pipeline: AgentPipeline
  private var regressions = 0
  private var hasReceiver = true
  /// Error of the machine's clock in seconds.
  private var clockError = 0.0
  /// Blocks delayed by a slow server, with their arrival times.
  private var late: [(due: Double, scans: [InertialScan])] = []
  private(set) var clockSteps = 0
  private(set) var receiverLosses = 0

  private static let start = UTCTime(nanoseconds: 1_795_219_200_000_000_000)
  private static let centre = Coordinate(latitude: 48.137, longitude: 11.575)

  init() throws {
    configuration = try AgentConfiguration(settings: ["vehicle.id=van", "heading.enabled=false"])
    pipeline = try Self.pipeline(configuration, at: 0, clockError: 0)
  }

  private static func pipeline(
    _ configuration: AgentConfiguration, at seconds: Double, clockError: Double
  ) throws -> AgentPipeline {
    var pipeline = AgentPipeline(
      configuration: configuration.pipeline, start: Timestamp(seconds: seconds),
      time: start.advanced(bySeconds: seconds + clockError), isClockSynchronized: false, version: "1")
    // The route passes through the region once per lap.
    try pipeline.regions.add(
      Region(identifier: "depot", center: position(at: 0), radius: 200))
    return pipeline
  }

  /// Restarts the agent.
  mutating func restart(at seconds: Double) throws {
    pipeline = try Self.pipeline(configuration, at: seconds, clockError: clockError)
    regressions = 0
  }

  /// - Returns: the messages of the vehicle; `isNewEpoch` is true if time went back before them.
  mutating func advance(
    to seconds: Double, using random: inout SplitMix
  ) -> (messages: [VehicleMessage], isNewEpoch: Bool) {
    var messages: [VehicleMessage] = []
    let now = Timestamp(seconds: seconds)
    if Int.random(in: 0..<500, using: &random) == 0 {
      clockSteps += 1
      clockError = [0, 0.4, -0.4, 30, -30, 86_400, -86_400, 3e7, -3e7].randomElement(using: &random) ?? 0
    }
    pipeline.observe(
      SystemTime(
        time: Self.start.advanced(bySeconds: seconds + clockError),
        isSynchronized: clockError == 0 && Bool.random(using: &random)), at: now)
    if Int.random(in: 0..<200, using: &random) == 0 {
      hasReceiver.toggle()
      if !hasReceiver { receiverLosses += 1 }
      let state: SourceStatus.State =
        hasReceiver ? .active(rates: [.positioning: 1]) : .unavailable(reason: "Connection refused")
      pipeline.process(
        .status(SourceStatus(timestamp: now, source: "gpsd", kinds: [.positioning], state: state))
      ) { messages.append($0) }
    }
    for block in late where block.due <= seconds {
      pipeline.process(.inertial(block.scans)) { messages.append($0) }
    }
    late.removeAll { $0.due <= seconds }
    if Int.random(in: 0..<20, using: &random) == 0 { measure(at: seconds, using: &random) }
    if hasReceiver {
      pipeline.process(.position([Self.fix(at: seconds)])) { messages.append($0) }
    }
    pipeline.advance(to: now) { messages.append($0) }
    defer { regressions = pipeline.timeRegressions }
    return (messages, pipeline.timeRegressions != regressions)
  }

  /// Queues a block of scans, some with an impact, that arrives up to one minute late.
  private mutating func measure(at seconds: Double, using random: inout SplitMix) {
    let blow = Int.random(in: 0..<4, using: &random) == 0
    let scans = (0..<20).map { index -> InertialScan in
      let noise = random.uniform(-0.05...0.05)
      let strength = blow && index == 10 ? 60.0 : 0
      return InertialScan(
        timestamp: Timestamp(seconds: seconds + Double(index) * 0.01),
        specificForce: Vector3(noise + strength, noise, 9.81),
        rotationRate: Vector3(noise / 10, 0, noise / 20))
    }
    late.append((seconds + random.uniform(0.2...60), scans))
  }

  private static func fix(at seconds: Double) -> PositionFix {
    var fix = PositionFix(
      timestamp: Timestamp(seconds: seconds), time: start.advanced(bySeconds: seconds),
      mode: .threeDimensional,
      coordinate: position(at: seconds))
    fix.speed = seconds.truncatingRemainder(dividingBy: 7200) < 2400 ? 12 : 0
    return fix
  }

  /// Returns the position on a circle with a radius of 2 km. The vehicle drives for 40 min in every two hours.
  private static func position(at seconds: Double) -> Coordinate {
    let laps = (seconds / 7200).rounded(.down)
    let driven = laps * 2400 + min(seconds - laps * 7200, 2400)
    return centre.moved(by: 2000, towards: driven * 12 / 2000)
  }
}

extension Coordinate {
  /// Returns the position at a distance in metres and a direction in radians. The approximation is sufficient
  /// for a lap.
  fileprivate func moved(by distance: Double, towards angle: Double) -> Coordinate {
    let turn = angle.truncatingRemainder(dividingBy: 2 * Double.pi)
    return Coordinate(
      latitude: latitude + distance * sine(turn + Double.pi / 2) / 111_200,
      longitude: longitude + distance * sine(turn) / 74_300)
  }

  /// Bhaskara's approximation of the sine, extended to all angles.
  private func sine(_ angle: Double) -> Double {
    var angle = angle.truncatingRemainder(dividingBy: 2 * Double.pi)
    let sign = angle > Double.pi ? -1.0 : 1
    if angle > Double.pi { angle -= Double.pi }
    let product = angle * (Double.pi - angle)
    return sign * 16 * product / (5 * Double.pi * Double.pi - 4 * product)
  }
}
