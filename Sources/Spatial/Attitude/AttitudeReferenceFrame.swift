/// The frame in which an attitude is expressed. In each of them z points up, and the frame is right-handed.
///
/// Descriptions of the north frames disagree by 90° about where yaw is zero. Ours follows their names: the *x axis*
/// points north (and so y points west), and yaw is zero where the *device's x axis*, its right side, points north. A
/// flat device then reads:
///
/// | top (y), a vehicle's front, points | right side (x) points | yaw | heading of the top |
/// | --- | --- | --- | --- |
/// | west | north | 0 | 270° |
/// | north | east | -π/2 | 0° |
/// | east | south | ±π | 90° |
/// | south | west | π/2 | 180° |
///
/// So the heading of the top is `270° - yaw`. `Attitude.heading` computes it for any attitude.
public enum AttitudeReferenceFrame: String, Hashable, Sendable, CaseIterable {
  /// x points in an arbitrary horizontal direction, which drifts with the gyroscope.
  case xArbitraryZVertical
  /// x points in an arbitrary horizontal direction, held by the magnetometer against drift.
  case xArbitraryCorrectedZVertical
  /// x points to magnetic north, so y points to magnetic west.
  case xMagneticNorthZVertical
  /// x points to true north, so y points to true west. Needs a location for the declination.
  case xTrueNorthZVertical

  /// Whether x points north, so that an attitude in this frame has a heading.
  public var hasNorth: Bool {
    switch self {
    case .xArbitraryZVertical, .xArbitraryCorrectedZVertical: false
    case .xMagneticNorthZVertical, .xTrueNorthZVertical: true
    }
  }

  /// Whether it takes a magnetometer.
  public var needsMagnetometer: Bool { self != .xArbitraryZVertical }
}
