extension NavigationFilter {
  /// The parameters: one set for every vehicle and sensor. Each has its unit, default and source.
  ///
  /// "Fitted" values were chosen on two drives together. The first has a 100 Hz MEMS sensor and RTK positions
  /// for 9 minutes. The second has a 10 Hz sensor and urban positions for 59 minutes, as recorded and
  /// artificially degraded.
  public struct Parameters: Hashable, Sendable {
    // MARK: Inertial sensors

    /// Noise of the gyroscope at rest, rad/s/√Hz (3e-4: 0.017 °/s, twice the data sheet value of a cheap
    /// sensor).
    public var gyroscopeNoise = 3e-4
    /// Noise of the accelerometer at rest, m/s²/√Hz (0.005: the data sheet value of a cheap sensor, including
    /// quantization).
    public var accelerometerNoise = 0.005
    /// Additional noise of the gyroscope per rad/s of difference between consecutive samples, 1/√Hz (0.0075,
    /// fitted). Vibration is aliased, and rotations about several axes do not commute. A larger value gives
    /// GNSS and wheels more weight on rough roads.
    public var gyroscopeVibration = 0.0075
    /// Additional noise of the accelerometer per m/s² of difference between consecutive samples, 1/√Hz
    /// (0.008, fitted).
    public var accelerometerVibration = 0.008
    /// Difference between consecutive samples in rad/s at which the variance of `accelerometerVibration` has doubled (0.15,
    /// fitted). A kerb or a bridge joint vibrates faster than the sample rate. One impact of 0.6 rad/s was
    /// observed to turn the attitude by 1°.
    public var gyroscopeShock = 0.15
    /// Difference between consecutive samples in m/s² at which the variance of `accelerometerVibration` has
    /// doubled (3, fitted).
    public var accelerometerShock = 3.0
    /// Additional noise of the gyroscope for intervals above `fittedInterval`, per rad/s of unresolved rate
    /// (`Vibration`) and interval to the power of 1.5, 1/s² (10.6, fitted).
    ///
    /// Rotations within an interval do not commute: the error of an interval is the product of a rotation and
    /// an unresolved one, so the variance per second grows with the third power of the interval. Correcting
    /// coning and sculling between samples changed none of the figures below, and summing samples without
    /// their mean changed them by at most 3 %.
    ///
    /// Mean error in m after outages of 30 and 60 s, on gnss-imu-drive averaged to 25 Hz and on
    /// kingston-2008/imu.csv, with other values: 6.59, 9.55 and 3.11, 5.18 with 0; 3.44, 7.86 and 3.23, 5.63
    /// with 7; 2.72, 7.59 and 3.32, 5.90 with 10.6; 2.87, 8.23 and 3.55, 6.35 with 17. At 100 Hz,
    /// gnss-imu-drive has 2.14 and 6.79.
    public var gyroscopeSampling = 10.6
    /// Interval in s of the samples on which the noise by vibration was fitted (0.01). The variance of the
    /// accelerometer's noise grows in proportion to the interval, because the errors of the samples are
    /// independent.
    public var fittedInterval = 0.01
    /// Largest interval in s for which noise grows (0.04). Sensors at 10 Hz filter what they do not resolve:
    /// with 0.1 s and second differences, the error of kingston-2008/imu.csv after 60 s is 10.0 instead of 6.1 m.
    public var longestInterval = 0.04
    /// Random walk of the gyroscope's bias, rad/s/√s (1.7e-5: 0.001 °/s, as of a chip that warms up).
    public var gyroscopeBiasWalk = 1.7e-5
    /// Random walk of the accelerometer's bias, m/s²/√s (4e-4, fitted).
    public var accelerometerBiasWalk = 4e-4
    /// Additional random walk of the accelerometer's bias per m/s² of vibration, 1/√s (3e-5, fitted). The
    /// cause is vibration rectification.
    public var accelerometerBiasVibration = 3e-5
    /// Random walk of the gyroscope's scale, 1/√s (1e-6).
    public var gyroscopeScaleWalk = 1e-6

    // MARK: Mounting and clocks

