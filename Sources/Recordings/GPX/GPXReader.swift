internal import XML

/// Pulls points out of a GPX file, block by block: the file's size does not matter.
final class GPXReader {
  private static let blockSize = 32 * 1024

  private let file: RecordingFile
  private let parser: XMLParser
  private let handler: GPXHandler
  private var offset: Int64 = 0
  private var isFinished = false
  private var taken = 0

  /// - Throws: `RecordingError` when there is no memory for a parser.
  init(file: RecordingFile, wanted: GPXPoint.Element?) throws(RecordingError) {
    self.file = file
    handler = GPXHandler(path: file.path, wanted: wanted)
    guard let parser = XMLParser(handler) else {
      throw RecordingError(file: file.path, problem: "no memory for a parser", remedy: "free some memory")
    }
    self.parser = parser
  }

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
    // Points before the damage are still handed out; `next` throws the handler's own failure after them.
    do throws(XMLError) { try parser.parse(block, isLast: isFinished) } catch {
      throw RecordingError(
        file: file.path, line: error.line, problem: error.reason,
        remedy: "give a GPX file; this one is damaged or something else")
    }
  }
}
