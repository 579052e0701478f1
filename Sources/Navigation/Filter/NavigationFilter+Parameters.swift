extension NavigationFilter {
  /// The settings: one set for every vehicle and sensor. Each names its unit, its default and where it comes from.
  ///
  /// "Fitted" constants were chosen on two drives together: a 100 Hz MEMS sensor with RTK positions for 9 minutes, and a
  /// 10 Hz sensor, as recorded and made worse on purpose, with urban positions for 59 minutes.
  public struct Parameters: Hashable, Sendable {
    // MARK: Inertial sensors

    /// Noise of the gyroscope at rest, rad/s/√Hz (3e-4: 0.017 °/s, twice a cheap data sheet's).
    public var gyroscopeNoise = 3e-4
    /// Noise of the accelerometer at rest, m/s²/√Hz (0.005: a cheap data sheet's with its quantization).
    public var accelerometerNoise = 0.005
    /// What the gyroscope's noise gains per rad/s between neighbouring samples, 1/√Hz (0.0075, fitted): vibration is
    /// aliased, and turns about several axes do not commute. Large trusts GNSS and wheels more on rough roads.
    public var gyroscopeVibration = 0.0075
    /// The same for the accelerometer per m/s² (0.008, fitted).
    public var accelerometerVibration = 0.008
    /// rad/s between neighbouring samples at which that noise has doubled its variance (0.15, fitted). A kerb or a joint of a bridge
    /// shakes faster than the sensor samples, and one such blow of 0.6 rad/s was seen to turn the attitude by 1°.
    public var gyroscopeShock = 0.15
    /// The same for the accelerometer, m/s² (3, fitted).
    public var accelerometerShock = 3.0
    /// Random walk of the gyroscope's bias, rad/s/√s (1.7e-5: 0.001 °/s, a chip that warms up).
    public var gyroscopeBiasWalk = 1.7e-5
    /// Random walk of the accelerometer's bias, m/s²/√s (4e-4, fitted).
    public var accelerometerBiasWalk = 4e-4
    /// What that gains per m/s² of vibration (3e-5, fitted): rectification.
    public var accelerometerBiasVibration = 3e-5
    /// Random walk of the gyroscope's scale, 1/√s (1e-6).
    public var gyroscopeScaleWalk = 1e-6

    // MARK: Mounting and clocks

    /// Random walk of the mounting, rad/√s (1.7e-5: half a degree in an hour and a half; a holder that settles).
    public var mountingWalk = 1.7e-5
    /// Random walk of the way to the rear axle, m/√s (1e-3).
    public var axleLeverWalk = 1e-3
    /// Random walk of the way to the antenna, m/√s (1e-4).
    public var antennaLeverWalk = 1e-4
    /// Random walk of the latencies, s/√s (1e-3): two clocks that part by 300 ppm stay within it.
    public var latencyWalk = 1e-3
    /// Random walk of the wheel speed's scale, 1/√s (2e-5: 0.1 % in 40 minutes, a tyre that warms up).
    public var speedScaleWalk = 2e-5

    // MARK: The vehicle

    /// m/s that a vehicle slips sideways on a straight road, one deviation (0.06, fitted).
    public var sideSlip = 0.06
    /// What that gains per m/s² across the road (0.03: tyres slip by 0.3° at 1 m/s² and 6 m/s, fitted).
    public var sideSlipInTurn = 0.03
    /// m/s up or down of the vehicle's plane (0.22, fitted): springs.
    public var heave = 0.22
    /// m/s of both per rad/s of turning (0.12 m that the axle's place is wrong by, fitted).
    public var slipByTurn = 0.12
    /// s between two applications of the constraint (0.2).
    public var constraintInterval = 0.2
    /// m/s at which wheel speed is wrong, one deviation (0.15: half a step of km/h).
    public var wheelSpeedDeviation = 0.15

    // MARK: GNSS

    /// Least deviation of a position by axis, m (0.08); twice as much in height.
    public var positionFloor = 0.08
    /// Factor on the deviation that the receiver states for a position (1.5): they state too little.
    public var positionFactor = 1.5
    /// Least deviation of a velocity by axis, m/s (0.08); 1.5 times as much upward.
    public var velocityFloor = 0.08
    /// s over which errors of precise positions are the same (0.5).
    public var positionCorrelation = 0.5
    /// The same where a receiver states more than 0.5 m (5): multipath and atmosphere (fitted).
    public var coarsePositionCorrelation = 5.0
    /// s over which errors of velocities are the same (0.3).
    public var velocityCorrelation = 0.3
    /// Squared deviations at which a measurement is refused (25: one in two million when all is well).
    public var gate = 25.0
    /// So many refused fixes in a row are believed after all (10).
    public var longestRefusal = 10
    /// Deviation of the latencies at the start, s (0.15); 0.1 for that of velocity.
    public var latencyPrior = 0.15

    // MARK: Stops

    /// Log-likelihood ratio from which the vehicle stands (5: one in 150).
    public var stopThreshold = 5.0
    /// s that this must hold (1.25, fitted). Small takes slow rolling for a stop.
    public var stopTime = 1.25
    /// m/s by which force may have accumulated against its mean at rest before the stop is over (0.12, fitted).
    public var startSpeed = 0.12
    /// m/s of a zero-velocity update (0.05).
    public var stopVelocity = 0.05
    /// rad/s of a zero-rate update (0.05 °/s): what a person getting in does to a car.
    public var stopRate = 0.05 * Double.pi / 180

    // MARK: Alignment

    /// Deviation of the yaw from which a start is believed, rad (8°).
    public var alignmentDeviation = 8 * Double.pi / 180
    /// By how much the best hypothesis must lead any that differs by more than 15°, log-likelihood (8: one in 3,000).
    public var alignmentLead = 8.0
    /// m/s that it needs at that moment (3).
    public var alignmentSpeed = 3.0
    /// s after which an undecided start begins anew (60).
    public var alignmentTime = 60.0

    // MARK: Bookkeeping

    /// s between two propagations of the covariance (0.1): at 0.05 and 0.2 the results are the same.
    public var covarianceInterval = 0.1
    /// s without inertial samples after which the attitude is found anew (3).
    public var longestGap = 3.0
    /// Factor on the filter's own deviation in the plane for the radius that is stated (1.2, fitted): a bump or a slip lasts,
    /// where the filter takes every moment for a new one.
    public var radiusFactor = 1.2
    /// m of the 95 % radius beyond which a position is of no more use (1,000).
    public var largestRadius = 1000.0

    public init() {}
  }
}
