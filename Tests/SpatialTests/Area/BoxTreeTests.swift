import Spatial
import TestSupport
import Testing

@Suite struct BoxTreeTests {
  @Test(arguments: [0, 1, 2, 3, 4, 5, 16, 17, 50, 1000])
  func findsTheSameBoxesAsALinearSearch(count: Int) throws {
    var random = SplitMix.announced()
    let home = random.coordinate()
    func place() -> Coordinate {
      home.destination(distance: random.uniform(0...20_000), bearing: random.uniform(0...360))
    }
    let areas: [Area] = try (0..<count).map { index in
      let (center, size) = (place(), random.uniform(10...3000))
      return index % 2 == 0
        ? .circle(try #require(Circle(center: center, radius: size)))
        : .polygon(try Polygon([ring(around: center, (0..<6).map { _ in size * random.uniform(0.5...1) })]))
    }
    let tree = BoxTree(areas.map(\.bounds))
    var all: [Int] = []
    let infinite = Vector3(repeating: .infinity)
    tree.forEach(meeting: SpaceBox(least: -infinite, most: infinite)) { all.append($0) }
    #expect(all.sorted() == Array(areas.indices))
    for _ in 0..<50 {
      let point = SurfacePoint(place())
      var found: [Int] = []
      tree.forEach(at: point.position) { if areas[$0].contains(point) { found.append($0) } }
      #expect(found.sorted() == areas.indices.filter { areas[$0].contains(point) })

      let radius = random.uniform(0...2000)
      var box = SpaceBox(from: point, to: point)
      box.grow(by: radius)
      var near: Set<Int> = []
      tree.forEach(meeting: box) { near.insert($0) }
      let missed = areas.indices.filter {
        areas[$0].signedDistance(from: point) > -radius && !near.contains($0)
      }
      #expect(missed.isEmpty)
    }
  }

  /// The bounding box of an area contains the whole area, at any place and of any size.
  @Test func boxesContainTheirAreas() throws {
    var random = SplitMix.announced()
    for _ in 0..<300 {
      let center = random.coordinate()
      let size = [50.0, 5000, 500_000, 4_000_000][Int(random.uniform(0...3.99))]
      let circle = try #require(Circle(center: center, radius: size))
      let polygon = try Polygon([ring(around: center, (0..<8).map { _ in size * random.uniform(0.7...1) })])
      for area in [Area.circle(circle), .polygon(polygon)] {
        for _ in 0..<10 {
          let place = SurfacePoint(
            center.destination(distance: size * random.uniform(0...1.1), bearing: random.uniform(0...360)))
          if area.contains(place) { #expect(area.bounds.distance(from: place.position) <= 0.001) }
        }
      }
    }
  }
}
