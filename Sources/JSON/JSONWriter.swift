internal import Bytes

/// A writer of one JSON object into a byte buffer, with numbers in fixed decimals and keys in the order of
/// the calls.
///
/// `JSONEncoder` needs about 30 µs per message and links Foundation; this writer needs about 1 µs. Its output
/// is deterministic, and each number has only its significant decimals. Values that JSON cannot represent
/// (NaN, infinities) are omitted together with their key, as is nil.
package struct JSONWriter: Sendable {
  /// The text written so far.
  package private(set) var bytes: [UInt8]
  private var needsComma = false

  /// Creates a writer.
  ///
  /// - Parameter capacity: bytes to reserve. The default lets a typical message grow the buffer at most once.
  package init(capacity: Int = 320) {
    bytes = []
    bytes.reserveCapacity(capacity)
  }

  /// Writes a whole object and returns its bytes.
  package static func object(_ body: (inout JSONWriter) -> Void) -> [UInt8] {
    var writer = JSONWriter()
    writer.openObject()
    body(&writer)
    writer.closeObject()
    return writer.bytes
  }

  package mutating func openObject() { open("{") }
  package mutating func closeObject() { close("}") }
  package mutating func openArray() { open("[") }
  package mutating func closeArray() { close("]") }

  /// Writes a key; its value must follow.
  package mutating func key(_ name: StaticString) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    name.withUTF8Buffer { unsafe bytes.append(contentsOf: $0) }
    bytes.append(UInt8(ascii: "\""))
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  /// Writes a key that is determined at run time.
  package mutating func key(_ name: String) {
    separate()
    bytes.appendJSON(quoting: name)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  package mutating func value(_ text: String) {
    separate()
    bytes.appendJSON(quoting: text)
    needsComma = true
  }

  package mutating func value(_ flag: Bool) {
    separate()
    bytes.append(contentsOf: (flag ? "true" : "false").utf8)
    needsComma = true
  }

  package mutating func value(_ number: some FixedWidthInteger) {
    separate()
    bytes.append(decimal: number)
    needsComma = true
  }

  /// Writes a number with at most `decimals` decimals, without trailing zeros; `null` for NaN and infinities.
  package mutating func value(_ number: Double, decimals: Int) {
    separate()
    if !bytes.append(decimal: number, places: decimals) { bytes.append(contentsOf: "null".utf8) }
    needsComma = true
  }

  /// Writes any value: objects sorted by key, numbers with at most nine decimals.
  package mutating func value(_ json: JSONValue) {
    switch json {
    case .null: raw(Array("null".utf8))
    case .bool(let flag): value(flag)
    case .integer(let number): value(number)
    case .number(let number): value(number, decimals: 9)
    case .string(let text): value(text)
    case .array(let elements):
      openArray()
      for element in elements { value(element) }
      closeArray()
    case .object(let members):
      openObject()
      for (name, member) in members.sorted(by: { $0.key < $1.key }) {
        key(name)
        value(member)
      }
      closeObject()
    }
  }

  // MARK: Key and value in one; a nil or non-finite value leaves out both.

  package mutating func field(_ name: StaticString, _ text: String?) {
    guard let text else { return }
    key(name)
    value(text)
  }

  package mutating func field(_ name: StaticString, _ flag: Bool?) {
    guard let flag else { return }
    key(name)
    value(flag)
  }

  package mutating func field(_ name: StaticString, _ number: (some FixedWidthInteger)?) {
    guard let number else { return }
    key(name)
    value(number)
  }

  package mutating func field(_ name: StaticString, _ number: Double?, decimals: Int) {
    guard let number, number.isFinite else { return }
    key(name)
    value(number, decimals: decimals)
  }

  package mutating func field(_ name: StaticString, _ object: (inout JSONWriter) -> Void) {
    key(name)
    openObject()
    object(&self)
    closeObject()
  }

  /// Writes an array with an object for each element.
  @inlinable package mutating func field<Element>(
    _ name: StaticString, objects elements: some Sequence<Element>,
    _ write: (inout JSONWriter, Element) -> Void
  ) {
    key(name)
    openArray()
    for element in elements {
      openObject()
      write(&self, element)
      closeObject()
    }
    closeArray()
  }

  package mutating func field(_ name: StaticString, numbers: [Double], decimals: Int) {
    key(name)
    openArray()
    for number in numbers { value(number, decimals: decimals) }
    closeArray()
  }

  package mutating func field(_ name: StaticString, texts: [String]) {
    key(name)
    openArray()
    for text in texts { value(text) }
    closeArray()
  }

  /// Writes a value that is already JSON.
  package mutating func raw(_ json: [UInt8]) {
    separate()
    bytes.append(contentsOf: json)
    needsComma = true
  }

  /// Removes and returns the text written so far. Later calls continue the same object.
  package mutating func takeBytes() -> [UInt8] {
    var taken: [UInt8] = []
    taken.reserveCapacity(bytes.count)
    swap(&taken, &bytes)
    return taken
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
}
