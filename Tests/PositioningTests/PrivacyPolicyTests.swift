import Positioning
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

@Suite struct PrivacyPolicyTests {
  private static let home = Coordinate(latitude: 48.1371, longitude: 11.5754)

  private func location(_ coordinate: Coordinate) -> Location {
    var location = Location(timestamp: Timestamp(seconds: 1), coordinate: coordinate)
    (location.ellipsoidalAltitude, location.altitude) = (560, 515)
    (location.speed, location.course, location.horizontalAccuracy, location.verticalAccuracy) = (3, 90, 2, 3)
    (location.speedAccuracy, location.courseAccuracy) = (1, 2)
    return location
  }

  private func zone(
    _ radius: Double, _ treatment: PrivacyPolicy.Treatment = .withhold
  ) throws -> PrivacyPolicy.Zone {
    .init(area: .circle(try #require(Circle(center: Self.home, radius: radius))), treatment: treatment)
  }

  /// A yard in the shape of an L: only the yard itself is private, not its bounding box.
  @Test func zoneHasAnyShape() throws {
    let frame = LocalFrame(origin: Self.home)
    let corners = [SIMD2(0.0, 0), [200, 0], [200, 50], [50, 50], [50, 200], [0, 200]]
    let yard = Area.polygon(try Polygon([corners.map { frame.coordinate(at: $0) }]))
    for (place, isPrivate) in [
      ([100.0, 25], true), ([25, 150], true), ([100, 100], false), ([-5, 25], false),
    ] {
      let exact = location(frame.coordinate(at: SIMD2(place[0], place[1])))
      #expect((PrivacyPolicy(zones: [.init(area: yard)]).shown(exact) == nil) == isPrivate)
      let blurred = try #require(PrivacyPolicy(zones: [.init(area: yard, treatment: .blur)]).shown(exact))
      #expect((blurred.location != exact) == isPrivate)
      if isPrivate { #expect((100...250).contains(blurred.horizontalAccuracy ?? 0)) }
    }
  }

  @Test func locationsAreUnchangedWithoutZones() {
    #expect(PrivacyPolicy().shown(location(Self.home))?.location == location(Self.home))
  }

  @Test func zoneWithholdsTheWholeLocation() throws {
    let policy = PrivacyPolicy(zones: [try zone(300)])
    #expect(policy.shown(location(Self.home)) == nil)
  }

  /// A metre inside and a metre outside the radius, on the geodesic.
  @Test(arguments: [0.0, 45, 90, 180, 271]) func zoneEndsAtItsRadius(bearing: Double) throws {
    let policy = PrivacyPolicy(zones: [try zone(300)])
    let within = Self.home.destination(distance: 299, bearing: bearing)
    let without = Self.home.destination(distance: 301, bearing: bearing)
    #expect(policy.shown(location(within)) == nil)
    #expect(policy.shown(location(without))?.location == location(without))
  }

  @Test func stricterZoneApplies() throws {
    let blurred = try zone(300, .blur)
    let wider = try zone(2000, .blur)
    let withheld = try zone(10)
    #expect(PrivacyPolicy(zones: [blurred, withheld]).shown(location(Self.home)) == nil)
    let both = PrivacyPolicy(zones: [blurred, wider], accuracy: 50)
    #expect(both.shown(location(Self.home)) == PrivacyPolicy(zones: [wider]).shown(location(Self.home)))
  }

  /// The true position is within the stated accuracy everywhere on earth, and all positions of a cell yield the same centre.
  @Test(arguments: [10.0, 1000, 50_000]) func blurredPositionIsTheCellCentre(size: Double) throws {
    var random = SeededGenerator.announced()
    let policy = PrivacyPolicy(accuracy: size)
    for _ in 0..<2000 {
      let exact = Coordinate(
        latitude: Double.random(in: -90...90, using: &random),
        longitude: Double.random(in: -180...180, using: &random))
      let shown = try #require(policy.shown(location(exact)))
      #expect(shown.coordinate.isValid)
      let accuracy = try #require(shown.horizontalAccuracy)
      #expect(exact.distance(to: shown.coordinate) <= accuracy, "\(exact) is shown as \(shown.coordinate)")
      #expect(accuracy >= size / 2 && (accuracy <= 1.5 * size || abs(exact.latitude) > 85))
      // The centre is in its own cell, so that repeated queries reveal nothing more.
      #expect(policy.shown(location(shown.coordinate))?.coordinate == shown.coordinate)
      #expect(shown.speed == nil && shown.course == nil)
      #expect(shown.altitude == nil && shown.ellipsoidalAltitude == nil)
    }
  }

  @Test(arguments: [
    Coordinate(latitude: 90, longitude: 0), Coordinate(latitude: -90, longitude: 180),
    Coordinate(latitude: 0, longitude: 180), Coordinate(latitude: 0, longitude: -180),
  ])
  func blurredPositionsAreValidAtPolesAndAntimeridian(exact: Coordinate) throws {
    for size in [1.0, 1000, 1_000_000] {
      #expect(PrivacyPolicy(accuracy: size).shown(location(exact))?.coordinate.isValid == true)
    }
  }

  // MARK: Consecutive positions

  /// A position on the boundary between two cells.
  private func edge(_ size: Double, _ bearing: Double) throws -> Coordinate {
    let policy = PrivacyPolicy(accuracy: size)
    func cell(_ distance: Double) -> Coordinate? {
      policy.shown(location(Self.home.destination(distance: distance, bearing: bearing)))?.coordinate
    }
    var (low, high) = (0.0, size)
    while high - low > 0.1 {
      let middle = (low + high) / 2
      if cell(middle) == cell(0) { low = middle } else { high = middle }
    }
    return Self.home.destination(distance: low, bearing: bearing)
  }

  /// A vehicle parked for an hour at the boundary of two cells; its receiver has white noise and a slow drift.
  @Test(arguments: [200.0, 1000, 5000], UInt64(1)...5) func noiseAtAnEdgeChangesNoCell(
    size: Double, seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    let policy = PrivacyPolicy(accuracy: size)
    for bearing in [0.0, 90] {
      let frame = LocalFrame(origin: try edge(size, bearing))
      var (cells, drift) = (BlurredCells(), SIMD2(0.0, 0))
      var (shown, without): (Set<Coordinate>, Set<Coordinate>) = ([], [])
      for _ in 0..<3600 {
        drift = 0.98 * drift + 0.9 * SIMD2(random.nextNormal(), random.nextNormal())
        let offset = drift + 1.5 * SIMD2(random.nextNormal(), random.nextNormal())
        let exact = location(frame.coordinate(at: offset))
        cells.process(exact, policy)
        let blurred = try #require(policy.shown(exact, near: cells))
        #expect(blurred.coordinate.distance(to: exact.coordinate) <= blurred.horizontalAccuracy ?? 0)
        shown.insert(blurred.coordinate)
        without.insert(try #require(policy.shown(exact)).coordinate)
      }
      #expect(shown.count == 1 && without.count > 1, "bearing \(bearing): \(shown.count) cells")
    }
  }

  /// During a drive the cell changes at most a tenth of its side late, also at reduced accuracy. A suspect position does not change the
  /// cell.
  @Test(arguments: [0.0, 45, 90, 200]) func driveChangesTheCellATenthLate(bearing: Double) throws {
    let size = 5000.0
    let policy = PrivacyPolicy(accuracy: size)
    var cells = BlurredCells()
    var late = 0.0
    for metres in stride(from: 0.0, to: 20 * size, by: 50) {
      let exact = location(Self.home.destination(distance: metres, bearing: bearing))
      cells.process(exact, policy)
      let shown = try #require(policy.shown(exact, near: cells))
      #expect(shown.coordinate.distance(to: exact.coordinate) <= shown.horizontalAccuracy ?? 0)
      let reduced = PrivacyPolicy.unrestricted(exact).reduced(near: cells)
      #expect(reduced.coordinate == shown.coordinate)
      #expect(reduced.horizontalAccuracy == shown.horizontalAccuracy)
      #expect(try #require(shown.horizontalAccuracy) <= Location.reducedAccuracy)
      let offset = LocalFrame(origin: shown.coordinate).offset(of: exact.coordinate)
      late = max(late, abs(offset.x), abs(offset.y))
      var suspect = location(Coordinate(latitude: -20, longitude: 30))
      suspect.suspicion = Suspicion(.jump, distance: 1e6)
      let before = cells
      cells.process(suspect, policy)
      #expect(cells == before)
    }
    #expect((0.58 * size...0.63 * size).contains(late), "\(late) m")
  }

  /// The distance between a position and the centre of its cell never exceeds the stated accuracy, everywhere on earth.
  @Test(arguments: [10.0, 1000, 50_000]) func walkStaysWithinTheAccuracy(size: Double) throws {
    var random = SeededGenerator.announced()
    let policy = PrivacyPolicy(accuracy: size)
    for start in [(48.0, 11.0), (0, 180), (-89.99, 0), (89.9, 179.99), (-60, -179.999)] {
      var (place, cells) = (Coordinate(latitude: start.0, longitude: start.1), BlurredCells())
      for _ in 0..<500 {
        place = place.destination(distance: 0.2 * size, bearing: 360 * random.nextUniform())
        cells.process(location(place), policy)
        let shown = try #require(policy.shown(location(place), near: cells))
        #expect(place.distance(to: shown.coordinate) <= shown.horizontalAccuracy ?? 0, "\(place)")
      }
    }
  }
}
