internal import CExpat

/// A receiver of parsing events. Names have no namespace prefix.
package protocol XMLHandler: AnyObject {
  /// False stops the parser.
  var wantsMore: Bool { get }
  /// Starts an element.
  ///
  /// - Parameter attribute: a function that returns the value of an attribute by name; nil if it is missing.
  func begin(_ element: String, line: Int, attribute: (String) -> String?)
  /// Appends text of the innermost element; a text can arrive in several pieces.
  func append(_ text: Span<UInt8>)
  func end(_ element: String, line: Int)
}

/// A syntax error with its line.
package struct XMLError: Error, Hashable, Sendable {
  package var line: Int
  package var reason: String
}

/// A streaming XML parser on top of Expat. Memory use is independent of the size of the text.
///
/// A class, because Expat stores a pointer to it. Memory-safe: the Expat parser has the same lifetime, and
/// calls back only inside `parse`.
@safe package final class XMLParser {
  /// The maximum size of one tag or other markup in bytes; Expat holds it in memory.
  package static let longestMarkup = 1 << 20

  private let parser: XML_Parser
  private let handler: any XMLHandler
  private var given = 0

  /// Creates a parser; nil if memory is exhausted.
  package init?(_ handler: any XMLHandler) {
    guard let parser = unsafe XML_ParserCreate(nil) else { return nil }
    unsafe self.parser = parser
    self.handler = handler
    unsafe XML_SetUserData(parser, Unmanaged.passUnretained(self).toOpaque())
    unsafe XML_SetElementHandler(
      parser,
      { context, name, attributes in
        guard let name = unsafe name, let parser = unsafe XMLParser.from(context) else { return }
        parser.handler.begin(unsafe XMLParser.localName(name), line: parser.line) {
          unsafe XMLParser.attribute($0, in: attributes)
        }
        parser.stopIfWanted()
      },
      { context, name in
        guard let name = unsafe name, let parser = unsafe XMLParser.from(context) else { return }
        parser.handler.end(unsafe XMLParser.localName(name), line: parser.line)
        parser.stopIfWanted()
      })
    unsafe XML_SetCharacterDataHandler(parser) { context, text, length in
      guard let text = unsafe text, let parser = unsafe XMLParser.from(context) else { return }
      let bytes = unsafe UnsafeRawBufferPointer(start: text, count: Int(length))
      unsafe parser.handler.append(bytes.bindMemory(to: UInt8.self).span)
    }
  }

  deinit { unsafe XML_ParserFree(parser) }

  /// Parses the next piece of the text. Does nothing after the handler stopped the parser.
  /// - Parameter isLast: true for the last piece.
  package func parse(_ bytes: [UInt8], isLast: Bool) throws(XMLError) {
    guard handler.wantsMore else { return }
    given += bytes.count
    let status = unsafe bytes.withUnsafeBytes { buffer in
      unsafe XML_Parse(
        parser, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(clamping: buffer.count),
        isLast ? 1 : 0)
    }
    guard handler.wantsMore else { return }
    guard status != XML_STATUS_ERROR else {
      let reason = unsafe XML_ErrorString(XML_GetErrorCode(parser)).map { unsafe String(cString: $0) }
      throw XMLError(line: line, reason: "is not well-formed XML: \(reason ?? "unknown reason")")
    }
    guard unsafe given - Int(XML_GetCurrentByteIndex(parser)) <= Self.longestMarkup || isLast else {
      throw XMLError(line: line, reason: "contains markup longer than \(Self.longestMarkup) bytes")
    }
  }

  private var line: Int { unsafe Int(XML_GetCurrentLineNumber(parser)) }

  private func stopIfWanted() {
    if !handler.wantsMore { unsafe XML_StopParser(parser, 0) }
  }

  private static func from(_ context: UnsafeMutableRawPointer?) -> XMLParser? {
    unsafe context.map { unsafe Unmanaged<XMLParser>.fromOpaque($0).takeUnretainedValue() }
  }

  private static func localName(_ name: UnsafePointer<CChar>) -> String {
    let text = unsafe String(cString: name)
    return text.lastIndex(of: ":").map { String(text[text.index(after: $0)...]) } ?? text
  }

  private static func attribute(
    _ name: String, in attributes: UnsafeMutablePointer<UnsafePointer<CChar>?>?
  ) -> String? {
    guard var pair = unsafe attributes else { return nil }
    while let key = unsafe pair[0], let value = unsafe pair[1] {
      if unsafe String(cString: key) == name { return unsafe String(cString: value) }
      unsafe pair += 2
    }
    return nil
  }
}
