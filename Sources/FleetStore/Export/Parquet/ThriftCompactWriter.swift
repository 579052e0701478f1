/// Writes Apache Thrift's compact protocol (thrift-compact-protocol.md), as far as Parquet's headers and footer need it.
///
/// A field is written with the distance of its number to the one before it, so fields come in the order of their numbers.
struct ThriftCompactWriter {
  /// The types as the protocol numbers them.
  enum ElementType: UInt8 {
    case int32 = 5
    case int64 = 6
    case binary = 8
    case list = 9
    case structure = 12
  }

  private(set) var bytes: [UInt8] = []
  private var lastField = 0

  /// The bytes of a structure that stands by itself.
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

  /// True and false are types of their own, which need no value.
  mutating func boolean(_ field: Int, _ value: Bool) { header(field, value ? 1 : 2) }

  mutating func binary(_ field: Int, _ value: [UInt8]) {
    header(field, ElementType.binary.rawValue)
    element(value)
  }

  mutating func structure(_ field: Int, _ body: (inout ThriftCompactWriter) -> Void) {
    header(field, ElementType.structure.rawValue)
    element(body)
  }

  /// A list, whose elements `body` writes, `count` of them.
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

  // MARK: Elements of lists

  /// An integer of any width: the protocol writes all alike.
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
  /// Seven bits a byte, the low ones first (ULEB128).
  mutating func append(variable value: UInt64) {
    var rest = value
    while rest > 0x7F {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(UInt8(rest))
  }
}
