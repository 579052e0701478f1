internal import Glibc

/// The union of overlapping parts, each an outer ring without its holes.
///
/// Vertices lie on an integer grid. Edges are split where they meet, until they meet at their ends only (iterated snap rounding).
/// An edge bounds the union if exactly one of its sides is inside. All decisions are exact, so the boundary always consists of
/// closed rings.
struct PolygonUnion {
  typealias Node = SIMD2<Int64>

  /// Maximum number of edges after splitting; the parts of a map need far fewer.
  private static let mostEdges = 1_000_000
  /// Maximum number of rounds of splitting. A round can create new crossings, because rounding moves the
  /// edges, but by less than a grid step, so that few rounds suffice.
  private static let mostRounds = 40

  private struct Edge {
    var a, b: Node
    var ring: Int
    var left: Int64 { min(a.x, b.x) }
    var right: Int64 { max(a.x, b.x) }
  }

  /// Metres of a grid step: a power of two, so that 24 bits hold every coordinate.
  private let step: Double
  private var edges: [Edge] = []
  /// For each ring, the ring that it is a hole of.
  private let holes: [Int?]

  /// - Parameters:
  ///   - holes: for each ring, the ring that it is a hole of.
  ///   - extent: metres from the origin to the farthest vertex.
  init(_ rings: [PlaneRing], holes: [Int?], extent: Double) {
    self.holes = holes
    step = exp2((log2(max(extent, 1))).rounded(.up) - 24)
    for (number, ring) in rings.enumerated() {
      let nodes = ring.points.map { point in
        Node(Int64((Double(point.x) / step).rounded()), Int64((Double(point.y) / step).rounded()))
      }
      for (index, a) in nodes.enumerated() {
        let b = nodes[(index + 1) % nodes.count]
        if a != b { edges.append(Edge(a: a, b: b, ring: number)) }
      }
    }
  }

  /// Returns whether two rings of different parts, or two holes of one part, could overlap.
  static func isNeeded(_ rings: [PlaneRing], holes: [Int?]) -> Bool {
    let boxes = rings.map { ring in
      ring.points.reduce((ring.points[0], ring.points[0])) {
        (pointwiseMin($0.0, $1), pointwiseMax($0.1, $1))
      }
    }
    return boxes.indices.contains { i in
      boxes.indices[(i + 1)...].contains { j in
        (holes[i] == nil) == (holes[j] == nil) && holes[i] == holes[j]
          && all((boxes[i].0 .<= boxes[j].1) .& (boxes[j].0 .<= boxes[i].1))
      }
    }
  }

  /// The rings of the union, with the area to the left of every edge; nil if the edges cross too often.
  mutating func boundary() -> [[SIMD2<Float>]]? {
    guard split() else { return nil }
    return link(boundaryEdges())
  }

  // MARK: Splitting

  /// Splits edges until they meet at their ends only.
  private mutating func split() -> Bool {
    for _ in 0..<Self.mostRounds {
      edges.sort { $0.left < $1.left }
      var cuts: [Int: [Node]] = [:]
      var count = 0
      for (index, edge) in edges.enumerated() {
        let right = edge.right
        for other in (index + 1)..<edges.count {
          if edges[other].left > right { break }
          let (mine, theirs) = Self.cuts(edge, edges[other])
          for node in mine { cuts[index, default: []].append(node) }
          for node in theirs { cuts[other, default: []].append(node) }
          count += mine.count + theirs.count
        }
        if edges.count + count > Self.mostEdges { return false }
      }
      if cuts.isEmpty { return true }
      for (index, nodes) in cuts {
        let edge = edges[index]
        let way = edge.b &- edge.a
        func along(_ node: Node) -> Int64 { Self.dot(node &- edge.a, way) }
        var chain = [edge.a] + nodes.sorted { along($0) < along($1) } + [edge.b]
        chain = chain.indices.filter { $0 == 0 || chain[$0] != chain[$0 - 1] }.map { chain[$0] }
        guard chain.count > 1 else { continue }
        edges[index].b = chain[1]
        for next in 1..<(chain.count - 1) {
          edges.append(Edge(a: chain[next], b: chain[next + 1], ring: edge.ring))
        }
      }
    }
    return false
  }

  /// Returns the points at which two edges must be split.
  private static func cuts(_ e: Edge, _ f: Edge) -> ([Node], [Node]) {
    if max(e.a.y, e.b.y) < min(f.a.y, f.b.y) || min(e.a.y, e.b.y) > max(f.a.y, f.b.y) { return ([], []) }
    let (s, t) = (side(e.a, e.b, f.a), side(e.a, e.b, f.b))
    let (u, v) = (side(f.a, f.b, e.a), side(f.a, f.b, e.b))
    if (s > 0) != (t > 0), (u > 0) != (v > 0), s != 0, t != 0, u != 0, v != 0 {
      let fraction = Double(u) / (Double(u) - Double(v))
      let way = e.b &- e.a
      let node = Node(
        e.a.x + Int64((Double(way.x) * fraction).rounded()),
        e.a.y + Int64((Double(way.y) * fraction).rounded()))
      return (
        node == e.a || node == e.b ? [] : [node], node == f.a || node == f.b ? [] : [node]
      )
    }
    var (mine, theirs) = ([Node](), [Node]())
    if s == 0, isWithin(f.a, e) { mine.append(f.a) }
    if t == 0, isWithin(f.b, e) { mine.append(f.b) }
    if u == 0, isWithin(e.a, f) { theirs.append(e.a) }
    if v == 0, isWithin(e.b, f) { theirs.append(e.b) }
    return (mine, theirs)
  }

