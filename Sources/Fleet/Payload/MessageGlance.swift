internal import Bytes
internal import JSON
package import Spatial

/// What a count needs of a payload: its number and its time, found in one pass and without building anything of the
/// rest, which would cost ten times as much.
///
/// Only members of the outermost object count. What is no JSON object has nothing.
package struct MessageGlance: Hashable, Sendable {
  /// A hash of the epoch's text; nil without one.
  package var epoch: UInt64?
  package var seq: Int64?
  package var time: UTCTime?
  package var isWill = false
  /// Whether the payload is one JSON object.
  package var isObject = false
  /// Whether it names a time that is none.
  package var hasWrongTime = false

  package init(_ payload: [UInt8]) {
    guard payload.first(where: { $0 > 0x20 }) == UInt8(ascii: "{") else { return }
    var glance = MessageGlance()
    guard JSONScan(membersOf: payload.span, &glance).isValid else { return }
    self = glance
    isObject = true
  }

  private init() {}
}

extension MessageGlance: JSONMemberVisitor {
  // Inside of the scan's loop it would take the registers that most bytes need.
  @inline(never) package mutating func visit(_ key: Range<Int>, _ value: Range<Int>, of bytes: Span<UInt8>) {
    switch key.count {
    case 3 where bytes.equals(key, "seq"): seq = bytes.jsonNatural(value)
    // The OwnTracks format's time, and its will.
    case 3 where bytes.equals(key, "tst"):
      time = bytes.jsonNatural(value).flatMap { seconds in
        seconds < 9_000_000_000 ? UTCTime(nanoseconds: seconds * 1_000_000_000) : nil
      }
    case 5 where bytes.equals(key, "_type"): isWill = bytes.equals(value, "\"lwt\"")
    case 4 where bytes.equals(key, "time"):
      time = Self.time(bytes, value)
      hasWrongTime = time == nil
    case 4 where bytes.equals(key, "will"): isWill = bytes.equals(value, "true")
    case 5 where bytes.equals(key, "epoch"):
      guard bytes[value.lowerBound] == UInt8(ascii: "\"") else { return }
      epoch = FNV1a.hash64(bytes.extracting(value))
    default: break
    }
  }

  private static func time(_ bytes: Span<UInt8>, _ range: Range<Int>) -> UTCTime? {
    guard (22...42).contains(range.count), bytes[range.lowerBound] == UInt8(ascii: "\"") else { return nil }
    return UTCTime(rfc3339UTF8: bytes.extracting(range.lowerBound + 1..<range.upperBound - 1))
  }
}
