internal import Glibc

/// The WGS 84 ellipsoid.
public enum WGS84 {
  /// Semi-major axis, m.
  public static let semiMajorAxis = 6_378_137.0
  /// Flattening.
  public static let flattening = 1 / 298.257223563
  /// Semi-minor axis, m.
  public static let semiMinorAxis = semiMajorAxis * (1 - flattening)
  /// First eccentricity squared.
  public static let eccentricitySquared = flattening * (2 - flattening)

  /// Radius of curvature in the meridian at a latitude (degrees), m.
  public static func meridionalRadius(latitude: Double) -> Double {
    let s = sin(latitude.radians)
    let d = 1 - eccentricitySquared * s * s
    return semiMajorAxis * (1 - eccentricitySquared) / (d * d.squareRoot())
  }

  /// Radius of curvature in the prime vertical at a latitude (degrees), m.
  public static func transverseRadius(latitude: Double) -> Double {
    let s = sin(latitude.radians)
    return semiMajorAxis / (1 - eccentricitySquared * s * s).squareRoot()
  }
}

extension Coordinate {
  /// Returns the distance along the geodesic in metres.
  ///
  /// T. Vincenty, "Direct and inverse solutions of geodesics on the ellipsoid" (1975), accurate to 0.5 mm.
  /// For nearly antipodal pairs, where the iteration does not converge, it returns the great circle on the
  /// mean sphere (0.5 %).
  public func distance(to other: Coordinate) -> Double {
    geodesic(to: other).distance
  }

  /// Distance (m) and initial bearing (degrees clockwise from north) of the geodesic to another position.
  public func geodesic(to other: Coordinate) -> (distance: Double, bearing: Double) {
    if self == other { return (0, 0) }
    let f = WGS84.flattening
    let u1 = atan((1 - f) * tan(latitude.radians))
    let u2 = atan((1 - f) * tan(other.latitude.radians))
    let l = signedDegrees(from: longitude, to: other.longitude).radians
    let (sinU1, cosU1, sinU2, cosU2) = (sin(u1), cos(u1), sin(u2), cos(u2))
    var lambda = l
    for _ in 0..<100 {
      let (sinLambda, cosLambda) = (sin(lambda), cos(lambda))
      let p = cosU2 * sinLambda
      let q = cosU1 * sinU2 - sinU1 * cosU2 * cosLambda
      let sinSigma = (p * p + q * q).squareRoot()
      if sinSigma == 0 { return (0, 0) }
      let cosSigma = sinU1 * sinU2 + cosU1 * cosU2 * cosLambda
      let sigma = atan2(sinSigma, cosSigma)
      let sinAlpha = cosU1 * cosU2 * sinLambda / sinSigma
      let cosSqAlpha = 1 - sinAlpha * sinAlpha
      let cos2SigmaM = cosSqAlpha > 1e-15 ? cosSigma - 2 * sinU1 * sinU2 / cosSqAlpha : 0
      let c = f / 16 * cosSqAlpha * (4 + f * (4 - 3 * cosSqAlpha))
      let previous = lambda
      lambda =
        l + (1 - c) * f * sinAlpha
        * (sigma + c * sinSigma * (cos2SigmaM + c * cosSigma * (2 * cos2SigmaM * cos2SigmaM - 1)))
      if abs(lambda) > .pi { break }
      guard abs(lambda - previous) < 1e-13 else { continue }
      let series = VincentySeries(cosSqAlpha: cosSqAlpha)
      let deltaSigma = series.delta(sinSigma, cosSigma, cos2SigmaM)
      let bearing = atan2(
        cosU2 * sin(lambda), cosU1 * sinU2 - sinU1 * cosU2 * cos(lambda))
      return (WGS84.semiMinorAxis * series.a * (sigma - deltaSigma), normalizedDegrees(bearing.degrees))
    }
    return greatCircle(to: other)
  }

