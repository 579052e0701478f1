extension SimulatedDrive {
  /// The errors of an inertial sensor and of how it is shaken. The defaults are those of a good automotive MEMS
  /// chip in a passenger car; `ideal` has none.
  public struct InertialErrors: Hashable, Sendable {
    /// White noise of the accelerometer, m/s²/√Hz: the standard deviation of a sample at 100 Hz is 10 times it.
    public var accelerometerNoiseDensity = 0.001
    /// Standard deviation of the accelerometer's constant bias per axis, m/s².
    public var accelerometerBias = 0.04
    /// Standard deviation of what its bias wanders besides, m/s².
    public var accelerometerBiasWander = 0.01
    /// White noise of the gyroscope, rad/s/√Hz.
    public var gyroscopeNoiseDensity = 0.00007
    /// Standard deviation of the gyroscope's constant bias per axis, rad/s.
    public var gyroscopeBias = 0.004
    /// Standard deviation of what its bias wanders besides, rad/s.
    public var gyroscopeBiasWander = 0.0004
    /// In what time a bias forgets its wandering, s.
    public var biasCorrelationTime = 1200.0
    /// Shaking by the road at 15 m/s, m/s², root mean square of the vertical axis; grows with speed. Shared by
    /// the other two axes at 40 %.
    public var roadVibration = 0.35
    /// Rocking by the road at 15 m/s, rad/s, root mean square of pitch and roll.
    public var roadRocking = 0.006
    /// Amplitude of the engine's idling, m/s², at `idleFrequency`. It stops while the vehicle is parked.
    public var idleVibration = 0.05
    /// Hz: 26 is a four-cylinder engine at 780 revolutions per minute.
    public var idleFrequency = 26.0

    public init() {}

    /// Sensors that tell the truth.
    public static var ideal: InertialErrors {
      var errors = InertialErrors()
      errors.accelerometerNoiseDensity = 0
      errors.accelerometerBias = 0
      errors.accelerometerBiasWander = 0
      errors.gyroscopeNoiseDensity = 0
      errors.gyroscopeBias = 0
      errors.gyroscopeBiasWander = 0
      errors.roadVibration = 0
      errors.roadRocking = 0
      errors.idleVibration = 0
      return errors
    }
  }
}
