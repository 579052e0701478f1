extension AttitudeFilter {
  /// The settings. Each names its unit, its default and what small and large values do. The defaults describe
  /// inexpensive MEMS sensors; none was fitted to a recording.
  public struct Parameters: Hashable, Sendable {
    // MARK: The sensors

    /// Delay of the gyroscope's own low-pass filter, s; nil takes one sample period, which is that of the usual
    /// digital low-pass at a quarter of the sample rate, and at most 5 ms: a chip that is read slowly does not filter more. The attitude is predicted by it, so that it belongs to the
    /// time it is asked for. Too small: the attitude trails in fast rotation. Too large: it leads.
    public var gyroscopeLatency: Double?
    /// Full scale of the gyroscope, rad/s; nil finds it from samples that stick to one largest value.
    public var gyroscopeRange: Double?
    /// Full scale of the accelerometer, m/s²; nil finds it as above.
    public var accelerometerRange: Double?
    /// Noise of the gyroscope that adds up to a random walk of the attitude, rad/√s (0.05 °). Small trusts the gyroscope
    /// against accelerometer and magnetometer.
    public var gyroscopeNoise = 0.05 * Double.pi / 180
    /// What the attitude loses per √s for each rad/s of rotation: misalignment and nonlinearity (0.0007).
    public var gyroscopeProportionalNoise = 0.0007
    /// How far the bias of an axis may be off at the start, rad/s, one deviation (0.5 °/s); rest finds much larger ones.
    public var biasPrior = 0.5 * Double.pi / 180
    /// Random walk of the bias, rad/s/√s (0.003 °/s). Small averages longer, large follows temperature faster.
    public var biasWalk = 0.003 * Double.pi / 180
    /// What keeps the bias of an axis from being known better, rad/s, one deviation (0.07 °/s): it moves with forces and warmth. It
    /// changes nothing but the stated deviation.
    public var biasInstability = 0.07 * Double.pi / 180
    /// Deviation of the scale that all gyroscope axes share; the rate of their clock is part of it (0.01).
    public var commonScalePrior = 0.01
    /// Deviation of the scale of each axis besides (0.003).
    public var axisScalePrior = 0.003
    /// Noise of one magnetometer sample, µT (1).
    public var magnetometerNoise = 1.0
    /// Deviation of the magnetometer's delay from zero, s (0.02).
    public var lagPrior = 0.02
    /// Hard iron expected of a calibrated device, µT (0.12). Larger values learn a first calibration faster, but take an
    /// uneven field for hard iron. Iron beyond it is admitted when the field contradicts itself.
    public var hardIronPrior = 0.12
    /// Random walk of the hard iron, µT/√s (0.003).
    public var hardIronWalk = 0.003

    /// Bias of a calibrated accelerometer, m/s² per axis, one deviation (0.1, some 10 mg). It changes nothing but the stated deviation of
    /// the inclination.
    public var accelerometerDeviation = 0.1

    // MARK: The surroundings

    /// How much the mean field where the device is used differs from the earth's, µT, one deviation (0.3): it stays and does not
    /// average out. It changes nothing but the stated deviation of the heading.
    public var surroundingsDeviation = 0.3
    /// How much the field deviates from place to place, µT (1.2). Large values average the heading longer.
    public var disturbanceDeviation = 1.2
    /// Time over which that deviation changes in motion, s (1).
    public var disturbanceTime = 1.0
    /// The same at rest, where only the surroundings change, s (60).
    public var disturbanceTimeAtRest = 60.0
    /// Random walk of the mean field, µT/√s (0.003).
    public var fieldWalk = 0.003
    /// Mean square of the disturbance in units of `disturbanceDeviation`², from which iron on the device is considered
    /// (1). Small finds it sooner, large mistakes an uneven field for it less often.
    public var ironThreshold = 1.0

    // MARK: The motion

    /// Time constant of the motion model in which neither velocity nor position can grow, s (0.5): acceleration slower
    /// than this is taken for inclination. Hand-held and worn devices 0.3 ... 1; large values suit long accelerations.
    public var motionTime = 0.5
    /// Least acceleration noise in one block, m/s² (0.03).
    public var accelerationFloor = 0.03
    /// How much longer than a block accelerations keep their direction (5). Large relies on the gyroscope longer.
    public var accelerationCorrelation = 5.0
    /// Memory of the estimate of how strong accelerations are, s (2).
    public var accelerationMemory = 2.0

    // MARK: Rest

    /// Greatest change of the rate at rest, rad/s (2 °/s).
    public var restRate = 2 * Double.pi / 180
    /// Greatest change of the specific force at rest, m/s² (0.5).
    public var restForce = 0.5
    /// How long that must hold, s (1.5).
    public var restTime = 1.5

    // MARK: Bookkeeping

    /// Length of the blocks in which measurements are combined, s (0.1). Small costs time, large loses detail; accuracy
    /// is the same from 0.05 to 0.1.
    public var blockTime = 0.1
    /// Gap in the gyroscope's samples after which the attitude is found anew, s (2).
    public var longestGap = 2.0

    public init() {}
  }
}
