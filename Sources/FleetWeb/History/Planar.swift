internal import FleetStore
internal import Glibc

/// Distances of places that are near one another.
enum Planar {
  /// Metres of a degree on a sphere of the Earth's mean radius, 6,371,008.8 m.
  static let degree = 111_195.08

  /// Of degrees.
  static func cosine(_ degrees: Double) -> Double { cos(degrees * .pi / 180) }

  /// Metres between two places, good to a percent within 100 km.
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
