internal import Glibc

/// A spatial index of boxes, for queries by box and by position.
///
/// A binary tree, split at the median of the widest axis down to single boxes. All nodes are stored in one
/// array in depth-first order. Each node stores the index of the node to visit next if its box does not
/// match, so that a traversal needs no stack and reads the array mostly forward. A node has 32 bytes, and a
/// box needs two nodes. The tree is immutable: any change requires a new tree, which takes about 50 ms for
/// 100,000 boxes.
public struct BoxTree: Sendable {
  /// The bits of `least.w` are the index of the next node if this box does not match. The bits of `most.w`
  /// are the item of a leaf, or -1. Coordinates are rounded outward.
  private struct Node {
    var least: SIMD4<Float>
    var most: SIMD4<Float>
  }

  private var nodes: [Node] = []

  /// Creates an index without boxes.
  public init() {}

  /// Builds the index.
  ///
  /// - Parameter boxes: the boxes; an item is identified by its index in this array.
  public init(_ boxes: [SpaceBox]) {
    guard !boxes.isEmpty, boxes.count <= Int(Int32.max) else { return }
    nodes.reserveCapacity(2 * boxes.count - 1)
    var items = boxes.map { Item(box: $0) }
    for index in items.indices { items[index].number = Int32(index) }
    items.withUnsafeMutableBufferPointer { build($0) }
  }

  private struct Item {
    var least, most: SIMD3<Float>
    var number: Int32 = 0

    init(box: SpaceBox) {
      // Single precision resolves half a metre at this magnitude.
      least = SIMD3<Float>(box.least) - SIMD3(repeating: 1)
      most = SIMD3<Float>(box.most) + SIMD3(repeating: 1)
    }
  }

  private mutating func build(_ items: UnsafeMutableBufferPointer<Item>) {
    var (least, most) = (items[0].least, items[0].most)
    for item in items {
      least = pointwiseMin(least, item.least)
      most = pointwiseMax(most, item.most)
    }
    let place = nodes.count
    let isLeaf = items.count == 1
    nodes.append(
      Node(
        least: SIMD4(least, 0),
        most: SIMD4(most, Float(bitPattern: UInt32(bitPattern: isLeaf ? items[0].number : -1)))))
    if !isLeaf {
      let size = most - least
      let axis = size.x >= size.y ? (size.x >= size.z ? 0 : 2) : (size.y >= size.z ? 1 : 2)
      let middle = items.count / 2
      Self.partition(items, at: middle, axis: axis)
      build(UnsafeMutableBufferPointer(rebasing: items[..<middle]))
      build(UnsafeMutableBufferPointer(rebasing: items[middle...]))
    }
    nodes[place].least.w = Float(bitPattern: UInt32(nodes.count))
  }

  /// Partitions the items around the one at `middle` (Hoare's selection).
  private static func partition(_ items: UnsafeMutableBufferPointer<Item>, at middle: Int, axis: Int) {
    func key(_ index: Int) -> Float { items[index].least[axis] + items[index].most[axis] }
    var (low, high) = (0, items.count - 1)
    while low < high {
      let pivot = key((low + high) / 2)
      var (i, j) = (low, high)
      while i <= j {
        while key(i) < pivot { i += 1 }
        while key(j) > pivot { j -= 1 }
        if i <= j {
          items.swapAt(i, j)
          i += 1
          j -= 1
        }
      }
      if middle <= j { high = j } else if middle >= i { low = i } else { return }
    }
  }

  /// Calls `body` for each item whose box intersects the given box, in no particular order.
  @inline(__always)
  public func forEach(meeting box: SpaceBox, _ body: (Int) -> Void) {
    // The fourth lane has no coordinate and always matches.
    walk(
      least: SIMD4(SIMD3<Float>(box.least) - SIMD3(repeating: 1), -.infinity),
      most: SIMD4(SIMD3<Float>(box.most) + SIMD3(repeating: 1), .infinity), body)
  }

  /// Calls `body` for each item whose box contains the position (m).
  @inline(__always)
  public func forEach(at position: Vector3, _ body: (Int) -> Void) {
    // Single precision rounds the position by half a metre. The boxes were grown by one metre to allow for
    // this.
    let place = SIMD3<Float>(position)
    walk(least: SIMD4(place, -.infinity), most: SIMD4(place, .infinity), body)
  }

  @inline(__always)
  private func walk(least: SIMD4<Float>, most: SIMD4<Float>, _ body: (Int) -> Void) {
    nodes.withUnsafeBufferPointer { nodes in
      var index = 0
      while index < nodes.count {
        let node = nodes[index]
        if any((node.least .> most) .| (node.most .< least)) {
          index = Int(node.least.w.bitPattern)
        } else {
          let item = Int32(bitPattern: node.most.w.bitPattern)
          if item >= 0 { body(Int(item)) }
          index += 1
        }
      }
    }
  }
}

/// An axis-aligned box in the coordinates of `SurfacePoint.position` (m). The antimeridian and the poles need
/// no special handling in these coordinates.
@frozen
public struct SpaceBox: Hashable, Sendable {
  public var least: Vector3
  public var most: Vector3

  public init(least: Vector3, most: Vector3) {
    self.least = least
    self.most = most
  }

  /// Creates a box around the shortest path over the surface between two points.
  public init(from start: SurfacePoint, to end: SurfacePoint) {
    let (a, b) = (start.position, end.position)
    let chord = (a - b).length
    self.init(least: pointwiseMin(a, b), most: pointwiseMax(a, b))
    // The path rises above the chord by at most chord² / 4R, which is exact for half a circumference.
    grow(by: chord * chord / 4 / WGS84.semiMinorAxis)
  }

  public mutating func grow(by metres: Double) {
    least -= Vector3(repeating: metres)
    most += Vector3(repeating: metres)
  }

  /// Returns the distance in metres from a position to the box in a straight line, 0 inside. A lower bound of
  /// the distance along the surface.
  @inlinable
  public func distance(from position: Vector3) -> Double {
    pointwiseMax(pointwiseMax(least - position, position - most), Vector3(repeating: 0)).length
  }
}

extension Circle {
  var bounds: SpaceBox {
    // The largest angle in rad that the radius can span on the sphere of `direction`: a radian there is at
    // least the semi-minor axis on the ground.
    let angle = min(.pi, radius / WGS84.semiMinorAxis)
    func extreme(_ component: Double, _ turn: Double) -> Double {
      cos(min(.pi, max(0, acos(min(1, max(-1, component))) + turn)))
    }
    let d = center.direction
    let scale = SurfacePoint.scale
    return SpaceBox(
      least: Vector3(extreme(d.x, angle), extreme(d.y, angle), extreme(d.z, angle)) * scale,
      most: Vector3(extreme(d.x, -angle), extreme(d.y, -angle), extreme(d.z, -angle)) * scale)
  }
}

extension Polygon {
  var bounds: SpaceBox {
    var box = SpaceBox(
      least: Vector3(repeating: .infinity), most: Vector3(repeating: -.infinity))
    for point in points where point.x == point.x {
      let position = plane.point(at: SIMD2<Double>(point)).position
      box.least = pointwiseMin(box.least, position)
      box.most = pointwiseMax(box.most, position)
    }
    // The surface rises above the hull of the vertices by the height of a spherical cap.
    let angle = atan(extent / GnomonicPlane.radius)
    box.grow(by: WGS84.semiMajorAxis * (1 - cos(angle)))
    return box
  }
}

extension SurfacePoint {
  static let scale = Vector3(WGS84.semiMajorAxis, WGS84.semiMajorAxis, WGS84.semiMinorAxis)
}
