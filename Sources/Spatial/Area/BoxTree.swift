internal import Glibc

/// A spatial index of boxes, for queries by box and by position.
///
/// A tree with four boxes per node, split at medians of the widest axis. The four boxes of a node are compared
/// at once. Nodes are in one array in depth-first order; a node has 112 bytes, and a box needs a third of a
/// node. The tree is immutable: any change requires a new tree, which takes less than 0.1 s for
/// 100,000 boxes.
public struct BoxTree: Sendable {
  /// Up to four boxes, one per lane. Coordinates are rounded outward. A lane without a box contains NaN, which matches
  /// nothing, not even an infinite box.
  private struct Node {
    var leastX, leastY, leastZ: SIMD4<Float>
    var mostX, mostY, mostZ: SIMD4<Float>
    /// For each lane, the index of a node, or the complement of an item.
    var children: SIMD4<Int32>

    init() {
      leastX = SIMD4(repeating: .nan)
      (leastY, leastZ, mostX, mostY, mostZ) = (leastX, leastX, leastX, leastX, leastX)
      children = SIMD4()
    }
  }

  /// Number of boxes in a node.
  private static let width = 4
  /// Maximum number of nodes that wait for a visit: all but one lane of a node on each level.
  private static let stackSize = 3 * 16 + 1

  private var nodes: [Node] = []

  /// Creates an index without boxes.
  public init() {}

  /// Builds the index.
  ///
  /// - Parameter boxes: the boxes; an item is identified by its index in this array.
  public init(_ boxes: [SpaceBox]) {
    guard !boxes.isEmpty, boxes.count <= Int(Int32.max) else { return }
    var items = boxes.map { Item(box: $0) }
    for index in items.indices { items[index].number = Int32(index) }
    items.withUnsafeMutableBufferPointer { items in
      var capacity = 1
      while capacity * Self.width < items.count { capacity *= Self.width }
      nodes.append(Node())
      build(items, capacity: capacity, node: 0)
    }
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

  /// Fills a node with items.
  ///
  /// - Parameter capacity: number of items in each full lane; a power of the width.
  private mutating func build(_ items: UnsafeMutableBufferPointer<Item>, capacity: Int, node: Int) {
    let lanes = (items.count + capacity - 1) / capacity
    split(items, lanes: lanes, capacity: capacity)
    for lane in 0..<lanes {
      let part = UnsafeMutableBufferPointer(
        rebasing: items[lane * capacity..<min(items.count, (lane + 1) * capacity)])
      let (least, most) = Self.bounds(part)
      nodes[node].leastX[lane] = least.x
      nodes[node].leastY[lane] = least.y
      nodes[node].leastZ[lane] = least.z
      nodes[node].mostX[lane] = most.x
      nodes[node].mostY[lane] = most.y
      nodes[node].mostZ[lane] = most.z
      if part.count == 1 {
        nodes[node].children[lane] = ~part[0].number
      } else {
        nodes[node].children[lane] = Int32(nodes.count)
        nodes.append(Node())
        build(part, capacity: capacity / Self.width, node: nodes.count - 1)
      }
    }
  }

  /// Orders items so that those of each lane are adjacent.
  private func split(_ items: UnsafeMutableBufferPointer<Item>, lanes: Int, capacity: Int) {
    guard lanes > 1 else { return }
    let (least, most) = Self.bounds(items)
    let size = most - least
    let axis = size.x >= size.y ? (size.x >= size.z ? 0 : 2) : (size.y >= size.z ? 1 : 2)
    let middle = lanes / 2 * capacity
    Self.partition(items, at: middle, axis: axis)
    split(UnsafeMutableBufferPointer(rebasing: items[..<middle]), lanes: lanes / 2, capacity: capacity)
    split(
      UnsafeMutableBufferPointer(rebasing: items[middle...]), lanes: lanes - lanes / 2, capacity: capacity)
  }

  private static func bounds(_ items: UnsafeMutableBufferPointer<Item>) -> (SIMD3<Float>, SIMD3<Float>) {
    var (least, most) = (items[0].least, items[0].most)
    for item in items {
      least = pointwiseMin(least, item.least)
      most = pointwiseMax(most, item.most)
    }
    return (least, most)
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
    walk(
      least: SIMD3<Float>(box.least) - SIMD3(repeating: 1),
      most: SIMD3<Float>(box.most) + SIMD3(repeating: 1), body)
  }

  /// Calls `body` for each item whose box contains the position (m).
  @inline(__always)
  public func forEach(at position: Vector3, _ body: (Int) -> Void) {
    // Single precision rounds the position by half a metre. The boxes were grown by one metre to allow for
    // this.
    let place = SIMD3<Float>(position)
    walk(least: place, most: place, body)
  }

  @inline(__always)
  private func walk(least: SIMD3<Float>, most: SIMD3<Float>, _ body: (Int) -> Void) {
    guard !nodes.isEmpty else { return }
    nodes.withUnsafeBufferPointer { nodes in
      withUnsafeTemporaryAllocation(of: Int32.self, capacity: Self.stackSize) { stack in
        stack[0] = 0
        var count = 1
        while count > 0 {
          count -= 1
          let node = nodes[Int(stack[count])]
          let x = (node.leastX .<= most.x) .& (node.mostX .>= least.x)
          let y = (node.leastY .<= most.y) .& (node.mostY .>= least.y)
          let z = (node.leastZ .<= most.z) .& (node.mostZ .>= least.z)
          let matches = x .& y .& z
          guard any(matches) else { continue }
          for lane in 0..<Self.width where matches[lane] {
            let child = node.children[lane]
            if child < 0 {
              body(Int(~child))
            } else {
              stack[count] = child
              count += 1
            }
          }
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
