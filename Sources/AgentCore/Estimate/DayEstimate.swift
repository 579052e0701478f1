internal import Glibc
internal import Positioning

/// What a day of a configuration costs and promises, computed without running it: energy by the `energy` keys, bytes by the
/// size of real messages, and how wrong a subscriber may be.
///
/// A day is so many hours between setting off and parking, and rest. Weather, hills and networks are not in it: a simulated
/// day agrees within a factor of two (`DayEstimateTests`).
struct DayEstimate: Sendable {
  /// Messages a day by kind, and what they carry.
  struct Messages: Sendable {
    var count: Double
    /// Bytes of one payload.
    var size: Double
    /// With topic, headers and the answer.
    var bytes: Double { count * (size + DayEstimate.overhead) }
  }

  /// Joules.
  var energy: [EnergyComponent: Double]
  var messages: [String: Messages]
  /// Bytes beside the messages: handshakes and pings.
  var linkBytes: Double
  var drivingHours: Double

  /// Joules.
  var joules: Double { energy.values.reduce(0, +) }
  var bytes: Double { messages.values.reduce(linkBytes) { $0 + $1.bytes } }

  /// Bytes of a message beside its payload: topic, properties, header, acknowledgement.
  static let overhead = 75.0
  /// Payloads as the agent writes them, in bytes.
  private static let sizes = [
    "location": 310.0, "heading": 128, "attitude": 292, "motion": 91, "status": 1045, "track": 160,
  ]
  /// Bytes of a point in a track.
  private static let pointSize = 9.0
  /// Headings an hour of driving that turn by more than a degree, and events of motion.
  private static let (turns, events) = (700.0, 60.0)
  /// Bytes of a connection: handshakes, subscriptions, and what is said at its beginning; with TLS certificates.
  private static let (handshake, secureHandshake) = (600.0, 5000.0)
  /// Seconds of processor time for one wake-up with what it is for.
  private static let workPerWakeup = 80e-6

  /// - Parameter drivingHours: hours a day between setting off and parking, 0 ... 24.
  init(_ configuration: AgentConfiguration, drivingHours: Double) {
    self.drivingHours = min(max(drivingHours, 0), 24)
    let (driving, resting) = (self.drivingHours * 3600, 86_400 - self.drivingHours * 3600)
    let shares = SensorShares(configuration)
    energy = [:]
    for component in EnergyComponent.allCases {
      let seconds = (shares.moving[component] ?? 0) * driving + (shares.resting[component] ?? 0) * resting
      energy[component] = seconds * (configuration.energy.power[component] ?? 0)
    }
    let (moving, still) = Self.rates(configuration, shares)
    messages = [:]
    for kind in Set(moving.keys).union(still.keys) {
      var size = Self.sizes[kind] ?? 0
      if kind == "track", let count = moving["track"], count > 0 {
        size += Self.pointSize * Self.points(configuration, shares) / count
      }
      messages[kind] = Messages(
        count: (moving[kind] ?? 0) * driving + (still[kind] ?? 0) * resting, size: size)
    }
    let link = LinkEstimate(configuration, moving: moving, resting: still)
    linkBytes =
      link.connections(driving: driving, resting: resting)
      * (configuration.mqtt.tls == nil ? Self.handshake : Self.secureHandshake)
      + link.pings(driving: driving, resting: resting) * 4
    let figures = configuration.energy
    energy[.radio] =
      link.seconds(driving: driving, resting: resting) * (figures.power[.radio] ?? 0)
      + link.bursts(driving: driving, resting: resting) * figures.burst + bytes * figures.byte
    let wakeups =
      Self.wakeups(configuration, shares.moving, shares.fixRate, moving) * driving
      + Self.wakeups(configuration, shares.resting, 0, still) * resting
    energy[.processor] =
      wakeups * (figures.wakeup + Self.workPerWakeup * (figures.power[.processor] ?? 0))
  }

  /// Messages a second by kind, while driving and at rest.
  private static func rates(
    _ configuration: AgentConfiguration, _ shares: SensorShares
  ) -> (moving: [String: Double], resting: [String: Double]) {
    var (moving, resting) = (["status": 1 / configuration.statusInterval], [String: Double]())
    resting["status"] = 1 / configuration.statusInterval
    let settings = configuration.location
    if configuration.isLocationEnabled {
      let rate = min(ReportRate.moving(settings), shares.fixRate)
      if let deferral = settings.deferral {
        let byDistance = deferral.distance.map { ReportRate.speed(of: settings.activity) / $0 } ?? 0
        let batches = max(byDistance, deferral.timeout.map { 1 / $0 } ?? 0)
        moving["track"] = min(batches, rate)
        // With a filter of its own the last known position is told besides.
        moving["location"] = if case .distance = settings.policy { min(batches, rate) } else { rate }
      } else {
        moving["location"] = rate
      }
      // A receiver that stays on at rest has something to say, unless told not to.
      if case .distance(nil) = settings.policy { resting["location"] = shares.resting[.receiver] ?? 0 }
    }
    let fused = (shares.moving[.gyroscope] ?? 0, shares.resting[.gyroscope] ?? 0)
    if configuration.isAttitudeEnabled {
      moving["attitude"] = fused.0 / configuration.attitudeInterval
      resting["attitude"] = fused.1 / configuration.attitudeInterval
    }
    if configuration.isHeadingEnabled, shares.moving[.magnetometer] != nil {
      moving["heading"] = min(
        turns / 3600 / max(configuration.headingFilter, 0.3), 1 / configuration.headingInterval)
    }
    if !configuration.motionEvents.isEmpty { moving["motion"] = events / 3600 }
    return (moving, resting)
  }

  /// Points of tracks a second while driving.
  private static func points(_ configuration: AgentConfiguration, _ shares: SensorShares) -> Double {
    guard let error = configuration.location.deferral?.error else { return shares.fixRate }
    // 98 and 78 points at 10 m, as the square root of the error, of 2848 fixes at 1 Hz.
    return min(shares.fixRate, 176 / 2848 * sqrt(10 / error))
  }

  /// Wake-ups of the processor a second.
  private static func wakeups(
    _ configuration: AgentConfiguration, _ shares: [EnergyComponent: Double], _ fixes: Double,
    _ messages: [String: Double]
  ) -> Double {
    let isFused = (shares[.gyroscope] ?? 0) > 0
    let latency =
      isFused ? max(configuration.iio.latency, 1 / configuration.iio.rate) : PowerPlanner.watchLatency
    let sensors = [.accelerometer, .gyroscope, .magnetometer].reduce(0) { $0 + (shares[$1] ?? 0) }
    // A block wakes its own thread and the pipeline's; a message the connection's for sending and for the answer.
    return sensors * 2 / latency + fixes * 4 + messages.values.reduce(0, +) * 4
  }
}
