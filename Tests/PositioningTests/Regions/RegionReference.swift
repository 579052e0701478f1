import Foundation
import Positioning
import Spatial
import TestSupport

/// An independent, exact calculation of the transitions of a track: all polygons of a cell and all their edges, fixes as exact points, in
/// double precision on plane sections of the earth. It has only a grid in degrees as an index and shares no geometry code with the library.
struct RegionReference {
  private struct Place {
    var x: Double
    var y: Double
    var z: Double

    /// Earth-centred position by the standard formula with the transverse radius of curvature.
    init(_ coordinate: Coordinate) {
      let (phi, lambda) = (coordinate.latitude * .pi / 180, coordinate.longitude * .pi / 180)
      let (a, f) = (6_378_137.0, 1 / 298.257223563)
      let e2 = f * (2 - f)
      let n = a / (1 - e2 * sin(phi) * sin(phi)).squareRoot()
      (x, y, z) = (n * cos(phi) * cos(lambda), n * cos(phi) * sin(lambda), n * (1 - e2) * sin(phi))
    }

    func distance(to other: Place) -> Double {
      let (dx, dy, dz) = (x - other.x, y - other.y, z - other.z)
      return (dx * dx + dy * dy + dz * dz).squareRoot()
    }
  }

  /// Central projection from the earth's centre on the plane through a position, perpendicular to the line from the centre.
  private struct Plane {
    private let origin: Place
    private let square: Double
    private let east: (x: Double, y: Double)
    private let north: (x: Double, y: Double, z: Double)

    init(_ origin: Place) {
      self.origin = origin
      square = origin.x * origin.x + origin.y * origin.y + origin.z * origin.z
      let across = (origin.x * origin.x + origin.y * origin.y).squareRoot()
      east = (-origin.y / across, origin.x / across)
      let length = square.squareRoot()
      let up = (x: origin.x / length, y: origin.y / length, z: origin.z / length)
      north = (-up.z * east.y, up.z * east.x, up.x * east.y - up.y * east.x)
    }

    func point(_ place: Place) -> (x: Double, y: Double) {
      let scale = square / (place.x * origin.x + place.y * origin.y + place.z * origin.z)
      return (
        scale * (place.x * east.x + place.y * east.y),
        scale * (place.x * north.x + place.y * north.y + place.z * north.z)
      )
    }
  }

  private struct Ring {
    var corners: [Place]
    /// Metres; no part of the polygon is farther from its first corner.
    var reach: Double
  }

  private var polygons: [Ring] = []
  private var cells: [SIMD2<Int>: [Int]] = [:]
  private static let cellsPerDegree = 500.0

  init(_ rings: [[Coordinate]]) {
    for (index, ring) in rings.enumerated() {
      let corners = ring.map(Place.init)
      polygons.append(
        Ring(corners: corners, reach: 1 + (corners.map { $0.distance(to: corners[0]) }.max() ?? 0)))
      for cell in Self.cells(of: ring) { cells[cell, default: []].append(index) }
    }
  }

  /// Transitions of each step as "step kind polygon", sorted. The first fix sets the states.
  func transitions(of track: [Coordinate]) -> [String] {
    var told: [String] = []
    var inside: Set<Int> = []
    for (step, place) in track.enumerated() {
      let before = step > 0 ? track[step - 1] : place
      let (start, here) = (Place(before), Place(place))
      let (startPlane, herePlane) = (Plane(start), Plane(here))
      let way = startPlane.point(here)
      let length = start.distance(to: here)
      let near = Set(Self.cells(of: [before, place]).flatMap { cells[$0] ?? [] })
      for polygon in near.union(inside) {
        let ring = polygons[polygon]
        let away = ring.corners[0].distance(to: here)
        let isInside = away <= ring.reach && Self.contains(ring, herePlane)
        let wasInside = inside.contains(polygon)
        if isInside { inside.insert(polygon) } else { inside.remove(polygon) }
        guard step > 0 else { continue }
        if isInside != wasInside {
          told.append("\(step) \(isInside ? "enter" : "exit") \(polygon)")
        } else if !isInside, away <= ring.reach + length, Self.crossings(ring, startPlane, way) >= 2 {
          told += ["\(step) enter \(polygon)", "\(step) exit \(polygon)"]
        }
      }
    }
    return told.sorted()
  }

  private static func cells(of places: [Coordinate]) -> [SIMD2<Int>] {
    func range(_ values: [Double]) -> ClosedRange<Int> {
      let scaled = values.map { Int(($0 * cellsPerDegree).rounded(.down)) }
      return (scaled.min() ?? 0)...(scaled.max() ?? 0)
    }
    let columns = range(places.map(\.longitude))
    return range(places.map(\.latitude)).flatMap { row in columns.map { SIMD2($0, row) } }
  }

  private static func contains(_ ring: Ring, _ plane: Plane) -> Bool {
    var isInside = false
    forEachEdge(of: ring, on: plane) { a, b in
      if (a.y > 0) != (b.y > 0), a.x - a.y * (b.x - a.x) / (b.y - a.y) > 0 { isInside.toggle() }
    }
    return isInside
  }

  private static func crossings(_ ring: Ring, _ plane: Plane, _ way: (x: Double, y: Double)) -> Int {
    func side(_ p: (x: Double, y: Double), _ a: (x: Double, y: Double), _ b: (x: Double, y: Double)) -> Bool {
      (b.x - a.x) * (p.y - a.y) > (p.x - a.x) * (b.y - a.y)
    }
    let origin = (x: 0.0, y: 0.0)
    var count = 0
    forEachEdge(of: ring, on: plane) { a, b in
      if side(a, origin, way) != side(b, origin, way), side(origin, a, b) != side(way, a, b) { count += 1 }
    }
    return count
  }

  private static func forEachEdge(
    of ring: Ring, on plane: Plane, _ body: ((x: Double, y: Double), (x: Double, y: Double)) -> Void
  ) {
    guard let last = ring.corners.last else { return }
    var a = plane.point(last)
    for corner in ring.corners {
      let b = plane.point(corner)
      body(a, b)
      a = b
    }
  }
}
