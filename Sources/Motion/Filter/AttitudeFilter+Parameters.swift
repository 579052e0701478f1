extension AttitudeFilter {
  /// The filter's parameters, each with unit, default and effect. The defaults describe inexpensive MEMS
  /// sensors; none was fitted to a recording.
  public struct Parameters: Hashable, Sendable {
    // MARK: The sensors

    /// Delay of the gyroscope's own low-pass filter in s. The attitude is extrapolated by this time. Nil uses
    /// one sample period, which is the delay of the usual digital low-pass at a quarter of the sample rate.
    /// It uses at most 5 ms, because chips that are read slowly do not filter more. If the value is too
    /// small, the attitude lags in fast rotation; if it is too large, the attitude leads.
    public var gyroscopeLatency: Double?
    /// Full scale of the gyroscope in rad/s; nil detects it from samples clipped at one largest value.
    public var gyroscopeRange: Double?
    /// Full scale of the accelerometer in m/s²; nil detects it from samples clipped at one largest value.
    public var accelerometerRange: Double?
    /// Noise of the gyroscope in rad/√s (0.05 °/√s), which causes a random walk of the attitude. Smaller
    /// values trust the gyroscope more than accelerometer and magnetometer.
    public var gyroscopeNoise = 0.05 * Double.pi / 180
    /// Attitude noise in rad/√s per rad/s of rotation rate (0.0007), caused by misalignment and nonlinearity.
    public var gyroscopeProportionalNoise = 0.0007
    /// Standard deviation of an axis' initial bias in rad/s (0.5 °/s). Larger biases are found at rest.
    public var biasPrior = 0.5 * Double.pi / 180
    /// Random walk of the bias in rad/s/√s (0.003 °/s). Smaller values average longer, larger ones follow
    /// temperature faster.
    public var biasWalk = 0.003 * Double.pi / 180
    /// Bias instability of an axis: standard deviation in rad/s (0.07 °/s) of bias changes with force and
    /// temperature. It affects only the reported deviation.
    public var biasInstability = 0.07 * Double.pi / 180
    /// Standard deviation of the scale error common to all gyroscope axes, including the error of the clock
    /// rate (0.01).
    public var commonScalePrior = 0.01
    /// Standard deviation of each gyroscope axis' own scale error, in addition to the common one (0.003).
    public var axisScalePrior = 0.003
    /// Noise of one magnetometer sample in µT (1).
    public var magnetometerNoise = 1.0
    /// Standard deviation of the magnetometer's delay in s (0.02).
    public var lagPrior = 0.02
    /// Expected hard iron of a calibrated device in µT (0.09). Larger values speed up a first calibration but
    /// mistake an uneven field for hard iron. The filter accepts larger iron only if the measured fields are
    /// inconsistent without it.
    public var hardIronPrior = 0.09
    /// Random walk of the hard iron in µT/√s (0.003).
    public var hardIronWalk = 0.003

    /// Bias of a calibrated accelerometer in m/s² per axis, standard deviation (0.1, about 10 mg). It affects
    /// only the reported deviation of the inclination.
    public var accelerometerDeviation = 0.1

    // MARK: The surroundings

    /// Deviation of the local mean field from the Earth's in µT, standard deviation (1): about 3° of heading.
    /// In rooms the field is 2° to 7° off and changes slowly with the location, so it does not average out. It
    /// affects only the reported deviation of the heading.
    public var surroundingsDeviation = 1.0
    /// Spatial variation of the field in µT (1.2). Larger values average the heading longer.
    public var disturbanceDeviation = 1.2
    /// Correlation time in s of the field's spatial variation while the device moves (1).
    public var disturbanceTime = 1.0
    /// Correlation time in s of the field's variation at rest, where only the surroundings change (60).
    public var disturbanceTimeAtRest = 60.0
    /// Random walk of the mean field in µT/√s (0.003).
    public var fieldWalk = 0.003
    /// Mean square disturbance, in units of `disturbanceDeviation`², above which iron on the device is
    /// suspected (1). Smaller values find iron sooner; larger values mistake an uneven field for iron less
    /// often.
    public var ironThreshold = 1.0

    // MARK: The motion

    /// Time constant in s of the motion model, in which velocity and position are bounded (0.5). Slower
    /// accelerations count as inclination. Use 0.3 ... 1 for hand-held and worn devices, and larger values
    /// for long accelerations.
    public var motionTime = 0.5
    /// Smallest acceleration noise of one block in m/s² (0.03).
    public var accelerationFloor = 0.03
    /// Correlation time of accelerations in blocks (5). Larger values rely on the gyroscope longer.
    public var accelerationCorrelation = 5.0
    /// Time constant in s of the estimated strength of accelerations (2).
    public var accelerationMemory = 2.0

    // MARK: Rest

    /// Largest change of the rotation rate at rest, in rad/s (2 °/s).
    public var restRate = 2 * Double.pi / 180
    /// Largest change of the specific force at rest, in m/s² (0.5).
    public var restForce = 0.5
    /// Time in s after which constant readings count as rest (1.5).
    public var restTime = 1.5

    // MARK: Bookkeeping

    /// Length in s of the blocks in which measurements are combined (0.1). Smaller values cost computing
    /// time, larger ones lose detail. Accuracy is the same from 0.05 to 0.1.
    public var blockTime = 0.1
    /// Gap in gyroscope samples, in s, after which the attitude is realigned (2).
    public var longestGap = 2.0

    public init() {}
  }
}
