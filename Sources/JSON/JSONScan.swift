/// The outcome of a scan, which tells whether bytes are JSON without making anything of them: a reader that passes payloads
/// on does not need their values, and one that wants a few of them looks at those as they pass (`JSONVisitor`). Building
/// them all costs many times as much.
///
/// This is the one grammar: `JSONValue` is built by a visitor of it. RFC 8259 in UTF-8, and as in I-JSON (RFC 7493) no half of
/// a surrogate pair alone, which no string can hold.
@usableFromInline package enum JSONScan: Hashable, Sendable {
  /// Not one JSON value, or nested deeper than `deepest`; the offset of the first byte that does not fit.
  case invalid(at: Int)
  /// The visitor wanted no more.
  case stopped
  /// JSON that can stand in a line of output as it is.
  case valid
  /// JSON with tabs or line breaks between its parts, or with characters in its strings that a terminal acts upon.
  case validAfterEscaping

  @inlinable package static var deepest: Int { 512 }

  package init(_ bytes: Span<UInt8>) {
    var nobody = Nobody()
    self.init(bytes, &nobody)
  }

  @inlinable package init<Visitor: JSONVisitor>(_ bytes: Span<UInt8>, _ visitor: inout Visitor) {
    var scanner = JSONScanner(visitor)
    self = scanner.scan(bytes)
    visitor = scanner.visitor
  }

  @inlinable package init<Reader: JSONMemberVisitor>(membersOf bytes: Span<UInt8>, _ reader: inout Reader) {
    var scanner = JSONScanner(JSONMembers(reader))
    self = scanner.scan(bytes)
    reader = scanner.visitor.reader
  }

  package var isValid: Bool { self == .valid || self == .validAfterEscaping }

  private struct Nobody: JSONVisitor {}
}

/// What a scan tells of a text: names, scalars and brackets in their order, as ranges of bytes.
///
/// `depth` counts the objects and arrays around: a member of the outermost object has depth 1. A function that returns
/// false stops the scan. What was told holds only if the outcome is valid.
@usableFromInline package protocol JSONVisitor {
  /// A member's name, without its quotes; its value comes next.
  mutating func visit(name: Range<Int>, hasEscapes: Bool, depth: Int, of bytes: Span<UInt8>) -> Bool
  /// A string with its quotes, a number or a word.
  mutating func visit(_ scalar: JSONScalar, _ range: Range<Int>, depth: Int, of bytes: Span<UInt8>) -> Bool
  mutating func open(isObject: Bool, at offset: Int, depth: Int, of bytes: Span<UInt8>) -> Bool
  /// - Parameter offset: of the bracket.
  mutating func close(at offset: Int, depth: Int) -> Bool
}

@usableFromInline package enum JSONScalar: Hashable, Sendable {
  case string(hasEscapes: Bool)
  case number
  case null, `true`, `false`
}

extension JSONVisitor {
  @inlinable package mutating func visit(
    name: Range<Int>, hasEscapes: Bool, depth: Int, of bytes: Span<UInt8>
  ) -> Bool { true }
  @inlinable package mutating func visit(
    _ scalar: JSONScalar, _ range: Range<Int>, depth: Int, of bytes: Span<UInt8>
  ) -> Bool { true }
  @inlinable package mutating func open(isObject: Bool, at offset: Int, depth: Int, of bytes: Span<UInt8>)
    -> Bool
  { true }
  @inlinable package mutating func close(at offset: Int, depth: Int) -> Bool { true }
}

/// A reader of members of the outermost object.
@usableFromInline package protocol JSONMemberVisitor {
  /// - Parameters:
  ///   - name: without its quotes; members whose names have escapes are passed over.
  ///   - value: with its quotes; of an object or array the first byte.
  mutating func visit(_ name: Range<Int>, _ value: Range<Int>, of bytes: Span<UInt8>)
}

/// Tells a reader of members what a scan tells.
@usableFromInline struct JSONMembers<Reader: JSONMemberVisitor>: JSONVisitor {
  @usableFromInline var reader: Reader
  @usableFromInline var name = 0..<0

  @inlinable init(_ reader: Reader) { self.reader = reader }

  @inlinable mutating func visit(name: Range<Int>, hasEscapes: Bool, depth: Int, of bytes: Span<UInt8>)
    -> Bool
  {
    if depth == 1 { self.name = hasEscapes ? 0..<0 : name }
    return true
  }

  @inlinable mutating func visit(
    _ scalar: JSONScalar, _ range: Range<Int>, depth: Int, of bytes: Span<UInt8>
  ) -> Bool {
    if depth == 1, !name.isEmpty { reader.visit(name, range, of: bytes) }
    return true
  }

  @inlinable mutating func open(isObject: Bool, at offset: Int, depth: Int, of bytes: Span<UInt8>) -> Bool {
    if depth == 1, !name.isEmpty { reader.visit(name, offset..<offset + 1, of: bytes) }
    return true
  }
}
