extension RegionMonitor {
  /// What is assumed about receivers and vehicles.
  public struct Settings: Hashable, Sendable {
    /// Metres at 68 %, for a fix that does not say. More delays decisions, less lets a bad fix decide. 25.
    public var unknownAccuracy = 25.0
    /// Metres at 68 %: no fix is believed to be better. 1.
    public var leastAccuracy = 1.0
    /// Metres per second over ground from which on a vehicle is surely moving. 2.
    public var movingSpeed = 2.0
    /// Metres per second squared by which the way between two fixes bends: how far from the straight line it may have
    /// led. 0 believes in the straight line. 0.2.
    public var bend = 0.2

    public init() {}
  }

  /// Evidence (see `RegionEvidence`) that changes a state while the vehicle moves: 99 % from one fix.
  static let evidenceInMotion = 2.0
  /// For the first decision about a region, and for what happened while nobody watched: 99.9 %.
  static let evidenceAtFirst = 3.0
  /// While it does not move, when a change can hardly be: seven standard deviations, or several fixes apart. Simulated days
  /// of noise, white or slow, at the boundary give no second change.
  static let evidenceAtRest = 12.0
  /// What a single fix must count then, 99.9 %; otherwise 1.
  static let leastEvidenceAtRest = 3.0
  /// Standard deviations beyond which a fix is certain.
  static let reach = 7.5
  /// Standard deviations of its own error by which a step between two fixes is surely a movement.
  static let significantStep = 7.0
  /// Seconds after the first fix for which states from before a restart wait for their regions.
  static let memorySpan = 3600.0
}
