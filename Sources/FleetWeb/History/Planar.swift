internal import FleetStore
internal import Glibc

/// Approximate distances between close positions.
enum Planar {
  /// Metres per degree on a sphere of the earth's mean radius, 6,371,008.8 m.
  static let degree = 111_195.08

  /// Returns the cosine of an angle in degrees.
  static func cosine(_ degrees: Double) -> Double { cos(degrees * .pi / 180) }

  /// Returns the distance in metres, accurate to 1 % within 100 km.
  static func distance(_ a: (latitude: Double, longitude: Double), _ b: (latitude: Double, longitude: Double))
    -> Double
  {
    let north = b.latitude - a.latitude
    var east = b.longitude - a.longitude
    if east > 180 { east -= 360 } else if east < -180 { east += 360 }
    east *= cosine((a.latitude + b.latitude) / 2)
    return (north * north + east * east).squareRoot() * degree
  }
}
