/// An error in a JSON text: invalid syntax, or an unexpected value.
public struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The reason, with line and column for a syntax error or with the key's path for an unexpected value.
  public var description: String

  public init(_ description: String) {
    self.description = description
  }
}

/// A parsed JSON value. Of duplicate keys in an object the last one is used. A number is an integer only if
/// its text has neither a fraction nor an exponent and it fits in 64 bits.
public enum JSONValue: Sendable, Hashable {
  case null
  case bool(Bool)
  case integer(Int64)
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  /// Parses UTF-8 text that holds one value of any type and nothing else: strict RFC 8259, nesting at most 512 deep,
  /// numbers beyond a double refused. A byte order mark at the beginning is ignored.
  ///
  /// - Throws: `JSONError` naming line and column.
  public init(parsing text: [UInt8]) throws(JSONError) {
    let bytes = text.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(text.dropFirst(3)) : text
    var builder = JSONBuilder()
    switch JSONScan(bytes.span, &builder) {
    case .valid, .validAfterEscaping: self = builder.root
    case .invalid(let offset):
      let found = offset < bytes.count ? "unexpected text" : "the text ends too early"
      throw JSONError("\(Self.place(of: offset, in: bytes)): \(found)")
    case .stopped:
      throw JSONError("\(Self.place(of: builder.offset, in: bytes)): the number is too large")
    }
  }

  /// Returns line and column (in bytes), both counted from 1.
  private static func place(of offset: Int, in bytes: [UInt8]) -> String {
    let before = bytes[..<offset]
    let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    let line = before.count { $0 == UInt8(ascii: "\n") } + 1
    return "line \(line) column \(offset - start + 1)"
  }
}

/// A visitor that builds values from tokens.
private struct JSONBuilder: JSONVisitor {
  private(set) var root = JSONValue.null
  /// The offset of a number that is too large.
  private(set) var offset = 0
  private var open: [Level] = []

  private enum Level {
    case array([JSONValue])
    case object([String: JSONValue], name: String)
  }

  mutating func visit(name: Range<Int>, hasEscapes: Bool, depth: Int, of bytes: Span<UInt8>) -> Bool {
    if case .object(let members, _) = open.removeLast() {
      open.append(.object(members, name: bytes.text(name, hasEscapes: hasEscapes)))
    }
    return true
  }

  mutating func visit(_ scalar: JSONScalar, _ range: Range<Int>, depth: Int, of bytes: Span<UInt8>) -> Bool {
    switch scalar {
    case .null: add(.null)
    case .true: add(.bool(true))
    case .false: add(.bool(false))
    case .string(let hasEscapes):
      add(.string(bytes.text(range.lowerBound + 1..<range.upperBound - 1, hasEscapes: hasEscapes)))
    case .number:
      let text = bytes.text(range, hasEscapes: false)
      if let integer = Int64(text) {
        add(.integer(integer))
      } else if let number = Double(text), number.isFinite {
        add(.number(number))
      } else {
        offset = range.lowerBound
        return false
      }
    }
    return true
  }

  mutating func open(isObject: Bool, at offset: Int, depth: Int, of bytes: Span<UInt8>) -> Bool {
    open.append(isObject ? .object([:], name: "") : .array([]))
    return true
  }

  mutating func close(at offset: Int, depth: Int) -> Bool {
    switch open.removeLast() {
    case .array(let elements): add(.array(elements))
    case .object(let members, _): add(.object(members))
    }
    return true
  }

  private mutating func add(_ value: JSONValue) {
    switch open.popLast() {
    case nil: root = value
    case .array(var elements):
      elements.append(value)
      open.append(.array(elements))
    case .object(var members, let name):
      members[name] = value
      open.append(.object(members, name: name))
    }
  }
}
extension JSONValue {
  /// The member of an object; nil if this is not an object, the key is missing or the member is null.
  public subscript(name: String) -> JSONValue? {
    guard case .object(let members) = self, let member = members[name], member != .null else { return nil }
    return member
  }

  public var string: String? { if case .string(let text) = self { text } else { nil } }
  public var bool: Bool? { if case .bool(let flag) = self { flag } else { nil } }
  public var array: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }
  public var integer: Int64? { if case .integer(let number) = self { number } else { nil } }

  /// Any number as a double; nil for other values.
  public var double: Double? {
    switch self {
    case .integer(let number): Double(number)
    case .number(let number): number
    default: nil
    }
  }

  /// The value as compact JSON, with members sorted by name and numbers with all digits.
  public var text: String {
    switch self {
    case .null: return "null"
    case .bool(let flag): return flag ? "true" : "false"
    case .integer(let number): return "\(number)"
    case .number(let number): return number.isFinite ? "\(number)" : "null"
    case .string(let text): return Self.quoted(text)
    case .array(let elements): return "[" + elements.map(\.text).joined(separator: ",") + "]"
    case .object(let members):
      let parts = members.sorted { $0.key < $1.key }.map { Self.quoted($0.key) + ":" + $0.value.text }
      return "{" + parts.joined(separator: ",") + "}"
    }
  }

  private static func quoted(_ text: String) -> String {
    var bytes: [UInt8] = []
    bytes.appendJSON(quoting: text)
    return String(decoding: bytes, as: UTF8.self)
  }
}

// Members with checks of type and range. Unknown members are ignored.

extension JSONValue {
  package func required(_ name: String, in range: ClosedRange<Double>) throws(JSONError) -> Double {
    guard let value = try optional(name, in: range) else { throw JSONError("key \"\(name)\": missing") }
    return value
  }

  package func optional(_ name: String, in range: ClosedRange<Double>) throws(JSONError) -> Double? {
    guard let member = self[name] else { return nil }
    guard let value = member.double else { throw JSONError("key \"\(name)\": not a number") }
    guard range.contains(value) else {
      throw JSONError("key \"\(name)\": \(value) is not within \(range.lowerBound) to \(range.upperBound)")
    }
    return value
  }
}
