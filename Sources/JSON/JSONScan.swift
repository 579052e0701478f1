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
