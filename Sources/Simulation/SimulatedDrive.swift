public import Sensors
public import Spatial

/// A vehicle that drives a route, and what its sensors say of it: samples and fixes that agree with each other
/// because all come from one motion in closed form (`VehicleState`), each with its own seeded errors.
///
/// ```swift
/// var configuration = SimulatedDrive.Configuration()
/// configuration.seed = 7
/// var drive = try SimulatedDrive(configuration)
/// while let event = drive.next() { … }
/// ```
///
/// It is a value: a copy drives on independently with the same future. Memory does not grow with the time
/// driven. Everything is on at its highest rate until a demand says otherwise; what is off is not computed.
/// When no sensor has had anything to say for a second (`longestSilence`), the status is said again, so that time passes and
/// a caller that plays the drive at life speed can change its demands.
public struct SimulatedDrive: SensorRecording {
  public let configuration: Configuration
  public let kinds: Set<SensorKind>

  private let dynamics: VehicleDynamics
  private let lapNanoseconds: Int64
  private let parkedTimes: [Range<Double>]
  private let lastTime: Int64
  private var channels: [SamplingChannel]
  /// Nanoseconds from the start to the last event; -1 leaves the very first moment to come.
  private var now: Int64 = -1
  /// When each channel's sensor sampled last, for noise that wanders with time.
  private var lastSamples: [Int64?]
  private var hasNews = true
  private var isFinished = false

  private var accelerometer: InertialModel
  private var gyroscope: InertialModel
  private var magnetometer: MagnetometerModel
  private var barometer: BarometerModel
  private var thermometer: ThermometerModel
  private var receiver: GNSSModel

  /// - Throws: a `SimulationError` that names the waypoint or the setting which makes no sense.
  public init(_ configuration: Configuration = Configuration()) throws(SimulationError) {
    try configuration.check()
    self.configuration = configuration
    func generator(_ stream: UInt64) -> SeededGenerator {
      SeededGenerator(seed: configuration.seed, stream: stream)
    }
    let path = try RoutePath(configuration.route)
    let profile = SpeedProfile(SpeedPlan(path, style: configuration.style))
    var hills = generator(1)
    dynamics = VehicleDynamics(
      path: path, profile: profile,
      elevation: ElevationProfile(
        length: path.length, steepestGrade: configuration.steepestGrade, generator: &hills),
      suspension: configuration.suspension)
    lapNanoseconds = Int64((profile.duration * 1e9).rounded())
    parkedTimes = profile.standstills.filter { $0.upperBound - $0.lowerBound >= configuration.parkingTime }
    let lastTime = configuration.duration.map { Int64(($0 * 1e9).rounded()) } ?? .max
    self.lastTime = lastTime
    let blockDuration = Int64((configuration.blockDuration * 1e9).rounded())
    channels = Self.order.filter { configuration.rates[$0] > 0 }.map {
      SamplingChannel(
        kind: $0, rate: configuration.rates[$0], blockDuration: blockDuration, lastTime: lastTime)
    }
    kinds = Set(channels.map(\.kind))
    lastSamples = Array(repeating: nil, count: channels.count)

    let rates = configuration.rates
    accelerometer = InertialModel(
      accelerometer: configuration.inertialErrors, rate: rates.accelerometer, generator: generator(2))
    gyroscope = InertialModel(
      gyroscope: configuration.inertialErrors, rate: rates.gyroscope, generator: generator(3))
    magnetometer = MagnetometerModel(configuration.environment, generator: generator(4))
    barometer = BarometerModel(configuration.environment, generator: generator(5))
    thermometer = ThermometerModel(configuration.environment, generator: generator(6))
    receiver = GNSSModel(
      configuration.receiver, frame: path.frame, generator: generator(7), outageGenerator: generator(8))
  }

  public var name: String { "simulated \(configuration.scenario.rawValue), seed \(configuration.seed)" }

  /// The time of the last event; the start before the first one.
  public var timestamp: Timestamp { timestamp(at: max(0, now)) }

  /// Seconds that the vehicle takes once around, stops included.
  public var lapDuration: Double { dynamics.profile.duration }

  /// Metres once around.
  public var lapLength: Double { dynamics.path.length }

  /// The vehicle's true state at any moment, past or future; before the start, that of the start.
  public func truth(at timestamp: Timestamp) -> VehicleState {
    let start = configuration.startTimestamp
    return state(at: max(timestamp, start).nanoseconds - start.nanoseconds)
  }

  public mutating func next() -> SensorEvent? {
    if isFinished { return nil }
    if hasNews {
      hasNews = false
      return .status(status(state))
    }
    var soonest: (index: Int, block: SamplingChannel.Block)?
    for index in channels.indices {
      guard let block = channels[index].nextBlock else { continue }
      if let best = soonest, best.block.end <= block.end { continue }
      soonest = (index, block)
    }
    let silence = max(0, now) + Int64((configuration.longestSilence * 1e9).rounded())
    if let soonest, soonest.block.end <= silence {
      now = soonest.block.end
      return event(of: soonest.index, soonest.block)
    }
    guard silence <= lastTime else {
      isFinished = true
      now = max(now, lastTime)
      return .status(status(.finished))
    }
    now = silence
    return .status(status(state))
  }

