internal import CExpat

/// What a parser tells as it reads. Names are without a namespace's prefix.
package protocol XMLHandler: AnyObject {
  /// False ends the reading.
  var wantsMore: Bool { get }
  /// - Parameter attribute: the value of an attribute; asked for only where it matters.
  func begin(_ element: String, line: Int, attribute: (String) -> String?)
  /// Text inside the innermost element; it may come in pieces.
  func append(_ text: Span<UInt8>)
  func end(_ element: String, line: Int)
}

/// Why a text is not well-formed XML, and in which line.
package struct XMLError: Error, Hashable, Sendable {
  package var line: Int
  package var reason: String
}

/// Reads XML with Expat, piece by piece: the size of a text does not matter.
///
/// A class, because Expat keeps a pointer to it. Safe to use: Expat's parser lives exactly as long, and calls back only
/// inside of `parse`.
@safe package final class XMLParser {
  /// Bytes of one tag or piece of markup above which a text is not believed; Expat keeps it whole in memory.
  package static let longestMarkup = 1 << 20

  private let parser: XML_Parser
  private let handler: any XMLHandler
  private var given = 0

  /// Nil when there is no memory.
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

  /// Reads the next piece. Does nothing more once the handler wants no more.
  /// - Parameter isLast: whether the text ends with it.
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
      throw XMLError(line: line, reason: "holds markup longer than \(Self.longestMarkup) bytes")
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