    /// Random walk of the mounting, rad/√s (1.7e-5: 0.07° in an hour and a half, as of a holder that
    /// settles).
    public var mountingWalk = 1.7e-5
    /// Random walk of the distance to the rear axle, m/√s (1e-3).
    public var axleLeverWalk = 1e-3
    /// Random walk of the vector to the antenna, m/√s (1e-4).
    public var antennaLeverWalk = 1e-4
    /// Random walk of the latencies, s/√s (1e-3). It covers two clocks that drift by 300 ppm.
    public var latencyWalk = 1e-3
    /// Random walk of the wheel speed's scale, 1/√s (2e-5: 0.1 % in 40 minutes, as of a tyre that warms up).
    public var speedScaleWalk = 2e-5

    // MARK: The vehicle

    /// Standard deviation of the side slip on a straight road, m/s (0.06, fitted).
    public var sideSlip = 0.06
    /// Additional side slip in m/s per m/s² of lateral acceleration (0.03, fitted), which corresponds to a
    /// slip of the tyres of 0.3° at 1 m/s² and 6 m/s.
    public var sideSlipInTurn = 0.03
    /// Standard deviation of the velocity out of the vehicle's plane, m/s (0.22, fitted). The cause is motion
    /// of the suspension.
    public var heave = 0.22
    /// Additional side slip and heave in m/s per rad/s of rotation (0.12, fitted), which corresponds to an
    /// error of the axle's position of 0.12 m.
    public var slipByTurn = 0.12
    /// Interval between two applications of the non-holonomic constraint, s (0.2).
    public var constraintInterval = 0.2
    /// Standard deviation of a wheel speed, m/s (0.15: half a step of 1 km/h).
    public var wheelSpeedDeviation = 0.15

    // MARK: GNSS

    /// Minimum standard deviation of a position by axis, m (0.08). The minimum for the height is twice as
    /// large.
    public var positionFloor = 0.08
    /// Factor on the receiver's stated deviation of a position (1.5), because receivers underestimate their
    /// errors.
    public var positionFactor = 1.5
    /// Minimum standard deviation of a velocity by axis, m/s (0.08). The vertical minimum is 1.5 times as
    /// large.
    public var velocityFloor = 0.08
    /// Correlation time of position errors of precise receivers, s (0.5).
    public var positionCorrelation = 0.5
    /// Correlation time of position errors of receivers that state a deviation above 0.5 m, s (5, fitted).
    /// The causes are multipath and the atmosphere.
    public var coarsePositionCorrelation = 5.0
    /// Correlation time of the errors of velocities, s (0.3).
    public var velocityCorrelation = 0.3
    /// Normalized squared innovation above which a measurement is rejected (25: rejects one measurement in
    /// two million if the model is correct).
    public var gate = 25.0
    /// The same limit for the horizontal vector of a position or a velocity (28.7: one in two million, too).
    public var planeGate = 28.7
    /// Number of consecutive rejected positions or velocities after which the receiver is accepted again (10).
    public var longestRefusal = 10
    /// Initial standard deviation of an unknown position latency, s (0.3). That of the velocity latency is 0.1 s.
    ///
    /// Seconds beyond three 95 % radii with 21 kinds of receivers on 13 drives, and the longest time: 50, 4.6 with 0.15; 32, 4.6
    /// with 0.3; 64, 33 with 0.5.
    public var latencyPrior = 0.3
    /// Prior standard deviation of the distance from the rear axle forward to the antenna, m (3; 6 for a truck).
    public var antennaPrior = 3.0
    /// Prior standard deviation of the angle by which the tyres slip, rad for each m/s² of lateral acceleration (0.005,
    /// which is 0.3°; 0.02 for a truck).
    public var slipPrior = 0.005

    // MARK: Stops

