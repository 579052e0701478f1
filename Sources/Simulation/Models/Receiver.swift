extension SimulatedDrive {
  /// A simulated satellite receiver: its errors, how long it takes to find a fix, and when it loses it.
  public struct Receiver: Hashable, Sendable {
    /// Standard deviation of the slowly changing horizontal error, m per axis.
    public var horizontalError = 1.5
    /// Standard deviation of the slowly changing vertical error, m.
    public var verticalError = 3.0
    /// In what time these errors change, s.
    public var errorCorrelationTime = 60.0
    /// White noise on top, m per axis.
    public var positionNoise = 0.2
    /// White noise of the velocity, m/s per axis.
    public var velocityNoise = 0.08
    /// Below this speed no course is given, m/s.
    public var courseThreshold = 0.5
    /// From power to the first fix, s, without knowledge of the satellites' orbits.
    public var coldStart = 12.0
    /// From power to the first fix, s, when the last fix is younger than `hotStartLimit`.
    public var hotStart = 1.5
    /// For how long the known orbits hold, s.
    public var hotStartLimit = 7200.0
    /// From the sky's return after a tunnel to the next fix, s.
    public var reacquisition = 1.0
    /// Mean time between random losses of all signals, s; nil for none.
    public var meanTimeBetweenOutages: Double? = 900
    /// Shortest and longest random loss, s.
    public var outageDuration: ClosedRange<Double> = 4...25
    /// Height of the geoid over the ellipsoid, m.
    public var geoidHeight = 46.3
    /// What fixes give as their receiver.
    public var name = "simulated"

    public init() {}

    /// A receiver that tells the truth at once and always, save in tunnels.
    public static var ideal: Receiver {
      var receiver = Receiver()
      receiver.horizontalError = 0
      receiver.verticalError = 0
      receiver.positionNoise = 0
      receiver.velocityNoise = 0
      receiver.courseThreshold = 0.01
      receiver.coldStart = 0
      receiver.hotStart = 0
      receiver.reacquisition = 0
      receiver.meanTimeBetweenOutages = nil
      return receiver
    }
  }
}
