/// The result of a scan, which validates bytes as JSON without building values. A caller that forwards
/// payloads needs no values, and a caller that needs a few of them reads them during the scan
/// (`JSONVisitor`). Building all values takes many times as long.
///
/// This is the only JSON grammar of the project: `JSONValue` is built by a visitor of it. It accepts RFC 8259
/// in UTF-8 and, as in I-JSON (RFC 7493), rejects unpaired surrogates, which no string can represent.
@usableFromInline package enum JSONScan: Hashable, Sendable {
  /// Not exactly one JSON value, or nested deeper than `deepest`; with the offset of the first invalid byte.
  case invalid(at: Int)
  /// The visitor stopped the scan.
  case stopped
  /// Valid JSON that can be printed unchanged in one line.
  case valid
  /// Valid JSON with tabs or line breaks between tokens, or with terminal control characters in strings.
  case validAfterEscaping

  @inlinable package static var deepest: Int { 512 }

  package init(_ bytes: Span<UInt8>) {
    var nobody = IgnoringVisitor()
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

  private struct IgnoringVisitor: JSONVisitor {}
}

/// A receiver of the tokens of a scan: names, scalars and brackets in order, as byte ranges.
///
/// `depth` is the number of enclosing objects and arrays: a member of the outermost object has depth 1. A
/// method that returns false stops the scan. The tokens are valid only if the result of the scan is valid.
@usableFromInline package protocol JSONVisitor {
  /// Visits a member's name, without quotes. Its value follows.
  mutating func visit(name: Range<Int>, hasEscapes: Bool, depth: Int, of bytes: Span<UInt8>) -> Bool
  /// Visits a string with its quotes, a number or a literal name.
  mutating func visit(_ scalar: JSONScalar, _ range: Range<Int>, depth: Int, of bytes: Span<UInt8>) -> Bool
  mutating func open(isObject: Bool, at offset: Int, depth: Int, of bytes: Span<UInt8>) -> Bool
  /// Leaves an object or array.
  ///
  /// - Parameter offset: the offset of the bracket.
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

/// A receiver of the members of the outermost object.
@usableFromInline package protocol JSONMemberVisitor {
  /// Visits a member.
  ///
  /// - Parameters:
  ///   - name: the range without quotes; members whose names contain escapes are skipped.
  ///   - value: the range including quotes; only the first byte of an object or array.
  mutating func visit(_ name: Range<Int>, _ value: Range<Int>, of bytes: Span<UInt8>)
}

/// An adapter that passes the members of the outermost object to a reader.
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
