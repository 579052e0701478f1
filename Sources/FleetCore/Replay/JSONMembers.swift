internal import Telemetry

/// Changes members of a JSON object and leaves every other byte as it is: who changes a time is not to know every field of
/// every version.
enum JSONMembers {
  /// Longer names are nobody's that is looked for.
  private static let longestName = 64

  /// - Parameter change: is asked for each member of the outermost object by its name; nil leaves it.
  /// - Returns: the text with the changes; the same text where it is no object.
  static func replacing(in json: [UInt8], _ change: (String, JSONValue) -> JSONValue?) -> [UInt8] {
    guard JSONScan(json) != .invalid else { return json }
    var walker = Walker(json)
    var result: [UInt8] = []
    var copied = 0
    while let member = walker.next() {
      guard member.name.count <= longestName, let name = value(json[member.name])?.string,
        let old = value(json[member.value]), let new = change(name, old)
      else { continue }
      result += json[copied..<member.value.lowerBound]
      result += new.text.utf8
      copied = member.value.upperBound
    }
    return copied == 0 ? json : result + json[copied...]
  }

  private static func value(_ text: ArraySlice<UInt8>) -> JSONValue? {
    try? JSONValue(parsing: Array(text))
  }

  /// Finds the members of the outermost object in text that is known to be JSON.
  private struct Walker {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) {
      self.bytes = bytes
      skipSpace()
      position = isAt("{") ? position + 1 : bytes.count
    }

    /// The next member: its name with its quotes, and its value.
    mutating func next() -> (name: Range<Int>, value: Range<Int>)? {
      skipSpace()
      if isAt(",") { position += 1 }
      skipSpace()
      guard isAt("\"") else { return nil }
      let name = skipValue()
      skipSpace()
      position += 1
      skipSpace()
      return (name, skipValue())
    }

    private func isAt(_ character: Unicode.Scalar) -> Bool {
      position < bytes.count && bytes[position] == UInt8(ascii: character)
    }

    private mutating func skipSpace() {
      while position < bytes.count, bytes[position] <= 0x20 { position += 1 }
    }

    private mutating func skipValue() -> Range<Int> {
      let start = min(position, bytes.count)
      if isAt("\"") {
        skipString()
      } else if isAt("{") || isAt("[") {
        skipNested()
      } else {
        while position < bytes.count, bytes[position] > 0x20, !isAt(","), !isAt("}") { position += 1 }
      }
      return start..<max(start, position)
    }

    private mutating func skipString() {
      position += 1
      while position < bytes.count, !isAt("\"") { position += isAt("\\") ? 2 : 1 }
      position = min(position + 1, bytes.count)
    }

    private mutating func skipNested() {
      var depth = 0
      repeat {
        if isAt("\"") {
          skipString()
          continue
        }
        if isAt("{") || isAt("[") { depth += 1 }
        if isAt("}") || isAt("]") { depth -= 1 }
        position += 1
      } while depth > 0 && position < bytes.count
    }
  }
}
