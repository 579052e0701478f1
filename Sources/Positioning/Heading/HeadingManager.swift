public import Motion
internal import Sensors
internal import Spatial

/// Decides which headings are worth telling.
public struct HeadingManager: Sendable {
  /// Degrees that the heading must turn from the last one told; nil tells every one.
  public var headingFilter: Double?
  /// Degrees by which magnetic north lies east of true north here; nil when unknown.
  public var declination: Double?

  /// The newest heading told; nil before the first.
  public private(set) var heading: Heading?

  public init(headingFilter: Double? = nil) {
    self.headingFilter = headingFilter
  }

  /// Takes the state of the motion; returns the heading when it is to be told.
  public mutating func process(_ motion: MotionManager) -> Heading? {
    guard let magnetic = motion.magneticHeading, let timestamp = motion.gyroData?.timestamp else {
      return nil
    }
    if let headingFilter, let heading,
      abs(signedDegrees(from: heading.magneticHeading, to: magnetic)) < headingFilter
    {
      return nil
    }
    let told = Heading(
      timestamp: timestamp, magneticHeading: magnetic,
      trueHeading: declination.map { normalizedDegrees(magnetic + $0) },
      headingAccuracy: motion.headingAccuracy)
    heading = told
    return told
  }
}
