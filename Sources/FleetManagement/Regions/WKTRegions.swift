internal import JSON
internal import Telemetry

/// A reader of regions in well-known text (ISO 19125), one per line: `POLYGON ((11.5 48.1, …))`,
/// `MULTIPOLYGON`, `POINT`, each with an optional name and colon or tab before it, and an optional
/// `SRID=4326;`.
enum WKTRegions {
  static func read(_ bytes: [UInt8]) throws(JSONError) -> [(place: String, json: JSONValue)] {
    guard let text = String(validating: bytes, as: UTF8.self) else { throw JSONError("not UTF-8 text") }
    var features: [(place: String, json: JSONValue)] = []
    for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      .enumerated()
    {
      let content = line.drop(while: \.isWhitespace)
      if content.isEmpty || content.hasPrefix("#") { continue }
      do throws(JSONError) {
        features.append(("line \(index + 1)", try feature(content, number: features.count + 1)))
      } catch { throw JSONError("line \(index + 1): \(error)") }
    }
    return features
  }

  private static func feature(_ line: Substring, number: Int) throws(JSONError) -> JSONValue {
    var name = "region-\(number)"
    var rest = line
    let open = line.firstIndex(of: "(") ?? line.endIndex
    if let end = line[..<open].lastIndex(where: { $0 == "\t" || $0 == ":" }) {
      let text = line[..<end].filter { $0 != "\"" }
      if !text.allSatisfy(\.isWhitespace) { name = text.trimmed }
      rest = line[line.index(after: end)...]
    }
    if let end = rest[..<(rest.firstIndex(of: "(") ?? rest.endIndex)].firstIndex(of: ";") {
      let system = rest[..<end].filter { !$0.isWhitespace }.uppercased()
      guard system == "SRID=4326" else {
        throw JSONError(
          "\(system.prefix(20)): coordinates have to be WGS 84, longitude before latitude (SRID=4326)")
      }
      rest = rest[rest.index(after: end)...]
    }
    var reader = Reader(rest)
    let geometry = try reader.geometry()
    return .feature(named: name, geometry: geometry)
  }

  private struct Reader {
    private var rest: Substring
    /// The maximum nesting of lists.
    private static let deepest = 3

    init(_ text: Substring) { rest = text }

    mutating func geometry() throws(JSONError) -> JSONValue {
      skipSpace()
      var word = rest.prefix { $0.isLetter }.uppercased()
      rest = rest.dropFirst(word.count)
      skipSpace()
      // The dimension, such as `Z`, is skipped, because heights are ignored.
      let dimension = rest.prefix { $0.isLetter }.uppercased()
      if ["Z", "M", "ZM"].contains(dimension) { rest = rest.dropFirst(dimension.count) }
      if dimension == "EMPTY" { throw JSONError("an empty \(word)") }
      let depth: Int
      switch word {
      case "POINT": (word, depth) = ("Point", 1)
      case "POLYGON": (word, depth) = ("Polygon", 2)
      case "MULTIPOLYGON": (word, depth) = ("MultiPolygon", 3)
      default: throw JSONError("\"\(word.prefix(20))\" is not POINT, POLYGON or MULTIPOLYGON")
      }
      let list = try list(depth: depth)
      skipSpace()
      guard rest.isEmpty else { throw JSONError("\"\(rest.prefix(20))\" after the end") }
      if word == "Point" {
        guard let position = list.array?.first else { throw JSONError("a point without coordinates") }
        return .object(["type": .string(word), "coordinates": position])
      }
      return .object(["type": .string(word), "coordinates": list])
    }

    private mutating func list(depth: Int) throws(JSONError) -> JSONValue {
      try expect("(")
      var elements: [JSONValue] = []
      while true {
        elements.append(depth > 1 ? try list(depth: depth - 1) : try position())
        skipSpace()
        if rest.first == "," {
          rest.removeFirst()
          continue
        }
        try expect(")")
        return .array(elements)
      }
    }

    private mutating func position() throws(JSONError) -> JSONValue {
      var numbers: [JSONValue] = []
      while true {
        skipSpace()
        let word = rest.prefix { $0 != "," && $0 != ")" && $0 != "(" && !$0.isWhitespace }
        if word.isEmpty { break }
        guard let number = Double(word), number.isFinite else {
          throw JSONError("\"\(word.prefix(20))\" is no number")
        }
        numbers.append(.number(number))
        rest = rest.dropFirst(word.count)
      }
      guard (2...4).contains(numbers.count) else {
        throw JSONError("a corner must be longitude and latitude")
      }
      return .array(Array(numbers.prefix(2)))
    }

    private mutating func expect(_ character: Character) throws(JSONError) {
      skipSpace()
      guard rest.first == character else {
        throw JSONError("expected \"\(character)\" before \"\(rest.prefix(20))\"")
      }
      rest.removeFirst()
    }

    private mutating func skipSpace() { rest = rest.drop(while: \.isWhitespace) }
  }
}

extension StringProtocol {
  fileprivate var trimmed: String {
    var text = self.drop(while: \.isWhitespace)
    while text.last?.isWhitespace == true { text.removeLast() }
    return String(text)
  }
}
