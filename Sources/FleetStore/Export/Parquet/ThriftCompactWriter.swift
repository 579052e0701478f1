/// A writer of Apache Thrift's compact protocol (thrift-compact-protocol.md), limited to the types that
/// Parquet uses. A field header contains the difference from the previous field's number, so fields must be
/// written in ascending order.
struct ThriftCompactWriter {
  /// The type numbers of the protocol.
  enum ElementType: UInt8 {
    case int32 = 5
    case int64 = 6
    case binary = 8
    case list = 9
    case structure = 12
  }

  private(set) var bytes: [UInt8] = []
  private var lastField = 0

  /// Returns the bytes of a top-level structure.
  static func structure(_ body: (inout ThriftCompactWriter) -> Void) -> [UInt8] {
    var writer = ThriftCompactWriter()
    writer.element(body)
    return writer.bytes
  }

  // MARK: Fields

  mutating func int32(_ field: Int, _ value: Int) {
    header(field, ElementType.int32.rawValue)
    element(value)
  }

  mutating func int64(_ field: Int, _ value: Int) {
    header(field, ElementType.int64.rawValue)
    element(value)
  }

  /// Writes a boolean field. Its value is part of the type in the field header.
  mutating func boolean(_ field: Int, _ value: Bool) { header(field, value ? 1 : 2) }

  mutating func binary(_ field: Int, _ value: [UInt8]) {
    header(field, ElementType.binary.rawValue)
    element(value)
  }

  mutating func structure(_ field: Int, _ body: (inout ThriftCompactWriter) -> Void) {
    header(field, ElementType.structure.rawValue)
    element(body)
  }

  /// Writes a list field; `body` must write `count` elements.
  mutating func list(
    _ field: Int, of type: ElementType, count: Int, _ body: (inout ThriftCompactWriter) -> Void
  ) {
    header(field, ElementType.list.rawValue)
    if count < 15 {
      bytes.append(UInt8(count) << 4 | type.rawValue)
    } else {
      bytes.append(0xF0 | type.rawValue)
      variable(UInt64(count))
    }
    body(&self)
  }

  // MARK: List elements

  /// Writes an integer element; integers of 16, 32 and 64 bits have the same encoding.
  mutating func element(_ value: Int) {
    let value = Int64(value)
    variable(UInt64(bitPattern: value << 1 ^ value >> 63))
  }

  mutating func element(_ value: [UInt8]) {
    variable(UInt64(value.count))
    bytes.append(contentsOf: value)
  }

  mutating func element(_ body: (inout ThriftCompactWriter) -> Void) {
    let outer = lastField
    lastField = 0
    body(&self)
    bytes.append(0)
    lastField = outer
  }

  private mutating func header(_ field: Int, _ type: UInt8) {
    let distance = field - lastField
    lastField = field
    if (1...15).contains(distance) {
      bytes.append(UInt8(distance) << 4 | type)
    } else {
      bytes.append(type)
      element(field)
    }
  }

  private mutating func variable(_ value: UInt64) { bytes.append(variable: value) }
}

extension [UInt8] {
  /// Appends a variable-length integer (ULEB128: seven bits per byte, low bits first).
  mutating func append(variable value: UInt64) {
    var rest = value
    while rest > 0x7F {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(UInt8(rest))
  }
}
