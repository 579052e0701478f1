internal import CExpat

/// Pulls points out of a GPX file with Expat, block by block: the file's size does not matter.
///
/// A class, because the parser under it cannot be copied. Safe to use: the parser and the handler live exactly as
/// long as the reader, and the parser calls the handler only inside `parseBlock`.
@safe final class GPXReader {
  private static let blockSize = 32 * 1024
  /// Bytes of one tag or piece of markup above which a file is not believed; Expat keeps it whole in memory.
  private static let longestMarkup = 1 << 20

  private let file: RecordingFile
  private let parser: XML_Parser
  private let handler: GPXHandler
  private var offset: Int64 = 0
  private var isFinished = false
  private var taken = 0

  /// - Throws: `RecordingError` when there is no memory for a parser.
  init(file: RecordingFile, wanted: GPXPoint.Element?) throws(RecordingError) {
    self.file = file
    handler = GPXHandler(path: file.path, wanted: wanted)
    guard let parser = unsafe XML_ParserCreate(nil) else {
      throw RecordingError(file: file.path, problem: "no memory for a parser", remedy: "free some memory")
    }
    unsafe self.parser = parser
    unsafe XML_SetUserData(parser, Unmanaged.passUnretained(handler).toOpaque())
    // Expat hands the parser itself to the handlers that ask for it, and they need it for the line number.
    unsafe XML_UseParserAsHandlerArg(parser)
    unsafe XML_SetElementHandler(
      parser,
      { argument, name, attributes in
        guard let name = unsafe name, let (parser, handler) = unsafe GPXReader.context(argument) else {
          return
        }
        handler.begin(unsafe GPXReader.localName(name), line: unsafe Int(XML_GetCurrentLineNumber(parser))) {
          unsafe GPXReader.attribute($0, in: attributes)
        }
        if handler.failure != nil { unsafe XML_StopParser(parser, 0) }
      },
      { argument, name in
        guard let name = unsafe name, let (parser, handler) = unsafe GPXReader.context(argument) else {
          return
        }
        handler.end(unsafe GPXReader.localName(name), line: unsafe Int(XML_GetCurrentLineNumber(parser)))
        if handler.failure != nil { unsafe XML_StopParser(parser, 0) }
      })
    unsafe XML_SetCharacterDataHandler(parser) { argument, text, length in
      guard let text = unsafe text, let (_, handler) = unsafe GPXReader.context(argument) else { return }
      unsafe handler.append(UnsafeRawBufferPointer(start: text, count: Int(length)))
    }
  }

  deinit { unsafe XML_ParserFree(parser) }

  /// The next point; nil at the end of the file.
  /// - Throws: `RecordingError` with the line, for a file that is not well formed or holds an impossible value.
  func next() throws(RecordingError) -> GPXPoint? {
    while taken == handler.points.count {
      handler.points.removeAll(keepingCapacity: true)
      taken = 0
      if let failure = handler.failure { throw failure }
      if isFinished { return nil }
      try parseBlock()
    }
    defer { taken += 1 }
    return handler.points[taken]
  }

  /// Which element's points to play: the most preferred one that the file has. Reads up to the first track point.
  func preferredElement() throws(RecordingError) -> GPXPoint.Element? {
    while !isFinished, !handler.elementsSeen.contains(.track) {
      if let failure = handler.failure { throw failure }
      try parseBlock()
    }
    return GPXPoint.Element.allCases.first(where: handler.elementsSeen.contains)
  }

  private func parseBlock() throws(RecordingError) {
    var block: [UInt8] = []
    let length = try file.read(Self.blockSize, at: offset, into: &block)
    offset += Int64(length)
    isFinished = length == 0
    let status = unsafe block.withUnsafeBytes { bytes in
      unsafe XML_Parse(
        parser, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(length), isFinished ? 1 : 0)
    }
    // Points before the damage are still handed out; `next` throws the handler's own failure after them.
    if handler.failure != nil { return }
    let line = unsafe Int(XML_GetCurrentLineNumber(parser))
    guard status != XML_STATUS_ERROR else {
      let reason = unsafe XML_ErrorString(XML_GetErrorCode(parser)).map { unsafe String(cString: $0) }
      throw RecordingError(
        file: file.path, line: line, problem: "is not well-formed XML: \(reason ?? "unknown reason")",
        remedy: "give a GPX file; this one is damaged or something else")
    }
    guard unsafe offset - Int64(XML_GetCurrentByteIndex(parser)) <= Self.longestMarkup else {
      throw RecordingError(
        file: file.path, line: line, problem: "holds markup longer than \(Self.longestMarkup) bytes",
        remedy: "give a GPX file")
    }
  }

  private static func context(_ argument: UnsafeMutableRawPointer?) -> (XML_Parser, GPXHandler)? {
    guard let argument = unsafe argument else { return nil }
    let parser = XML_Parser(argument)
    guard let data = unsafe odograph_xml_user_data(parser) else { return nil }
    return unsafe (parser, Unmanaged<GPXHandler>.fromOpaque(data).takeUnretainedValue())
  }

  private static func localName(_ name: UnsafePointer<CChar>) -> String {
    let text = unsafe String(cString: name)
    return text.lastIndex(of: ":").map { String(text[text.index(after: $0)...]) } ?? text
  }

  private static func attribute(
    _ name: String, in attributes: UnsafeMutablePointer<UnsafePointer<CChar>?>?
  ) -> [UInt8]? {
    guard var pair = unsafe attributes else { return nil }
    while let key = unsafe pair[0], let value = unsafe pair[1] {
      if unsafe String(cString: key) == name { return unsafe Array(String(cString: value).utf8) }
      unsafe pair += 2
    }
    return nil
  }
}
