import Foundation
import Positioning
import Spatial

/// An exact and independent answer to what the transitions of a track are: every polygon of a cell, every edge, points
/// taken for points, in double precision on the earth's own plane sections. No index but a grid in degrees, none of the
/// library's geometry.
struct RegionReference {
  private var polygons: [[SIMD3<Double>]] = []
  private var cells: [SIMD2<Int>: [Int]] = [:]
  private static let cellsPerDegree = 500.0

  init(_ rings: [[Coordinate]]) {
    for (index, ring) in rings.enumerated() {
      polygons.append(ring.map(Self.earthCentred))
      for cell in Self.cells(of: ring) { cells[cell, default: []].append(index) }
    }
  }

  /// What happened in each step, as "step kind polygon", sorted. The first fix sets the states.
  func transitions(of track: [Coordinate]) -> [String] {
    var told: [String] = []
    var inside: Set<Int> = []
    for (step, place) in track.enumerated() {
      let here = Self.earthCentred(place)
      let before = step > 0 ? track[step - 1] : place
      let near = Set(Self.cells(of: [before, place]).flatMap { cells[$0] ?? [] })
      for polygon in near.union(inside) {
        let isInside = contains(polygon, here)
        let wasInside = inside.contains(polygon)
        if isInside { inside.insert(polygon) } else { inside.remove(polygon) }
        guard step > 0 else { continue }
        if isInside != wasInside {
          told.append("\(step) \(isInside ? "enter" : "exit") \(polygon)")
        } else if !isInside, crossings(polygon, Self.earthCentred(before), here) >= 2 {
          told += ["\(step) enter \(polygon)", "\(step) exit \(polygon)"]
        }
      }
    }
    return told.sorted()
  }

  /// The earth-centred position by the textbook's formula, with the transverse radius of curvature.
  private static func earthCentred(_ coordinate: Coordinate) -> SIMD3<Double> {
    let (phi, lambda) = (coordinate.latitude * .pi / 180, coordinate.longitude * .pi / 180)
    let (a, f) = (6_378_137.0, 1 / 298.257223563)
    let e2 = f * (2 - f)
    let n = a / (1 - e2 * sin(phi) * sin(phi)).squareRoot()
    return SIMD3(n * cos(phi) * cos(lambda), n * cos(phi) * sin(lambda), n * (1 - e2) * sin(phi))
  }

  private static func cells(of places: [Coordinate]) -> [SIMD2<Int>] {
    func range(_ values: [Double]) -> ClosedRange<Int> {
      let scaled = values.map { Int(($0 * cellsPerDegree).rounded(.down)) }
      return (scaled.min() ?? 0)...(scaled.max() ?? 0)
    }
    let columns = range(places.map(\.longitude))
    return range(places.map(\.latitude)).flatMap { row in columns.map { SIMD2($0, row) } }
  }

  /// Seen from the earth's centre onto the plane through a position and across the line to it.
  private func flat(_ position: SIMD3<Double>, from origin: SIMD3<Double>) -> SIMD2<Double> {
    let square = (origin * origin).sum()
    let onPlane = position * (square / (position * origin).sum())
    let east = SIMD3(-origin.y, origin.x, 0) / (origin.x * origin.x + origin.y * origin.y).squareRoot()
    let up = origin / square.squareRoot()
    let north = SIMD3(
      up.y * east.z - up.z * east.y, up.z * east.x - up.x * east.z, up.x * east.y - up.y * east.x)
    return SIMD2((onPlane * east).sum(), (onPlane * north).sum())
  }

  private func contains(_ polygon: Int, _ place: SIMD3<Double>) -> Bool {
    let ring = polygons[polygon].map { flat($0, from: place) }
    var isInside = false
    for (index, a) in ring.enumerated() {
      let b = ring[(index + 1) % ring.count]
      if (a.y > 0) != (b.y > 0), a.x - a.y * (b.x - a.x) / (b.y - a.y) > 0 { isInside.toggle() }
    }
    return isInside
  }

  private func crossings(_ polygon: Int, _ start: SIMD3<Double>, _ end: SIMD3<Double>) -> Int {
    let way = flat(end, from: start)
    let ring = polygons[polygon].map { flat($0, from: start) }
    func side(_ p: SIMD2<Double>, _ a: SIMD2<Double>, _ b: SIMD2<Double>) -> Bool {
      (b.x - a.x) * (p.y - a.y) > (p.x - a.x) * (b.y - a.y)
    }
    let origin = SIMD2(0.0, 0.0)
    return ring.indices.count { index in
      let (a, b) = (ring[index], ring[(index + 1) % ring.count])
      return side(a, origin, way) != side(b, origin, way) && side(origin, a, b) != side(way, a, b)
    }
  }
}
