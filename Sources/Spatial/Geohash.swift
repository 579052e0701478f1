internal import Glibc

/// A cell of the earth's surface, identified by its geohash (G. Niemeyer, 2008). Each character halves
/// longitude and latitude alternately, five times in total.
///
/// A cell of four characters is 0.176° high and 0.352° wide: 20 by 39 km at the equator, 20 by 26 km at 48°.
public struct Geohash: Hashable, Sendable, Comparable, CustomStringConvertible {
  /// The geohash, 1 ... 12 characters.
  public let text: String
  /// The south-west and north-east corners in degrees.
  public let (southWest, northEast): (Coordinate, Coordinate)

  public var description: String { text }

  private static let alphabet = Array("0123456789bcdefghjkmnpqrstuvwxyz".utf8)

  /// Creates the cell that contains a coordinate.
  ///
  /// - Parameters:
  ///   - coordinate: a point in the cell; nil is returned for an invalid one.
  ///   - length: the number of characters, 1 ... 12.
  public init?(_ coordinate: Coordinate, length: Int) {
    guard coordinate.isValid, (1...12).contains(length) else { return nil }
    let bits = 5 * length
    // The northern and eastern limits of the coordinates belong to the last row and column.
    let latitudes = UInt64(1) << UInt64(bits / 2)
    let longitudes = UInt64(1) << UInt64(bits - bits / 2)
    let row = min(latitudes - 1, UInt64((coordinate.latitude + 90) / 180 * Double(latitudes)))
    let column = min(longitudes - 1, UInt64((coordinate.longitude + 180) / 360 * Double(longitudes)))
    var characters: [UInt8] = []
    var value = 0
    for bit in 0..<bits {
      let isLongitude = bit.isMultiple(of: 2)
      let left = UInt64((isLongitude ? bits - bits / 2 : bits / 2) - 1 - bit / 2)
      value = value << 1 | Int((isLongitude ? column : row) >> left & 1)
      if bit % 5 == 4 {
        characters.append(Self.alphabet[value])
        value = 0
      }
    }
    self.init(String(decoding: characters, as: UTF8.self))
  }

  /// Parses a geohash.
  ///
  /// - Parameter text: 1 ... 12 lower-case characters; nil is returned for any other text.
  public init?(_ text: String) {
    guard (1...12).contains(text.utf8.count) else { return nil }
    var (south, north, west, east) = (-90.0, 90.0, -180.0, 180.0)
    var isLongitude = true
    for character in text.utf8 {
      guard let value = Self.alphabet.firstIndex(of: character) else { return nil }
      for bit in [16, 8, 4, 2, 1] {
        if isLongitude {
          if value & bit != 0 { west = (west + east) / 2 } else { east = (west + east) / 2 }
        } else {
          if value & bit != 0 { south = (south + north) / 2 } else { north = (south + north) / 2 }
        }
        isLongitude.toggle()
      }
    }
    self.text = text
    southWest = Coordinate(latitude: south, longitude: west)
    northEast = Coordinate(latitude: north, longitude: east)
  }

  /// Returns whether a point lies in the cell or on its border.
  public func contains(_ coordinate: Coordinate) -> Bool {
    (southWest.latitude...northEast.latitude).contains(coordinate.latitude)
      && (southWest.longitude...northEast.longitude).contains(coordinate.longitude)
  }

  /// Returns the cells that intersect a square around a point, in ascending order.
  ///
  /// - Parameters:
  ///   - margin: metres from the point to the sides of the square; at most some kilometres less than the
  ///     width of a cell.
  ///   - length: the number of characters, 1 ... 12.
  public static func around(_ coordinate: Coordinate, margin: Double, length: Int) -> [Geohash] {
    let north = margin / 111_195
    let east = north / max(0.01, cos(coordinate.latitude.radians))
    var cells: Set<Geohash> = []
    for (up, right) in [(0, 0), (-1, -1), (-1, 1), (1, -1), (1, 1)] as [(Double, Double)] {
      let latitude = min(max(coordinate.latitude + up * north, -90), 90)
      var longitude = coordinate.longitude + right * east
      if longitude > 180 { longitude -= 360 } else if longitude < -180 { longitude += 360 }
      if let cell = Geohash(Coordinate(latitude: latitude, longitude: longitude), length: length) {
        cells.insert(cell)
      }
    }
    return cells.sorted()
  }

  public static func < (a: Geohash, b: Geohash) -> Bool { a.text < b.text }
}
