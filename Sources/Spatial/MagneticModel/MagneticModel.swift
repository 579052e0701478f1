internal import Glibc

/// The World Magnetic Model 2025: the field of the earth's core at a position and time.
///
/// Degree and order 12, valid from 2025.0 to 2030.0. Equation numbers refer to A. Chulliat et al., "The US/UK
/// World Magnetic Model for 2025–2030", NOAA/NCEI Technical Report (unchanged since the report of 2010). The
/// model excludes local sources such as iron, cables and rock.
///
/// One evaluation takes about a microsecond and allocates no memory.
public struct MagneticModel: Sendable {
  /// The built-in model.
  public static let wmm2025 = MagneticModel(epoch: 2025, lifetime: 5, coefficients: wmm2025Coefficients)

  /// The decimal year of the coefficients, which is also the first valid date.
  public let epoch: Double
  /// The decimal year from which the model is expired.
  public var expiry: Double { epoch + lifetime }

  private let lifetime: Double
  private let terms: [Term]
  private let order: Int

  init(
    epoch: Double, lifetime: Double,
    coefficients: [(n: Int, m: Int, g: Double, h: Double, gDot: Double, hDot: Double)]
  ) {
    self.epoch = epoch
    self.lifetime = lifetime
    terms = coefficients.map(Term.init)
    order = coefficients.reduce(0) { max($0, $1.m) }
  }

  /// Returns the field at a position and civil time.
  ///
  /// - Parameter altitude: metres above the WGS 84 ellipsoid; the model is designed for -10,000 ... 850,000.
  /// - Returns: nil for an invalid coordinate, or for an altitude that is not finite or below the earth's
  ///   core.
  public func field(at coordinate: Coordinate, altitude: Double = 0, time: UTCTime) -> GeomagneticField? {
    field(at: coordinate, altitude: altitude, decimalYear: time.decimalYear)
  }

  /// Returns the field at a position and a decimal year, such as 2027.5.
  ///
  /// Outside its five years the model is extrapolated with its last secular variation, and the result has
  /// `isExpired` set. `GeomagneticField.declinationUncertainty` includes the error of the extrapolation.
  public func field(
    at coordinate: Coordinate, altitude: Double = 0, decimalYear: Double
  ) -> GeomagneticField? {
    guard coordinate.isValid, altitude.isFinite, altitude > -2_000_000, decimalYear.isFinite else {
      return nil
    }
    // A longer extrapolation is meaningless; the limit guards against a clock that was never set.
    let years = max(-25, min(25, decimalYear - epoch))

    // Geodetic to geocentric, eq. 7 and 8.
    let latitude = coordinate.latitude.radians
    let transverse = WGS84.transverseRadius(latitude: coordinate.latitude)
    let axisDistance = (transverse + altitude) * cos(latitude)
    let equatorDistance = (transverse * (1 - WGS84.eccentricitySquared) + altitude) * sin(latitude)
    let radius = (axisDistance * axisDistance + equatorDistance * equatorDistance).squareRoot()
    let place = GeocentricPosition(
      sine: equatorDistance / radius, cosine: max(0, axisDistance / radius),
      longitude: coordinate.longitude.radians, ratio: Self.referenceRadius / radius)

    // Rotates the result to the directions of the ellipsoid, eq. 17.
    let tilt = atan2(place.sine, place.cosine) - latitude
    let yearsOutside = max(0, decimalYear - expiry, epoch - decimalYear)
    return GeomagneticField(
      nanotesla: Self.turned(synthesize(at: place, years: years), by: tilt),
      isExpired: decimalYear >= expiry || decimalYear < epoch, yearsOutside: yearsOutside)
  }

  /// The geomagnetic reference radius in metres.
  private static let referenceRadius = 6_371_200.0

  private static func turned(_ v: Vector3, by angle: Double) -> Vector3 {
    let (s, c) = (sin(angle), cos(angle))
    return Vector3(v.x * c - v.z * s, v.y, v.x * s + v.z * c)
  }

  /// Sums the series, eq. 9 to 12. Returns north, east and down in geocentric directions, nT.
  ///
  /// The associated Legendre functions contain the factor cos^m of the latitude. One of these factors is
  /// omitted from every function of order m > 0. The division by the cosine in the east component and in the
  /// derivative is then unnecessary, and the poles need no special case.
  private func synthesize(at place: GeocentricPosition, years: Double) -> Vector3 {
    var sum = Vector3.zero
    let (sinLongitude, cosLongitude) = (sin(place.longitude), cos(place.longitude))
    var (sinOrder, cosOrder) = (0.0, 1.0)
    var diagonal = 1.0  // P(m, m), divided by one cosine if m > 0
    var columnPower = place.ratio * place.ratio  // (a / r)^(m + 2)
    var index = 0
    for m in 0...order {
      if m > 0 {
        (sinOrder, cosOrder) = (
          sinOrder * cosLongitude + cosOrder * sinLongitude, cosOrder * cosLongitude - sinOrder * sinLongitude
        )
        columnPower *= place.ratio
      }
      if m > 1 { diagonal *= place.cosine * (1 - 0.5 / Double(m)).squareRoot() }
      var (before, current) = (0.0, diagonal)
      var slope = 0.0  // derivative of P(n, 0) by the sine
      var power = columnPower
      while index < terms.count, terms[index].m == m {
        let term = terms[index]
        index += 1
        if term.n > m {
          let next = term.a * place.sine * current - term.b * before
          slope = place.sine * slope + Double(term.n) * current
          (before, current) = (current, next)
          power *= place.ratio
        }
        let (function, derivative): (Double, Double)
        if m == 0 {
          (function, derivative) = (current, place.cosine * slope)
        } else {
          function = current * place.cosine
          derivative = term.c * before - Double(term.n) * place.sine * current
        }
        let g = term.g + years * term.gDot
        let h = term.h + years * term.hDot
        let order = Double(m)
        let basis = Vector3(
          -derivative * power, order * current * power, -Double(term.n + 1) * function * power)
        sum +=
          basis
          * Vector3(g * cosOrder + h * sinOrder, g * sinOrder - h * cosOrder, g * cosOrder + h * sinOrder)
      }
    }
    return sum
  }
}

/// A position in geocentric terms.
private struct GeocentricPosition {
  let sine: Double
  let cosine: Double
  let longitude: Double
  /// The reference radius divided by the distance from the earth's centre.
  let ratio: Double
}

/// The coefficients of one degree and order, with the factors of its recursions for Schmidt's
/// semi-normalization.
private struct Term: Sendable {
  let n: Int
  let m: Int
  let g: Double
  let h: Double
  let gDot: Double
  let hDot: Double
  let a: Double
  let b: Double
  let c: Double

  init(_ coefficient: (n: Int, m: Int, g: Double, h: Double, gDot: Double, hDot: Double)) {
    (n, m, g, h, gDot, hDot) = coefficient
    let (degree, order) = (Double(n), Double(m))
    c = (degree * degree - order * order).squareRoot()
    a = c > 0 ? (2 * degree - 1) / c : 0
    b = c > 0 ? max(0, (degree - 1) * (degree - 1) - order * order).squareRoot() / c : 0
  }
}
