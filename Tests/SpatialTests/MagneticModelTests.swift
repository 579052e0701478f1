import Foundation
import Spatial
import TestSupport
import Testing

@Suite struct MagneticModelTests {
  private static let model = MagneticModel.wmm2025

  /// Official test values (selection; public domain): year, altitude (km), latitude, longitude, X Y Z H F (nT), I D
  /// (°), grid variation, yearly changes.
  private static let officialRows: [[Double]] = [
    [
      2025, 0, 80, 0, 6521.6, 145.9, 54791.5, 6523.2, 55178.5, 83.21, 1.28, 1.28, -8.3, 59.5, 31.1, -7.0,
      30.1,
      0.01, 0.52,
    ],
    [
      2025, 100, 0, 120, 37688.6, -96.2, -10152.1, 37688.7, 39032.1, -15.08, -0.15, .nan, 9.2, -21.0, 72.9,
      9.2,
      -10.0, 0.11, -0.03,
    ],
    [
      2027.5, 100, -80, 240, 5984.0, 14760.1, -49317.7, 15927.0, 51825.7, -72.10, 67.93, -52.07, 30.6, -8.0,
      89.2,
      4.0, -83.7, 0.03, -0.11,
    ],
  ]

  @Test func matchesSomeOfficialValues() throws {
    for row in Self.officialRows { try Self.check(row) }
  }

  @Test(.needs(.recordings("wmm"))) func matchesAllTwelveOfficialValues() throws {
    let text = try Shared.text("data/wmm/test-values-12.txt")
    let rows = text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map {
      $0.split(separator: " ").compactMap { Double($0) }
    }
    #expect(rows.count == 12)
    for row in rows { try Self.check(row) }
  }

  private static func check(_ row: [Double]) throws {
    try #require(row.count == 19)
    let field = try #require(
      model.field(
        at: Coordinate(latitude: row[2], longitude: signedDegrees(from: 0, to: row[3])),
        altitude: row[1] * 1000, decimalYear: row[0]))
    let v = field.northEastDown * 1000
    let values = [
      v.x, v.y, v.z, field.horizontalIntensity * 1000, field.totalIntensity * 1000, field.inclination,
      field.declination,
    ]
    let decimals = [1, 1, 1, 1, 1, 2, 2]
    for (index, (value, places)) in zip(values, decimals).enumerated() {
      let expected = row[index + 4]
      // Published values are rounded: the tolerance is half of the last digit.
      let tolerance = 0.5 * pow(10, -Double(places)) + 1e-9
      #expect(
        abs(value - expected) <= tolerance,
        "field \(index + 5): \(value) is not \(expected)")
    }
    #expect(!field.isExpired)
  }

  @Test(arguments: [
    (2024.999, true), (2025.0, false), (2029.999, false), (2030.0, true), (2035.0, true), (1970.0, true),
  ])
  func reportsExpiry(year: Double, isExpired: Bool) throws {
    let place = Coordinate(latitude: 48, longitude: 11)
    let field = try #require(Self.model.field(at: place, decimalYear: year))
    #expect(field.isExpired == isExpired)
    #expect(field.declination.isFinite)
    let fresh = try #require(Self.model.field(at: place, decimalYear: 2027))
    #expect(
      (field.declinationUncertainty > fresh.declinationUncertainty + 1e-3) == (abs(year - 2027.5) > 2.6))
  }

  @Test func theFieldIsContinuousAtThePoles() throws {
    for pole in [90.0, -90.0] {
      for longitude in stride(from: -180.0, through: 180, by: 30) {
        let at = try #require(
          Self.model.field(at: Coordinate(latitude: pole, longitude: longitude), decimalYear: 2026))
        let near = try #require(
          Self.model.field(
            at: Coordinate(latitude: pole * (1 - 1e-9), longitude: longitude), decimalYear: 2026))
        #expect((at.northEastDown - near.northEastDown).length < 1e-4)
        // The horizontal field is the same vector along any meridian.
        #expect(abs(at.horizontalIntensity - (pole > 0 ? 1.83 : 16.8)) < 0.3, "\(at.horizontalIntensity)")
        #expect(at.declinationUncertainty <= 180)
      }
    }
  }

  /// The field has neither curl nor divergence where no current flows. This check over a small cube finds any wrong term,
  /// sign or frame anywhere on Earth.
  @Test func theFieldHasNeitherCurlNorDivergence() throws {
    func cartesian(_ latitude: Double, _ longitude: Double, _ altitude: Double) throws -> Vector3 {
      let field = try #require(
        Self.model.field(
          at: Coordinate(latitude: latitude, longitude: longitude), altitude: altitude, decimalYear: 2028))
      return field.northEastDown
    }
    for latitude in stride(from: -85.0, through: 85, by: 17) {
      for longitude in stride(from: -170.0, through: 170, by: 40) {
        // Circulation around and flux out of a box of 2 km, in µT, with a local frame on each face.
        let step = 1000.0
        let frame = LocalFrame(origin: Coordinate(latitude: latitude, longitude: longitude))
        func shifted(_ east: Double, _ north: Double, _ up: Double) throws -> Vector3 {
          let place = frame.coordinate(at: SIMD2(east, north))
          let v = try cartesian(place.latitude, place.longitude, up)
          // Rotation into the frame of the centre: meridians converge, and the vertical tilts with distance.
          let convergence = (place.longitude - longitude).radians * sin(latitude.radians)
          let tiltEast = (place.longitude - longitude).radians * cos(latitude.radians)
          let tiltNorth = (place.latitude - latitude).radians
          let turned = Vector3(
            v.x + convergence * v.y - tiltNorth * v.z, v.y - convergence * v.x - tiltEast * v.z,
            v.z + tiltNorth * v.x + tiltEast * v.y)
          return Vector3(turned.y, turned.x, -turned.z)
        }
        let east = try (shifted(step, 0, 0) - shifted(-step, 0, 0)) / (2 * step)
        let north = try (shifted(0, step, 0) - shifted(0, -step, 0)) / (2 * step)
        let up = try (shifted(0, 0, step) - shifted(0, 0, -step)) / (2 * step)
        let divergence = east.x + north.y + up.z
        let curl = Vector3(north.z - up.y, up.x - east.z, east.y - north.x)
        // The gradients are about 2e-5 µT/m.
        #expect(abs(divergence) < 2e-8, "\(latitude) \(longitude) \(divergence)")
        #expect(curl.length < 2e-8, "\(latitude) \(longitude) \(curl)")
      }
    }
  }

  @Test(arguments: [
    Coordinate(latitude: .nan, longitude: 0), Coordinate(latitude: 91, longitude: 0),
    Coordinate(latitude: 0, longitude: .infinity),
  ])
  func refusesInvalidPositions(place: Coordinate) {
    #expect(Self.model.field(at: place, decimalYear: 2026) == nil)
  }

  @Test func datesBecomeDecimalYears() {
    #expect(UTCTime(rfc3339: "2025-01-01T00:00:00Z")?.decimalYear == 2025)
    #expect(UTCTime(rfc3339: "2027-07-02T12:00:00Z")?.decimalYear == 2027.5)
    #expect(UTCTime(rfc3339: "2028-07-02T00:00:00Z")?.decimalYear == 2028.5)
    #expect(
      UTCTime(nanoseconds: .min).decimalYear.isFinite && UTCTime(nanoseconds: .max).decimalYear.isFinite)
  }
}
