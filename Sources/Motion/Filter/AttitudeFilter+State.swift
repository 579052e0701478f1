public import Spatial

extension AttitudeFilter {
  /// What the filter has noticed.
  public struct Flags: Hashable, Sendable {
    /// The attitude is still being found: at the start, after a long gap, or when gravity contradicted it.
    public var isAligning = true
    /// Gyroscope and accelerometer have been constant for `restTime`.
    public var isAtRest = false
    /// The field differs from the mean field by more than is usual.
    public var isMagneticallyDisturbed = false
    /// The gyroscope is at the end of its range now.
    public var isGyroscopeSaturated = false
    /// The accelerometer is at the end of its range now.
    public var isAccelerometerSaturated = false
    /// The gyroscope repeats one value while other sensors vary; it is then hardly trusted.
    public var isGyroscopeStuck = false
    /// The accelerometer repeats one value while others vary; it is then not used.
    public var isAccelerometerStuck = false
    /// The magnetometer repeats one value while others vary; repeated values are never used.
    public var isMagnetometerStuck = false
    /// A calibration given at the start contradicted the samples and was discarded.
    public var hasDiscardedCalibration = false
  }

  /// How many samples were not used as they came, since the start.
  public struct Counters: Hashable, Sendable {
    /// At the end of the range.
    public var saturated = 0
    /// Intervals without gyroscope samples that were interpolated.
    public var gaps = 0
    /// Of the gyroscope, one alone far from its neighbours: left out.
    public var outliers = 0
    /// Times the attitude was found anew.
    public var realignments = 0
  }

  /// The estimates besides the attitude, with their standard deviations as the filter sees them.
  public struct State: Hashable, Sendable {
    /// rad/s, device frame; to be subtracted from the gyroscope.
    public var gyroscopeBias: Vector3
    /// rad/s, device frame.
    public var gyroscopeBiasDeviation: Vector3
    /// Relative, device frame: 0.01 where the gyroscope integrates 1 % too much.
    public var gyroscopeScaleError: Vector3
    /// µT, device frame; to be subtracted from the magnetometer.
    public var hardIron: Vector3
    /// µT, device frame.
    public var hardIronDeviation: Vector3
    /// What is added to the unit matrix to undo soft iron: xx, yy, zz; zero until it is beyond doubt.
    public var softIronDiagonal: Vector3
    /// The same: xy, xz, yz.
    public var softIronOffDiagonal: Vector3
    /// Delay of the magnetometer against the gyroscope, s.
    public var magnetometerLag: Double
    /// s
    public var magnetometerLagDeviation: Double
    /// The mean field, µT, east-north-up with magnetic north: its east component is zero. Nil before the first
    /// magnetometer sample.
    public var field: Vector3?
    /// rad, root mean square of the angle between the estimated vertical and the true one.
    public var inclinationDeviation: Double
    /// rad; nil before the first magnetometer sample.
    public var headingDeviation: Double?
    /// rad, within which the heading is right by what rotations have shown of the device's own magnetism, which
    /// `headingDeviation` takes for small; half a turn before the device was turned, nil before the first magnetometer
    /// sample.
    public var headingBound: Double?

    /// What the scale errors of the axes have in common, to which an error of the gyroscope's clock contributes fully:
    /// 0.02 for time stamps that run 2 % fast.
    public var clockRateError: Double {
      (gyroscopeScaleError.x + gyroscopeScaleError.y + gyroscopeScaleError.z) / 3
    }
  }
}
