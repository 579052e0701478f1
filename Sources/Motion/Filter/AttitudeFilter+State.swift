public import Spatial

extension AttitudeFilter {
  /// Conditions detected by the filter.
  public struct Flags: Hashable, Sendable {
    /// True during alignment: at the start, after a long gap, or after gravity contradicted the attitude.
    public var isAligning = true
    /// True if gyroscope and accelerometer have been constant for `restTime`.
    public var isAtRest = false
    /// True if the field differs from the mean field by more than usual.
    public var isMagneticallyDisturbed = false
    /// True while the gyroscope is at the end of its range.
    public var isGyroscopeSaturated = false
    /// True while the accelerometer is at the end of its range.
    public var isAccelerometerSaturated = false
    /// True if the gyroscope repeats one value while other sensors vary. It then has little weight.
    public var isGyroscopeStuck = false
    /// True if the accelerometer repeats one value while other sensors vary. It is then not used.
    public var isAccelerometerStuck = false
    /// True if the magnetometer repeats one value while other sensors vary. Repeated values are never used.
    public var isMagnetometerStuck = false
    /// True if the initial calibration contradicted the samples and was discarded.
    public var hasDiscardedCalibration = false
  }

  /// Counts of irregular samples and of realignments since the start.
  public struct Counters: Hashable, Sendable {
    /// Number of samples at the end of a sensor's range.
    public var saturated = 0
    /// Intervals without gyroscope samples that were interpolated.
    public var gaps = 0
    /// Isolated gyroscope samples far from their neighbours, which were ignored.
    public var outliers = 0
    /// Number of realignments.
    public var realignments = 0
  }

  /// Estimates besides the attitude, with the filter's standard deviations.
  public struct State: Hashable, Sendable {
    /// Bias in rad/s, device frame; to be subtracted from gyroscope readings.
    public var gyroscopeBias: Vector3
    /// Standard deviation of the bias in rad/s, device frame.
    public var gyroscopeBiasDeviation: Vector3
    /// Relative scale error, device frame: 0.01 if the gyroscope integrates 1 % too much.
    public var gyroscopeScaleError: Vector3
    /// Hard iron in µT, device frame; to be subtracted from magnetometer readings.
    public var hardIron: Vector3
    /// Standard deviation of the hard iron in µT, device frame.
    public var hardIronDeviation: Vector3
    /// Soft iron correction added to the unit matrix: elements xx, yy, zz; zero until it is reliably
    /// observed.
    public var softIronDiagonal: Vector3
    /// Soft iron correction: elements xy, xz, yz.
    public var softIronOffDiagonal: Vector3
    /// Delay of the magnetometer relative to the gyroscope in s.
    public var magnetometerLag: Double
    /// Standard deviation of the delay in s.
    public var magnetometerLagDeviation: Double
    /// Mean field in µT, in east, magnetic north, up; its east component is zero. Nil before the first
    /// magnetometer sample.
    public var field: Vector3?
    /// Root mean square error of the vertical's direction in rad.
    public var inclinationDeviation: Double
    /// Standard deviation of the heading in rad; nil before the first magnetometer sample.
    public var headingDeviation: Double?
    /// Bound of the heading error in rad, derived from the device's rotations, including its own magnetism,
    /// which `headingDeviation` assumes to be small. π before the device was rotated; nil before the first
    /// magnetometer sample.
    public var headingBound: Double?

    /// Mean scale error of the axes, which contains the clock rate error of the gyroscope: 0.02 if its time
    /// stamps run 2 % fast.
    public var clockRateError: Double {
      (gyroscopeScaleError.x + gyroscopeScaleError.y + gyroscopeScaleError.z) / 3
    }
  }
}