  /// Returns whether a node on an edge's line lies between its ends.
  private static func isWithin(_ node: Node, _ edge: Edge) -> Bool {
    node != edge.a && node != edge.b && min(edge.a.x, edge.b.x) <= node.x && node.x <= max(edge.a.x, edge.b.x)
      && min(edge.a.y, edge.b.y) <= node.y && node.y <= max(edge.a.y, edge.b.y)
  }

  private static func side(_ a: Node, _ b: Node, _ p: Node) -> Int64 {
    (b.x - a.x) * (p.y - a.y) - (p.x - a.x) * (b.y - a.y)
  }

  private static func dot(_ a: Node, _ b: Node) -> Int64 { a.x * b.x + a.y * b.y }

  // MARK: Selection

  private struct Span: Hashable {
    /// The ends of a span: `a` is the left one, or the lower one of a vertical edge.
    var a, b: Node
  }

  /// The edges with exactly one side inside, directed so that the inside is to the left.
  private func boundaryEdges() -> [(Node, Node)] {
    // The rings that contain each edge. A ring that contains an edge twice is omitted, because it has no
    // boundary there.
    var rings: [Span: [Int]] = [:]
    for edge in edges {
      let isForward = (edge.a.x, edge.a.y) < (edge.b.x, edge.b.y)
      let span = isForward ? Span(a: edge.a, b: edge.b) : Span(a: edge.b, b: edge.a)
      Self.toggle(edge.ring, in: &rings[span, default: []])
    }
    let columns = Columns(edges.filter { $0.a.x != $0.b.x }.map { ($0.left, $0.right) })
    let slanted = edges.filter { $0.a.x != $0.b.x }
    return rings.compactMap { span, own in
      guard !own.isEmpty else { return nil }
      // Twice the midpoint of the edge. A ray starts just above it and goes up; for a vertical edge, just to its left.
      let middle = span.a &+ span.b
      var hits: [Int] = []
      for index in columns.spans(over: middle.x) {
        let edge = slanted[index]
        guard 2 * edge.left < middle.x, middle.x <= 2 * edge.right else { continue }
        let (a, b) = edge.a.x < edge.b.x ? (edge.a, edge.b) : (edge.b, edge.a)
        // The midpoint is to the right of the edge from left to right, so it is below the edge and the ray
        // crosses the edge.
        if Self.side(a &+ a, b &+ b, middle) < 0 { Self.toggle(edge.ring, in: &hits) }
      }
      let isInside = covers(hits)
      for ring in own { Self.toggle(ring, in: &hits) }
      guard covers(hits) != isInside else { return nil }
      // `isInside` refers to the side to the left of the direction from `span.a` to `span.b`.
      return isInside ? (span.a, span.b) : (span.b, span.a)
    }
  }

  /// Returns whether a point belongs to the union, given the rings that enclose it: it is inside an outer
  /// ring and in none of its holes.
  private func covers(_ rings: [Int]) -> Bool {
    rings.contains { outer in holes[outer] == nil && !rings.contains { holes[$0] == outer } }
  }

  private static func toggle(_ ring: Int, in rings: inout [Int]) {
    if let index = rings.firstIndex(of: ring) { rings.remove(at: index) } else { rings.append(ring) }
  }

  /// An index of spans by coordinate, so that a search checks only nearby spans.
  private struct Columns {
    private var columns: [[Int]]
    private let first: Int64
    private let width: Int64

    init(_ spans: [(Int64, Int64)]) {
      first = spans.reduce(.max) { min($0, $1.0) }
      let last = spans.reduce(.min) { max($0, $1.1) }
      let count: Int64 = 256
      width = spans.isEmpty ? 1 : (last - first) / count + 1
      columns = Array(repeating: [], count: Int(count))
      for (index, span) in spans.enumerated() {
        for column in (span.0 - first) / width...(span.1 - first) / width {
          columns[Int(column)].append(index)
        }
      }
    }

    /// Returns the indices of spans that may contain a coordinate.
    /// - Parameter doubled: twice the coordinate, so that midpoints are integers.
    func spans(over doubled: Int64) -> [Int] {
      // Uses the column just left of the coordinate, because a span includes its right end but not its left
      // end.
      let column = ((doubled - 1) / 2 - first) / width
      return columns.indices.contains(Int(column)) && doubled > 2 * first ? columns[Int(column)] : []
    }
  }

  // MARK: Linking

  private func link(_ edges: [(Node, Node)]) -> [[SIMD2<Float>]] {
    var next: [Node: [Node]] = [:]
    for (a, b) in edges { next[a, default: []].append(b) }
    var rings: [[SIMD2<Float>]] = []
    for (start, _) in edges {
      while var node = next[start]?.popLast() {
        var ring = [start]
        while node != start {
          let way = node &- ring[ring.count - 1]
          ring.append(node)
          // At a node where rings touch, the sharpest left turn follows the same face.
          guard let choices = next[node],
            let index = choices.indices.max(by: { i, j in
              Self.turn(way, choices[i] &- node) < Self.turn(way, choices[j] &- node)
            })
          else { break }
          node = next[node]?.remove(at: index) ?? start
        }
        rings.append(Self.withoutMiddles(ring).map { SIMD2<Float>(SIMD2<Double>($0) * step) })
      }
    }
    return rings.filter { $0.count > 2 }
  }

  /// Returns the change of direction from `way` to `next` in rad, positive to the left.
  private static func turn(_ way: Node, _ next: Node) -> Double {
    atan2(Double(way.x * next.y - way.y * next.x), Double(dot(way, next)))
  }

  /// Removes the nodes of a ring that lie on a straight line between their neighbours.
  private static func withoutMiddles(_ ring: [Node]) -> [Node] {
    ring.indices.filter { index in
      side(ring[(index + ring.count - 1) % ring.count], ring[index], ring[(index + 1) % ring.count]) != 0
    }.map { ring[$0] }
  }
}
