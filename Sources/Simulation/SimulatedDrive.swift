public import Sensors
public import Spatial

/// A simulated vehicle on a route with its sensors. Samples and fixes are consistent, because all derive from
/// one motion in closed form (`SimulatedState`), each with its own seeded errors.
///
/// ```swift
/// var configuration = SimulatedDrive.Configuration()
/// configuration.seed = 7
/// var drive = try SimulatedDrive(configuration)
/// while let event = drive.next() { … }
/// ```
///
/// A value type: a copy continues independently with the same future. Memory use is constant. Every sensor
/// runs at its highest rate until there is a demand; sensors that are off are not computed. After a second
/// without events (`longestSilence`) the status is repeated, so that time advances and a caller that plays
/// the drive in real time can change its demands.
public struct SimulatedDrive: SensorRecording {
  public let configuration: Configuration
  public let kinds: Set<SensorKind>

  private let dynamics: VehicleDynamics
  private let lapNanoseconds: Int64
  private let parkedTimes: [Range<Double>]
  private let lastTime: Int64
  private var channels: [SamplingChannel]
  /// Time of the last event in ns since the start; -1 before the first event.
  private var now: Int64 = -1
  /// The time of each channel's previous sample, for correlated noise.
  private var lastSamples: [Int64?]
  private var hasNews = true
  private var isFinished = false

  private var accelerometer: InertialModel
  private var gyroscope: InertialModel
  private var magnetometer: MagnetometerModel
  private var barometer: BarometerModel
  private var thermometer: ThermometerModel
  private var receiver: GNSSModel

  /// Creates a simulation.
  ///
  /// - Throws: a `SimulationError` with the invalid waypoint or setting.
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

  /// The time of the last event, or that of the start before the first event.
  public var timestamp: Timestamp { timestamp(at: max(0, now)) }

  /// The duration of a lap in s, including stops.
  public var lapDuration: Double { dynamics.profile.duration }

  /// The length of a lap in m.
  public var lapLength: Double { dynamics.path.length }

  /// Returns the true state of the vehicle at any time. For times before the start, it is the state at the
  /// start.
  public func truth(at timestamp: Timestamp) -> SimulatedState {
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

  /// At equal times, events of slow sensors follow those of fast ones.
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

  private func state(at time: Int64) -> SimulatedState {
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
    // Radios are not simulated, so no channel has these kinds.
    case .wifi, .cellular:
      channels[index].advance()
      return .radio([])
    }
  }

  /// Returns the samples of a block. Sensors with equal sample times are merged into one scan, as from a single chip.
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

  /// Returns the seconds since the channel's previous sample.
  private mutating func elapsed(_ index: Int, _ time: Int64) -> Double {
    defer { lastSamples[index] = time }
    return Double(time - (lastSamples[index] ?? time)) * 1e-9
  }
}