  /// Returns the end point of a geodesic of `distance` metres with the initial bearing `bearing` (degrees
  /// clockwise from true north). Uses Vincenty's direct solution (1975).
  public func destination(distance: Double, bearing: Double) -> Coordinate {
    let (f, b) = (WGS84.flattening, WGS84.semiMinorAxis)
    let (sinAlpha1, cosAlpha1) = (sin(bearing.radians), cos(bearing.radians))
    let tanU1 = (1 - f) * tan(latitude.radians)
    let cosU1 = 1 / (1 + tanU1 * tanU1).squareRoot()
    let sinU1 = tanU1 * cosU1
    let sigma1 = atan2(tanU1, cosAlpha1)
    let sinAlpha = cosU1 * sinAlpha1
    let cosSqAlpha = 1 - sinAlpha * sinAlpha
    let series = VincentySeries(cosSqAlpha: cosSqAlpha)
    var sigma = distance / (b * series.a)
    var cos2SigmaM = cos(2 * sigma1 + sigma)
    for _ in 0..<100 {
      cos2SigmaM = cos(2 * sigma1 + sigma)
      let previous = sigma
      sigma = distance / (b * series.a) + series.delta(sin(sigma), cos(sigma), cos2SigmaM)
      if abs(sigma - previous) < 1e-14 { break }
    }
    let (sinSigma, cosSigma) = (sin(sigma), cos(sigma))
    let t = sinU1 * sinSigma - cosU1 * cosSigma * cosAlpha1
    let latitude2 = atan2(
      sinU1 * cosSigma + cosU1 * sinSigma * cosAlpha1,
      (1 - f) * (sinAlpha * sinAlpha + t * t).squareRoot())
    let lambda = atan2(sinSigma * sinAlpha1, cosU1 * cosSigma - sinU1 * sinSigma * cosAlpha1)
    let c = f / 16 * cosSqAlpha * (4 + f * (4 - 3 * cosSqAlpha))
    let l =
      lambda
      - (1 - c) * f * sinAlpha
      * (sigma + c * sinSigma * (cos2SigmaM + c * cosSigma * (2 * cos2SigmaM * cos2SigmaM - 1)))
    return Coordinate(
      latitude: latitude2.degrees, longitude: signedDegrees(from: 0, to: longitude + l.degrees))
  }

  private func greatCircle(to other: Coordinate) -> (distance: Double, bearing: Double) {
    let (phi1, phi2) = (latitude.radians, other.latitude.radians)
    let l = signedDegrees(from: longitude, to: other.longitude).radians
    let (sinHalfPhi, sinHalfL) = (sin((phi2 - phi1) / 2), sin(l / 2))
    let h = sinHalfPhi * sinHalfPhi + cos(phi1) * cos(phi2) * sinHalfL * sinHalfL
    let bearing = atan2(
      sin(l) * cos(phi2), cos(phi1) * sin(phi2) - sin(phi1) * cos(phi2) * cos(l))
    let meanRadius = (2 * WGS84.semiMajorAxis + WGS84.semiMinorAxis) / 3
    return (2 * meanRadius * asin(min(1, h.squareRoot())), normalizedDegrees(bearing.degrees))
  }
}

/// Vincenty's series in the squared second eccentricity of the geodesic's great ellipse.
private struct VincentySeries {
  let a: Double
  private let b: Double

  init(cosSqAlpha: Double) {
    let (major, minor) = (WGS84.semiMajorAxis, WGS84.semiMinorAxis)
    let uSq = cosSqAlpha * (major * major - minor * minor) / (minor * minor)
    a = 1 + uSq / 16384 * (4096 + uSq * (-768 + uSq * (320 - 175 * uSq)))
    b = uSq / 1024 * (256 + uSq * (-128 + uSq * (74 - 47 * uSq)))
  }

  func delta(_ sinSigma: Double, _ cosSigma: Double, _ cos2SigmaM: Double) -> Double {
    let m = cos2SigmaM * cos2SigmaM
    return b * sinSigma
      * (cos2SigmaM + b / 4
        * (cosSigma * (2 * m - 1)
          - b / 6 * cos2SigmaM * (4 * sinSigma * sinSigma - 3) * (4 * m - 3)))
  }
}
