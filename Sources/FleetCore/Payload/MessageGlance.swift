internal import Spatial

/// What a count needs of a payload: its number and its time, found in one pass and without building anything of the
/// rest, which would cost twenty times as much.
///
/// Only members of the outermost object count. What is not an object, or breaks off, has nothing.
struct MessageGlance: Hashable, Sendable {
  /// A hash of the epoch's text (FNV-1a); nil without one.
  var epoch: UInt64?
  var seq: UInt64?
  var time: UTCTime?
  var isWill = false
  /// Whether the payload is one whole object, as far as brackets and quotes tell.
  var isObject = false
  /// Whether it names a time that is none.
  var hasWrongTime = false

  init(_ payload: [UInt8]) {
    var reader = Reader()
    let bytes = payload.span
    reader.skipSpace(bytes)
    guard reader.take(UInt8(ascii: "{"), bytes) else { return }
    reader.skipSpace(bytes)
    if reader.take(UInt8(ascii: "}"), bytes) {
      isObject = reader.isAtEnd(bytes)
      return
    }
    while true {
      reader.skipSpace(bytes)
      guard let key = reader.string(bytes) else { return }
      reader.skipSpace(bytes)
      guard reader.take(UInt8(ascii: ":"), bytes) else { return }
      reader.skipSpace(bytes)
      let start = reader.position
      guard reader.skipValue(bytes) else { return }
      note(bytes, key: key, value: start..<reader.position)
      reader.skipSpace(bytes)
      if reader.take(UInt8(ascii: ","), bytes) { continue }
      isObject = reader.take(UInt8(ascii: "}"), bytes) && reader.isAtEnd(bytes)
      return
    }
  }

  private mutating func note(_ bytes: Span<UInt8>, key: Range<Int>, value: Range<Int>) {
    switch key.count {
    case 3 where Self.equal(bytes, key, "seq"): seq = Self.number(bytes, value)
    // The OwnTracks format's time, and its will.
    case 3 where Self.equal(bytes, key, "tst"):
      time = Self.number(bytes, value).flatMap { seconds in
        seconds < 9_000_000_000 ? UTCTime(nanoseconds: Int64(seconds) * 1_000_000_000) : nil
      }
    case 5 where Self.equal(bytes, key, "_type"): isWill = Self.equal(bytes, value, "\"lwt\"")
    case 4 where Self.equal(bytes, key, "time"):
      time = Self.time(bytes, value)
      hasWrongTime = time == nil
    case 4 where Self.equal(bytes, key, "will"): isWill = Self.equal(bytes, value, "true")
    case 5 where Self.equal(bytes, key, "epoch"):
      guard bytes[value.lowerBound] == UInt8(ascii: "\"") else { return }
      var hash: UInt64 = 0xcbf2_9ce4_8422_2325
      for index in value { hash = (hash ^ UInt64(bytes[index])) &* 0x100_0000_01b3 }
      epoch = hash
    default: break
    }
  }

  private static func equal(_ bytes: Span<UInt8>, _ range: Range<Int>, _ text: StaticString) -> Bool {
    guard range.count == text.utf8CodeUnitCount else { return false }
    for offset in 0..<range.count where unsafe bytes[range.lowerBound + offset] != text.utf8Start[offset] {
      return false
    }
    return true
  }

  private static func number(_ bytes: Span<UInt8>, _ range: Range<Int>) -> UInt64? {
    guard range.count <= 20 else { return nil }
    var number: UInt64 = 0
    for index in range {
      guard (0x30...0x39).contains(bytes[index]) else { return nil }
      let (tens, isLarge) = number.multipliedReportingOverflow(by: 10)
      let (sum, isLarger) = tens.addingReportingOverflow(UInt64(bytes[index] - 0x30))
      guard !isLarge, !isLarger else { return nil }
      number = sum
    }
    // The contract's numbers are those of JSON readers with signed integers.
    return number <= UInt64(Int64.max) ? number : nil
  }

  private static func time(_ bytes: Span<UInt8>, _ range: Range<Int>) -> UTCTime? {
    guard (22...42).contains(range.count), bytes[range.lowerBound] == UInt8(ascii: "\"") else { return nil }
    return UTCTime(rfc3339UTF8: bytes.extracting(range.lowerBound + 1..<range.upperBound - 1))
  }
}

extension MessageGlance {
  private struct Reader {
    private(set) var position = 0

    func isAtEnd(_ bytes: Span<UInt8>) -> Bool {
      var rest = self
      rest.skipSpace(bytes)
      return rest.position == bytes.count
    }

    mutating func skipSpace(_ bytes: Span<UInt8>) {
      while position < bytes.count, bytes[position] == 0x20 || (0x09...0x0D).contains(bytes[position]) {
        position += 1
      }
    }

    mutating func take(_ byte: UInt8, _ bytes: Span<UInt8>) -> Bool {
      guard position < bytes.count, bytes[position] == byte else { return false }
      position += 1
      return true
    }

    /// A string's text between its quotes, escapes as they stand.
    mutating func string(_ bytes: Span<UInt8>) -> Range<Int>? {
      guard take(UInt8(ascii: "\""), bytes) else { return nil }
      // In a variable of its own, which stays in a register: most bytes of a payload pass here.
      var index = position
      while index < bytes.count {
        let byte = bytes[index]
        if byte == UInt8(ascii: "\"") {
          defer { position = index + 1 }
          return position..<index
        }
        index += byte == UInt8(ascii: "\\") ? 2 : 1
      }
      position = index
      return nil
    }

    /// Goes behind a value, whatever it is. Brackets are counted, not matched.
    mutating func skipValue(_ bytes: Span<UInt8>) -> Bool {
      guard position < bytes.count else { return false }
      let first = bytes[position]
      if first == UInt8(ascii: "\"") { return string(bytes) != nil }
      guard first == UInt8(ascii: "{") || first == UInt8(ascii: "[") else { return skipWord(bytes) }
      var depth = 0
      repeat {
        switch bytes[position] {
        case UInt8(ascii: "\""):
          guard string(bytes) != nil else { return false }
          continue
        case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
        case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
        default: break
        }
        position += 1
      } while depth > 0 && position < bytes.count
      return depth == 0
    }

    /// Goes behind a number, or what stands in its place.
    private mutating func skipWord(_ bytes: Span<UInt8>) -> Bool {
      var index = position
      scan: while index < bytes.count {
        switch bytes[index] {
        case UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]"), 0x20, 0x0A, 0x0D, 0x09: break scan
        default: index += 1
        }
      }
      defer { position = index }
      return index > position
    }
  }
}