  public mutating func setDemand(_ demand: SensorDemand, for kind: SensorKind) {
    guard let index = channels.firstIndex(where: { $0.kind == kind }) else { return }
    let before = state
    channels[index].setDemand(demand, now: now)
    if state != before { hasNews = true }
    guard let rate = channels[index].rate else { return }
    switch kind {
    case .accelerometer: if rate != accelerometer.rate { accelerometer.rate = rate }
    case .gyroscope: if rate != gyroscope.rate { gyroscope.rate = rate }
    case .magnetometer, .barometer, .thermometer, .positioning, .wifi, .cellular: break
    }
  }

  /// At equal times the slow sensors' news come after the fast ones'.
  private static let order: [SensorKind] = [
    .gyroscope, .accelerometer, .magnetometer, .barometer, .thermometer, .positioning,
  ]

  private var state: SourceStatus.State {
    var rates: [SensorKind: Double] = [:]
    for channel in channels { rates[channel.kind] = channel.rate }
    return rates.isEmpty ? .idle : .active(rates: rates)
  }

  private func status(_ state: SourceStatus.State) -> SourceStatus {
    SourceStatus(timestamp: timestamp, source: name, kinds: kinds, state: state)
  }

  private func timestamp(at time: Int64) -> Timestamp {
    Timestamp(nanoseconds: configuration.startTimestamp.nanoseconds + time)
  }

  private func lapTime(at time: Int64) -> Double {
    configuration.scenario == .parked ? 0 : Double(time % lapNanoseconds) * 1e-9
  }

  private func state(at time: Int64) -> VehicleState {
    dynamics.state(
      at: lapTime(at: time), baseAltitude: configuration.altitude, timestamp: timestamp(at: time))
  }

  private func engineRuns(at lapTime: Double) -> Bool {
    configuration.scenario != .parked && !parkedTimes.contains { $0.contains(lapTime) }
  }

  private mutating func event(of index: Int, _ block: SamplingChannel.Block) -> SensorEvent {
    switch channels[index].kind {
    case .accelerometer, .gyroscope, .magnetometer, .thermometer: return inertialEvent(block)
    case .barometer:
      channels[index].advance()
      return .barometer(
        block.times.map { time in
          barometer.sample(
            altitude: configuration.altitude + dynamics.height(at: lapTime(at: time)),
            at: timestamp(at: time), elapsed: elapsed(index, time))
        })
    case .positioning:
      channels[index].advance()
      return .position(
        block.times.map { time in
          let state = state(at: time)
          return receiver.report(
            GNSSModel.Situation(
              state: state, time: Double(time) * 1e-9,
              isBlocked: state.isInTunnel || configuration.scenario == .noLocation,
              wakes: block.wakes && time == block.first,
              utc: configuration.startTime?.advanced(bySeconds: Double(time) * 1e-9)))
        })
    // No radios are simulated, and so no channel is theirs.
    case .wifi, .cellular:
      channels[index].advance()
      return .radio([])
    }
  }

  /// One chip: the sensors that sample at the same moments deliver them as one scan.
  private mutating func inertialEvent(_ block: SamplingChannel.Block) -> SensorEvent {
    let parts = channels.indices.filter { index in
      SensorKind.inertial.contains(channels[index].kind)
        && channels[index].nextBlock?.coincides(with: block) == true
    }
    for index in parts { channels[index].advance() }
    return .inertial(
      block.times.map { time in
        let lapTime = lapTime(at: time)
        let motion = dynamics.motion(at: lapTime)
        var scan = InertialScan(timestamp: timestamp(at: time))
        for index in parts {
          let elapsed = elapsed(index, time)
          switch channels[index].kind {
          case .accelerometer:
            scan.specificForce = accelerometer.force(
              motion, at: scan.timestamp, elapsed: elapsed, engineRuns: engineRuns(at: lapTime))
          case .gyroscope: scan.rotationRate = gyroscope.rotation(motion, elapsed: elapsed)
          case .magnetometer: scan.magneticField = magnetometer.sample(motion)
          case .thermometer: scan.temperature = thermometer.sample(after: Double(time) * 1e-9)
          case .barometer, .positioning, .wifi, .cellular: break
          }
        }
        return scan
      })
  }

  /// Seconds since the channel's sample before.
  private mutating func elapsed(_ index: Int, _ time: Int64) -> Double {
    defer { lastSamples[index] = time }
    return Double(time - (lastSamples[index] ?? time)) * 1e-9
  }
}
