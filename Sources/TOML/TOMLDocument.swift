internal import CTOML

/// The tables and keys of a TOML text in their order, each with its position.
///
/// The parser is toml++ behind `CTOML`: TOML has many rules, and toml++ records the position of every node.
/// Malicious text results in a `TOMLError`: nesting and the number of parts in a key are limited, and
/// assertions of the parser are errors.
package struct TOMLDocument: Sendable {
  /// A table, or a key with its value.
  package struct Entry: Sendable, Hashable {
    /// The names of the enclosing tables and the entry's own name.
    package let path: [String]
    package let keyPosition: TOMLPosition
    package let value: TOMLValue
    /// The position of the value; for a table, that of its header.
    package let position: TOMLPosition

    /// The dotted path, such as `mqtt.broker`.
    package var name: String { path.joined(separator: ".") }
  }

  /// All entries; tables precede their members. Members of tables in arrays are omitted.
  package let entries: [Entry]

  /// Parses a TOML text.
  ///
  /// - Throws: `TOMLError` without a file name, for invalid TOML.
  package init(parsing text: String) throws(TOMLError) {
    var text = text
    let parsed = text.withUTF8 { utf8 in
      unsafe utf8.withMemoryRebound(to: CChar.self) { unsafe ctoml_parse($0.baseAddress, $0.count) }
    }
    guard let document = unsafe parsed else {
      throw TOMLError(kind: .unreadable, problem: "out of memory")
    }
    defer { unsafe ctoml_free(document) }
    if let problem = unsafe document.pointee.problem {
      throw TOMLError(
        kind: .syntax,
        position: unsafe TOMLPosition(line: document.pointee.line, column: document.pointee.column),
        problem: unsafe "not TOML: \(String(cString: problem))")
    }
    let nodes = unsafe UnsafeBufferPointer(start: document.pointee.nodes, count: document.pointee.count)
    var entries: [Entry] = []
    var path: [String] = []
    var index = 0
    while index < nodes.count {
      let node = unsafe nodes[index]
      unsafe path.removeLast(path.count - Int(node.depth))
      unsafe path.append(Self.text(node.key, node.key_length))
      let value = unsafe Self.value(of: nodes, at: &index)
      entries.append(
        Entry(
          path: path,
          keyPosition: unsafe TOMLPosition(line: node.key_line, column: node.key_column),
          value: value, position: unsafe TOMLPosition(line: node.line, column: node.column)))
    }
    self.entries = entries
  }

  /// Returns the value at an index, and advances the index past it and its elements.
  private static func value(
    of nodes: UnsafeBufferPointer<ctoml_node>, at index: inout Int
  ) -> TOMLValue {
    let node = unsafe nodes[index]
    index += 1
    switch unsafe node.kind {
    case CTOML_STRING: return unsafe .text(text(node.text, node.text_length))
    case CTOML_INTEGER: return unsafe .integer(Int(node.integer))
    case CTOML_NUMBER: return unsafe .number(node.number)
    case CTOML_FLAG: return unsafe .flag(node.integer != 0)
    case CTOML_TIME: return .time
    case CTOML_ARRAY:
      var elements: [TOMLValue] = []
      while unsafe index < nodes.count && nodes[index].depth > node.depth {
        let isElement = unsafe nodes[index].depth == node.depth + 1
        let element = unsafe value(of: nodes, at: &index)
        if isElement { elements.append(element) }
      }
      return .array(elements)
    default: return .table
    }
  }

  private static func text(_ start: UnsafePointer<CChar>?, _ length: Int) -> String {
    let bytes = unsafe UnsafeRawBufferPointer(start: start, count: length)
    return unsafe String(decoding: bytes, as: UTF8.self)
  }
}

package enum TOMLValue: Sendable, Hashable, CustomStringConvertible {
  case text(String)
  case integer(Int)
  case number(Double)
  case flag(Bool)
  case array([TOMLValue])
  /// A date, a time or both. No configuration key has this type.
  case time
  case table

  /// The text, or the texts of an array; nil for any other value.
  package var texts: [String]? {
    switch self {
    case .text(let text): return [text]
    case .array(let elements):
      var texts: [String] = []
      for case .text(let text) in elements { texts.append(text) }
      return texts.count == elements.count ? texts : nil
    default: return nil
    }
  }

  /// A description for error messages.
  package var description: String {
    switch self {
    case .text(let text): "\"\(text.prefix(80))\""
    case .integer(let number): "\(number)"
    case .number(let number): "\(number)"
    case .flag(let flag): "\(flag)"
    case .array(let elements):
      elements.count > 3 ? "an array" : "[" + elements.map(\.description).joined(separator: ", ") + "]"
    case .time: "a date or time without quotes"
    case .table: "a table"
    }
  }
}

extension TOMLValue {
  /// Parses a single value as it appears after the equals sign in a file, such as `["a", "b"]`.
  ///
  /// - Throws: `TOMLError` without a file name; columns count from the start of the text.
  package init(parsing text: String) throws(TOMLError) {
    let prefix = "v = "
    let document: TOMLDocument
    do throws(TOMLError) {
      document = try TOMLDocument(parsing: prefix + text)
    } catch {
      guard let position = error.position, position.line == 1 else { throw error }
      let column = UInt32(max(1, position.column - prefix.count))
      throw TOMLError(
        kind: error.kind, position: TOMLPosition(line: 1, column: column), problem: error.problem)
    }
    guard document.entries.count == 1, let value = document.entries.first?.value else {
      throw TOMLError(kind: .syntax, problem: "not TOML: more than one value")
    }
    self = value
  }

  /// Returns whether a text starts like an array or a quoted string, even if it is invalid.
  package static func isQuotedOrArray(_ text: String) -> Bool {
    ["[", "\"", "'"].contains(text.first { $0 != " " && $0 != "\t" })
  }
}
