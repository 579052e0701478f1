internal import Glibc

/// An index of boxes in space: which of them meet another box, or lie near a place.
///
/// A binary tree, split at the median of the widest axis until one box is left. Nodes lie in one array in the order of a
/// walk, each with the place to go on when its box is missed; a walk needs no stack and mostly reads forward. 32 bytes a
/// node, two nodes a box. Immutable: a change builds it anew, which takes some 50 ms for 100,000 boxes.
public struct BoxTree: Sendable {
  /// The bits of `least.w` are the node to go on with when this one is missed, those of `most.w` the item of a leaf, or
  /// -1. Coordinates are rounded outward.
  private struct Node {
    var least: SIMD4<Float>
    var most: SIMD4<Float>
  }

  private var nodes: [Node] = []

  /// An index without boxes.
  public init() {}

  /// - Parameter boxes: an item is named by its place in this array.
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
      // A float keeps half a metre here.
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

  /// Brings the items before and after the middle to their sides of it (Hoare's selection).
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

  /// Calls for each item whose box meets a box, in no particular order.
  @inline(__always)
  public func forEach(meeting box: SpaceBox, _ body: (Int) -> Void) {
    // The fourth lane holds no coordinate and never decides.
    walk(
      least: SIMD4(SIMD3<Float>(box.least) - SIMD3(repeating: 1), -.infinity),
      most: SIMD4(SIMD3<Float>(box.most) + SIMD3(repeating: 1), .infinity), body)
  }

  /// Calls for each item whose box holds a position (m).
  @inline(__always)
  public func forEach(at position: Vector3, _ body: (Int) -> Void) {
    // Boxes are a metre larger than what they hold, which is more than the rounding here.
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

/// A box along the axes of `SurfacePoint.position` (m): it knows neither antimeridian nor poles.
@frozen
public struct SpaceBox: Hashable, Sendable {
  public var least: Vector3
  public var most: Vector3

  public init(least: Vector3, most: Vector3) {
    self.least = least
    self.most = most
  }

  /// Around the shortest way over the surface between two places.
  public init(from start: SurfacePoint, to end: SurfacePoint) {
    let (a, b) = (start.position, end.position)
    let chord = (a - b).length
    self.init(least: pointwiseMin(a, b), most: pointwiseMax(a, b))
    // The way rises above the chord, at most by a quarter of the earth's circumference's arc.
    grow(by: chord * chord / 4 / WGS84.semiMinorAxis)
  }

  public mutating func grow(by metres: Double) {
    least -= Vector3(repeating: metres)
    most += Vector3(repeating: metres)
  }

  /// Metres in a straight line from a position to the box; zero within. No way over the surface is shorter.
  @inlinable
  public func distance(from position: Vector3) -> Double {
    pointwiseMax(pointwiseMax(least - position, position - most), Vector3(repeating: 0)).length
  }
}

extension Circle {
  var bounds: SpaceBox {
    // On the sphere of directions, whose unit is at least the semi-minor axis.
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
    // The surface bulges out of the vertices' hull by what lies between a cap and its base.
    let angle = atan(extent / GnomonicPlane.radius)
    box.grow(by: WGS84.semiMajorAxis * (1 - cos(angle)))
    return box
  }
}

extension SurfacePoint {
  static let scale = Vector3(WGS84.semiMajorAxis, WGS84.semiMajorAxis, WGS84.semiMinorAxis)
}