    /// Log-likelihood ratio of rest to motion above which the vehicle is at rest (5: odds of 150 to 1).
    public var stopThreshold = 5.0
    /// Minimum time for which `stopThreshold` must be exceeded, s (1.25, fitted). A small value mistakes slow
    /// rolling for a stop.
    public var stopTime = 1.25
    /// Share of the stops in an outage in which the speed is wrong by more than it states (0.05, outside of the
    /// 95 % radius). Its logarithm is the least weight of a speed that `stopDoubt` explains.
    public var wrongSpeedShare = 0.05
    /// Factor by which the stated deviations of speed and tilt may be too small when a stop is detected (3: nine
    /// times the variance).
    ///
    /// Simulated outages of 60 s on a straight road, in which a bump turned the attitude by 1.1° and the
    /// vehicle then stopped (20 seeds): mean error in m, and share inside the 95 % radius. With 1: 113, 0.60;
    /// 2: 51, 0.90; 3: 33, 0.95, and without `doubtfulStopTime` 13, 1.00. The three recorded
    /// drives change by at most 0.02 m. A vehicle that glides at 14 m/s with the vibration of rest, an
    /// extreme case, counts as stopped for 3 % of the time with 1 and 45 % with 3; with twice that vibration never with both.
    public var stopDoubt = 3.0
    /// The same as `stopTime` while the acceleration exceeds two stated deviations of the tilt, s (2.5). With
    /// 1.25, kingston-2008/imu.csv has 1.2 s of false stops in 9,504 s, and with 2.5 none. With 5, the
    /// error of the simulation above is 86 m.
    public var doubtfulStopTime = 2.5
    /// Standard deviation of a stop's correction of the position, as a share of the correction (0.5).
    ///
    /// The covariance assumes that the error of the speed grew evenly, so that a speed error v at the end of an outage of
    /// T moved the position by vT/2. An error that existed from the start moved it by vT. Simulated pulses of
    /// 0.4 m/s² for 10 s at the start: inside the 95 % radius 0.00 with 0 and 0.35, 0.70 with 0.5. The median 68 % radius of
    /// the recorded drives after 60 s grows from 8.5, 13.6 and 14.2 to 8.6, 13.9 and 14.6 m.
    public var stopShift = 0.5
    /// Velocity in m/s at which a stop ends (0.12, fitted). It is integrated from the difference between the
    /// force and its mean at rest.
    public var startSpeed = 0.12
    /// Standard deviation of a zero-velocity update, m/s (0.05).
    public var stopVelocity = 0.05
    /// Standard deviation of a zero-rate update, rad/s (0.05 °/s), as of a car when a passenger gets in.
    public var stopRate = 0.05 * Double.pi / 180

    // MARK: Alignment

    /// Standard deviation of the yaw below which an alignment is accepted, rad (8°).
    public var alignmentDeviation = 8 * Double.pi / 180
    /// Minimum difference in log-likelihood between the best yaw hypothesis and each hypothesis that differs
    /// by more than 15° (8: odds of 3,000 to 1).
    public var alignmentLead = 8.0
    /// Minimum speed at which an alignment is accepted, m/s (3).
    public var alignmentSpeed = 3.0
    /// Time after which an undecided alignment restarts, s (60).
    public var alignmentTime = 60.0

    // MARK: Bookkeeping

    /// Interval between two propagations of the covariance, s (0.1); values of 0.05 and 0.2 give the same
    /// results.
    public var covarianceInterval = 0.1
    /// Time without inertial samples after which the attitude is determined anew, s (3).
    public var longestGap = 3.0
    /// Factor on the filter's horizontal standard deviation for the reported radius (1.2, fitted). The errors
    /// of a bump or a slip persist, but the filter treats all errors as independent in time.
    public var radiusFactor = 1.2
    /// The 95 % radius in m above which a position is discarded (1,000).
    public var largestRadius = 1000.0

    /// Creates the parameters for a kind of motion.
    ///
    /// Truck tyres slip by about 1° for 1 m/s² of lateral acceleration, which is 0.2 m/s at 10 m/s. The slip of a boat lasts
    /// for minutes, so its deviation is that of independent slips with the same mean (12: 0.7 m/s for a minute, at
    /// five constraints per second). Simulated outages of 30 and 60 s are in `CraftTests`.
    public init(_ motion: VehicleMotion = .wheeled) {
      switch motion {
      case .wheeled: break
      case .truck: (sideSlipInTurn, antennaPrior, slipPrior) = (0.3, 6, 0.02)
      case .boat: (sideSlip, heave) = (12, 0.5)
      }
    }

    /// True if the axis of the vehicle is its direction of motion, so that the mounting is observable.
    var isAxisObservable: Bool { sideSlip < 1 }
  }
}
