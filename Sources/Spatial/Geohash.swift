internal import Glibc

/// A cell of the earth by its geohash (G. Niemeyer, 2008): each character halves longitude and latitude five times in turn.
///
/// Of four characters it is 0.176° high and 0.352° wide: 20 by 39 km at the equator, 20 by 26 km at 48°.
public struct Geohash: Hashable, Sendable, Comparable, CustomStringConvertible {
  /// 1 ... 12 characters.
  public let text: String
  /// Degrees: the corners in the south west and the north east.
  public let (southWest, northEast): (Coordinate, Coordinate)

  public var description: String { text }

  private static let alphabet = Array("0123456789bcdefghjkmnpqrstuvwxyz".utf8)

  /// - Parameters:
  ///   - coordinate: within the cell; nil comes of one that is not valid.
  ///   - length: characters, 1 ... 12.
  public init?(_ coordinate: Coordinate, length: Int) {
    guard coordinate.isValid, (1...12).contains(length) else { return nil }
    let bits = 5 * length
    // The sides in the north and the east belong to the last cell of each.
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

  /// - Parameter text: lower case; nil comes of one that is no geohash of 1 ... 12 characters.
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

  /// Whether a place is in it, or on its border.
  public func contains(_ coordinate: Coordinate) -> Bool {
    (southWest.latitude...northEast.latitude).contains(coordinate.latitude)
      && (southWest.longitude...northEast.longitude).contains(coordinate.longitude)
  }

  /// The cells that a square around a place touches, in order.
  /// - Parameters:
  ///   - margin: metres from the place to the square's sides, at most some kilometres less than a cell is wide.
  ///   - length: characters, 1 ... 12.
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
