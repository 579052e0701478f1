internal import Platform

/// Reads a text file line by line in blocks, however large it is.
///
/// A line ends with LF or CR LF. Its bytes are handed out as they are: no encoding is assumed.
package struct LineReader: Sendable {
  /// Bytes above which a line is an error: no format read here comes near, a binary file does.
  package static let longestLine = 64 * 1024
  private static let blockSize = 64 * 1024

  /// The path as it was given.
  package var path: String { file.path }
  /// The number of the line handed out last, from 1; 0 before the first.
  package private(set) var lineNumber = 0
  /// Whether the line handed out last ended with a line feed. A recorder that was cut off leaves a last line
  /// without.
  package private(set) var lineWasTerminated = false

  private let file: RecordingFile
  private var buffer: [UInt8] = []
  private var position = 0
  private var offset: Int64 = 0
  private var reachedEnd = false

  /// - Throws: `RecordingError` when the file cannot be opened.
  package init(path: String) throws(RecordingError) {
    file = try RecordingFile(path: path)
  }

  /// The next line without its end; nil at the end of the file.
  /// - Throws: `RecordingError` when the file cannot be read or a line is longer than `longestLine`.
  package mutating func next() throws(RecordingError) -> ArraySlice<UInt8>? {
    var searchFrom = position
    while true {
      if let end = buffer[searchFrom...].firstIndex(of: UInt8(ascii: "\n")) {
        lineNumber += 1
        lineWasTerminated = true
        defer { position = end + 1 }
        return try checked(position..<end)
      }
      if buffer.count - position > Self.longestLine { lineNumber += 1 }
      try checkLength(buffer.count - position)
      if reachedEnd {
        guard position < buffer.count else { return nil }
        lineNumber += 1
        lineWasTerminated = false
        defer { position = buffer.count }
        return try checked(position..<buffer.count)
      }
      searchFrom = buffer.count - position
      buffer.removeFirst(position)
      position = 0
      let length = try file.read(Self.blockSize, at: offset, into: &buffer)
      offset += Int64(length)
      reachedEnd = length == 0
    }
  }

  private func checked(_ range: Range<Int>) throws(RecordingError) -> ArraySlice<UInt8> {
    var line = buffer[range]
    if line.last == UInt8(ascii: "\r") { line.removeLast() }
    try checkLength(line.count)
    return line
  }

  private func checkLength(_ count: Int) throws(RecordingError) {
    guard count > Self.longestLine else { return }
    throw RecordingError(
      file: path, line: lineNumber, problem: "the line is longer than \(Self.longestLine) bytes",
      remedy: "give a text recording; this looks like another kind of file")
  }
}
