import Positioning
import Sensors
import Spatial
import TestSupport
import Testing

@Suite struct PrivacyPolicyTests {
  private static let home = Coordinate(latitude: 48.1371, longitude: 11.5754)

  private func fix(_ coordinate: Coordinate) -> PositionFix {
    var fix = PositionFix(timestamp: Timestamp(seconds: 1), mode: .threeDimensional, coordinate: coordinate)
    (fix.altitudeEllipsoidal, fix.altitudeMeanSeaLevel, fix.climb) = (560, 515, 1)
    (fix.speed, fix.course, fix.horizontalError, fix.verticalError) = (3, 90, 2, 3)
    (fix.speedError, fix.courseError) = (1, 2)
    return fix
  }

  private func location(_ coordinate: Coordinate) -> Location? { Location(fix: fix(coordinate)) }

  @Test func withoutZonesNothingChanges() throws {
    #expect(PrivacyPolicy().shown(fix(Self.home)) == fix(Self.home))
    let location = try #require(self.location(Self.home))
    #expect(PrivacyPolicy().shown(location) == location)
  }

  @Test func aZoneWithholdsEverythingThatTellsOfThePlace() throws {
    let policy = PrivacyPolicy(zones: [.init(centre: Self.home, radius: 300)])
    let shown = policy.shown(fix(Self.home))
    var expected = PositionFix(timestamp: Timestamp(seconds: 1), mode: .threeDimensional)
    expected.receiver = shown.receiver
    #expect(shown == expected)
    let location = try #require(self.location(Self.home))
    #expect(policy.shown(location) == nil)
    #expect(Location(fix: shown) == nil)
  }

  /// On the geodesic, a metre within and a metre without.
  @Test(arguments: [0.0, 45, 90, 180, 271]) func aZoneEndsAtItsRadius(bearing: Double) throws {
    let policy = PrivacyPolicy(zones: [.init(centre: Self.home, radius: 300)])
    let within = Self.home.destination(distance: 299, bearing: bearing)
    let without = Self.home.destination(distance: 301, bearing: bearing)
    #expect(policy.shown(fix(within)).coordinate == nil)
    #expect(policy.shown(fix(without)) == fix(without))
  }

  @Test func theStricterZoneCounts() {
    let blurred = PrivacyPolicy.Zone(centre: Self.home, radius: 300, treatment: .blur)
    let wider = PrivacyPolicy.Zone(centre: Self.home, radius: 2000, treatment: .blur)
    let withheld = PrivacyPolicy.Zone(centre: Self.home, radius: 10)
    #expect(PrivacyPolicy(zones: [blurred, withheld]).shown(fix(Self.home)).coordinate == nil)
    let both = PrivacyPolicy(zones: [blurred, wider], accuracy: 50)
    #expect(both.shown(fix(Self.home)) == PrivacyPolicy(zones: [wider]).shown(fix(Self.home)))
  }

  /// The truth lies within the stated accuracy, everywhere on earth, and all positions of a cell look the same.
  @Test(arguments: [10.0, 1000, 50_000]) func aBlurredPositionIsItsCell(size: Double) throws {
    var random = SeededGenerator.announced()
    let policy = PrivacyPolicy(accuracy: size)
    for _ in 0..<2000 {
      let exact = Coordinate(
        latitude: Double.random(in: -90...90, using: &random),
        longitude: Double.random(in: -180...180, using: &random))
      let shown = policy.shown(fix(exact))
      let middle = try #require(shown.coordinate)
      let location = try #require(self.location(exact))
      let blurred = try #require(policy.shown(location))
      #expect(middle.isValid && blurred.coordinate == middle)
      let accuracy = try #require(blurred.horizontalAccuracy)
      let error = try #require(shown.horizontalError)
      #expect(abs(accuracy - error / 1.96) < 1e-6)
      #expect(exact.distance(to: middle) <= accuracy, "\(exact) is shown as \(middle)")
      #expect(accuracy >= size / 2 && (accuracy <= 1.5 * size || abs(exact.latitude) > 85))
      // The middle is in its own cell: nothing is learned from asking again.
      #expect(policy.shown(fix(middle)).coordinate == middle)
      #expect(shown.speed == nil && shown.course == nil && shown.altitudeMeanSeaLevel == nil)
      #expect(blurred.speed == nil && blurred.course == nil && blurred.altitude == nil)
    }
  }

  @Test(arguments: [
    Coordinate(latitude: 90, longitude: 0), Coordinate(latitude: -90, longitude: 180),
    Coordinate(latitude: 0, longitude: 180), Coordinate(latitude: 0, longitude: -180),
  ])
  func theEndsOfTheEarth(exact: Coordinate) throws {
    for size in [1.0, 1000, 1_000_000] {
      let shown = PrivacyPolicy(accuracy: size).shown(fix(exact))
      #expect(shown.coordinate?.isValid == true)
    }
  }
}
