/// Writes one JSON object into a byte buffer, with numbers in fixed decimals and keys in the order of the calls.
///
/// `JSONEncoder` takes some 30 µs a message and brings Foundation into the agent; this takes about one, its output
/// is the same on every run, and a number carries the decimals that it means and no more. Values that JSON cannot
/// carry (NaN, infinities) are left out together with their key, as nil is.
public struct JSONWriter: Sendable {
  /// The text so far.
  public private(set) var bytes: [UInt8]
  private var needsComma = false

  /// - Parameter capacity: bytes to reserve, so that a usual message grows the buffer once.
  public init(capacity: Int = 320) {
    bytes = []
    bytes.reserveCapacity(capacity)
  }

  /// Writes a whole object and returns its bytes.
  public static func object(_ body: (inout JSONWriter) -> Void) -> [UInt8] {
    var writer = JSONWriter()
    writer.openObject()
    body(&writer)
    writer.closeObject()
    return writer.bytes
  }

  public mutating func openObject() { open("{") }
  public mutating func closeObject() { close("}") }
  public mutating func openArray() { open("[") }
  public mutating func closeArray() { close("]") }

  /// Writes a key; its value must follow.
  public mutating func key(_ name: StaticString) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    name.withUTF8Buffer { unsafe bytes.append(contentsOf: $0) }
    bytes.append(UInt8(ascii: "\""))
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  /// Writes a key that is known only at run time.
  public mutating func key(_ name: String) {
    separate()
    quote(name)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  public mutating func value(_ text: String) {
    separate()
    quote(text)
    needsComma = true
  }

  public mutating func value(_ flag: Bool) {
    separate()
    bytes.append(contentsOf: (flag ? "true" : "false").utf8)
    needsComma = true
  }

  public mutating func value(_ number: some FixedWidthInteger) {
    separate()
    appendInteger(number.magnitude, negative: number < 0)
    needsComma = true
  }

  /// Writes a number with at most `decimals` places after the point (trailing zeros are left out); `null` for NaN
  /// and infinities.
  public mutating func value(_ number: Double, decimals: Int) {
    separate()
    if !appendFixed(number, decimals: decimals) { bytes.append(contentsOf: "null".utf8) }
    needsComma = true
  }

  // MARK: Key and value in one; a nil or non-finite value leaves out both.

  public mutating func field(_ name: StaticString, _ text: String?) {
    guard let text else { return }
    key(name)
    value(text)
  }

  public mutating func field(_ name: StaticString, _ flag: Bool?) {
    guard let flag else { return }
    key(name)
    value(flag)
  }

  public mutating func field(_ name: StaticString, _ number: (some FixedWidthInteger)?) {
    guard let number else { return }
    key(name)
    value(number)
  }

  public mutating func field(_ name: StaticString, _ number: Double?, decimals: Int) {
    guard let number, number.isFinite else { return }
    key(name)
    value(number, decimals: decimals)
  }

  public mutating func field(_ name: StaticString, _ object: (inout JSONWriter) -> Void) {
    key(name)
    openObject()
    object(&self)
    closeObject()
  }

  public mutating func field(_ name: StaticString, numbers: [Double], decimals: Int) {
    key(name)
    openArray()
    for number in numbers { value(number, decimals: decimals) }
    closeArray()
  }

  public mutating func field(_ name: StaticString, texts: [String]) {
    key(name)
    openArray()
    for text in texts { value(text) }
    closeArray()
  }

  /// Writes a value that is JSON already.
  public mutating func raw(_ json: [UInt8]) {
    separate()
    bytes.append(contentsOf: json)
    needsComma = true
  }

  // MARK: Bytes

  private mutating func open(_ bracket: Unicode.Scalar) {
    separate()
    bytes.append(UInt8(ascii: bracket))
    needsComma = false
  }

  private mutating func close(_ bracket: Unicode.Scalar) {
    bytes.append(UInt8(ascii: bracket))
    needsComma = true
  }

  private mutating func separate() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    needsComma = false
  }

  private mutating func quote(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    defer { bytes.append(UInt8(ascii: "\"")) }
    // Nearly all text needs no escape, and is then copied in one go.
    if text.utf8.allSatisfy(Self.isPlain) {
      bytes.append(contentsOf: text.utf8)
      return
    }
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\":
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(UInt8(ascii: scalar))
      case _ where scalar.isUnseen: for unit in scalar.utf16 { escape(unit) }
      case _ where scalar.isASCII: bytes.append(UInt8(ascii: scalar))
      default: bytes.append(contentsOf: scalar.utf8)
      }
    }
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    byte >= 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
  }

  private mutating func escape(_ unit: UInt16) {
    bytes.append(contentsOf: "\\u".utf8)
    for shift in stride(from: 12, through: 0, by: -4) {
      bytes.append(Self.hexDigit(UInt8(unit >> UInt16(shift) & 15)))
    }
  }

  private static func hexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }

  private mutating func appendInteger(_ magnitude: some FixedWidthInteger, negative: Bool) {
    if negative { bytes.append(UInt8(ascii: "-")) }
    let start = bytes.count
    var rest = UInt64(magnitude)
    repeat {
      bytes.append(UInt8(ascii: "0") + UInt8(rest % 10))
      rest /= 10
    } while rest > 0
    bytes[start...].reverse()
  }

  private static let powersOfTen: [Double] = [1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]

  /// Returns false for a number that has no place in JSON.
  private mutating func appendFixed(_ number: Double, decimals: Int) -> Bool {
    guard number.isFinite else { return false }
    let places = max(0, min(decimals, Self.powersOfTen.count - 1))
    let scaled = (abs(number) * Self.powersOfTen[places]).rounded()
    guard scaled < 1e18 else {
      // Beyond an integer's range the shortest exact form is the honest one.
      bytes.append(contentsOf: number.description.utf8)
      return true
    }
    var digits = UInt64(scaled)
    var count = places
    while count > 0, digits % 10 == 0 {
      digits /= 10
      count -= 1
    }
    if number < 0, digits != 0 { bytes.append(UInt8(ascii: "-")) }
    let start = bytes.count
    for _ in 0..<count {
      bytes.append(UInt8(ascii: "0") + UInt8(digits % 10))
      digits /= 10
    }
    if count > 0 { bytes.append(UInt8(ascii: ".")) }
    repeat {
      bytes.append(UInt8(ascii: "0") + UInt8(digits % 10))
      digits /= 10
    } while digits > 0
    bytes[start...].reverse()
    return true
  }
}
