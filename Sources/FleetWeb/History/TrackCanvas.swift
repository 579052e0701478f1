internal import Glibc

/// A selection of the visible parts of many driven routes: each part of the map is drawn once, by the newest
/// route through it.
///
/// The map is divided into cells of some pixels. Parts of a route through cells of earlier routes are
/// omitted. A year of trips over the same road is therefore one line, and the response is bounded by the size
/// of the map.
struct TrackCanvas {
  /// The size of a cell in pixels; closer lines are indistinguishable.
  private static let cell = 4.0
  /// The maximum size of a map in pixels: twice a screen of 3,840.
  static let mostPixels = 8192.0
  /// The maximum number of positions in a response.
  static let mostPlaces = 50_000
  /// The limit of the web Mercator projection in degrees.
  static let mostLatitude = 85.051129

  private let scale: Double
  private let west: Double
  private let north: Double
  private let width: Double
  private let height: Double
  private let columns: Int
  /// For each cell, the number of the first route drawn through it, counted from 1; 0 for none.
  private var owners: [Int32]
  private var way: Int32 = 0
  private(set) var places = 0

  /// Creates a canvas; nil for an empty map and for one wider or higher than `mostPixels`.
  /// - Parameters:
  ///   - zoom: the zoom of the web Mercator projection: the world is 256 pixels wide at 0, and twice as wide
  ///     at each further level.
  init?(west: Double, south: Double, east: Double, north: Double, zoom: Double) {
    scale = 256 * exp2(zoom)
    self.west = Self.x(west) * scale
    self.north = Self.y(north) * scale
    width = Self.x(east) * scale - self.west
    height = Self.y(south) * scale - self.north
    guard width > 0, height > 0, width <= Self.mostPixels, height <= Self.mostPixels else { return nil }
    columns = Int(width / Self.cell) + 1
    owners = [Int32](repeating: 0, count: columns * (Int(height / Self.cell) + 1))
  }

  /// True while the drawn parts have fewer than `mostPlaces` positions.
  var hasRoom: Bool { places < Self.mostPlaces }

  private static func x(_ longitude: Double) -> Double { (longitude + 180) / 360 }

  private static func y(_ latitude: Double) -> Double {
    let bounded = min(max(latitude, -mostLatitude), mostLatitude) * .pi / 180
    return (1 - log(tan(bounded) + 1 / cos(bounded)) / .pi) / 2
  }

  /// Draws a route of alternating latitudes and longitudes in millionths of a degree. Returns its parts
  /// through cells without an earlier route, in the same format.
  mutating func draw(_ way: ArraySlice<Int32>) -> [[Int32]] {
    self.way += 1
    var parts: [[Int32]] = []
    var part: [Int32] = []
    var last: (index: Int, x: Double, y: Double)?
    for index in stride(from: way.startIndex, to: way.endIndex - 1, by: 2) {
      let x = Self.x(Double(way[index + 1]) * 1e-6) * scale - west
      let y = Self.y(Double(way[index]) * 1e-6) * scale - north
      guard let from = last else {
        last = (index, x, y)
        continue
      }
      // Positions within half a cell of the previous point are omitted, except the route's last one.
      let isLast = index + 2 >= way.endIndex - 1
      if !isLast, hypot(x - from.x, y - from.y) < Self.cell / 2 { continue }
      last = (index, x, y)
      // A step across the antimeridian is not drawn, because its line would cross the whole map.
      if abs(x - from.x) < scale / 2, mark((from.x, from.y), (x, y)) {
        if part.isEmpty { part = [way[from.index], way[from.index + 1]] }
        part += [way[index], way[index + 1]]
        places += 1
      } else if !part.isEmpty {
        parts.append(part)
        part = []
      }
    }
    if !part.isEmpty { parts.append(part) }
    places += parts.count
    return parts
  }

  /// Marks the cells of a line. Returns true if one of them has no earlier route.
  private mutating func mark(_ from: (x: Double, y: Double), _ to: (x: Double, y: Double)) -> Bool {
    guard max(from.x, to.x) >= 0, min(from.x, to.x) <= width, max(from.y, to.y) >= 0,
      min(from.y, to.y) <= height
    else { return false }
    let length = hypot(to.x - from.x, to.y - from.y)
    // The number of steps is limited, because most of a very long line is outside of the map.
    let steps = Int(min(length / (Self.cell / 2), 4 * Self.mostPixels)) + 1
    var isNew = false
    for step in 0...steps {
      let part = Double(step) / Double(steps)
      let (x, y) = (from.x + (to.x - from.x) * part, from.y + (to.y - from.y) * part)
      guard x >= 0, y >= 0, x <= width, y <= height else { continue }
      let cell = Int(y / Self.cell) * columns + Int(x / Self.cell)
      guard owners[cell] == 0 || owners[cell] == way else { continue }
      owners[cell] = way
      isNew = true
    }
    return isNew
  }
}
