internal import Glibc
internal import Platform
package import Sensors

/// An open file of a recording. Reads specify their offset, so that copies of a recording, which are values,
/// share the file but not the position.
final class RecordingFile: Sendable {
  let path: String
  private let descriptor: Int32

  /// - Throws: `RecordingError` if the path cannot be opened or is not a regular file.
  init(path: String) throws(RecordingError) {
    self.path = path
    // O_NONBLOCK, because opening a FIFO without a writer would wait forever.
    descriptor = retryingOnInterrupt { unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
    guard descriptor >= 0 else {
      throw RecordingError(
        file: path, problem: "cannot be opened: \(SystemError.message(for: -descriptor))",
        remedy: "check the path and its permissions")
    }
    var information = stat()
    guard unsafe fstat(descriptor, &information) == 0, information.st_mode & S_IFMT == S_IFREG else {
      throw RecordingError(file: path, problem: "is not a regular file", remedy: "name a recording's file")
    }
  }

  deinit { close(descriptor) }

  /// Reads up to `count` bytes at `offset` and appends them to `buffer`. Returns their number; 0 at the end.
  func read(_ count: Int, at offset: Int64, into buffer: inout [UInt8]) throws(RecordingError) -> Int {
    var code: Int32 = 0
    let block = unsafe [UInt8](unsafeUninitializedCapacity: count) { bytes, initializedCount in
      let length = retryingOnInterrupt {
        unsafe Int32(truncatingIfNeeded: pread(descriptor, bytes.baseAddress, count, Int(offset)))
      }
      (initializedCount, code) = (Int(max(0, length)), max(0, -length))
    }
    buffer += block
    guard code == 0 else {
      throw RecordingError(
        file: path, problem: "cannot be read at byte \(offset): \(SystemError.message(for: code))",
        remedy: "check the medium")
    }
    return block.count
  }
}

/// Reads a text file of any size line by line in blocks.
///
/// A line ends with LF or CR LF. Its bytes are returned unchanged: no encoding is assumed.
package struct LineReader: Sendable {
  /// Maximum length of a line in bytes. Lines of the supported formats are shorter; binary files exceed the
  /// limit.
  package static let longestLine = 64 * 1024
  private static let blockSize = 64 * 1024
  /// UTF-8 byte order mark, at the start of files written by Windows programs.
  private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

  /// Path of the file, as passed to `init`.
  package var path: String { file.path }
  /// Number of the last returned line, from 1; 0 before the first.
  package private(set) var lineNumber = 0
  /// True if the last returned line ended with a line feed. An interrupted recorder leaves a last line
  /// without one.
  package private(set) var lineWasTerminated = false

  private let file: RecordingFile
  private var buffer: [UInt8] = []
  private var position = 0
  private var offset: Int64 = 0
  private var reachedEnd = false

  /// - Throws: `RecordingError` if the file cannot be opened.
  package init(path: String) throws(RecordingError) {
    file = try RecordingFile(path: path)
  }

  /// Returns the next line without its end; nil at the end of the file.
  /// - Throws: `RecordingError` if the file cannot be read or a line is longer than `longestLine`.
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
      let isStart = offset == 0
      offset += Int64(length)
      reachedEnd = length == 0
      if isStart, buffer.starts(with: Self.byteOrderMark) { position = Self.byteOrderMark.count }
      if isStart { searchFrom = position }
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

/// The reason why a recording cannot be played: location, problem and remedy.
public struct RecordingError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Path of the file, as passed to the reader.
  public var file: String
  /// Line, counted from 1; nil for the file as a whole.
  public var line: Int?
  /// Name of the column in a table; nil if the error concerns no column.
  public var column: String?
  /// Problem, as in "checksum is 4A, the sentence gives 5B".
  public var problem: String
  /// Remedy for the user.
  public var remedy: String

  public init(file: String, line: Int? = nil, column: String? = nil, problem: String, remedy: String) {
    self.file = file
    self.line = line
    self.column = column
    self.problem = problem
    self.remedy = remedy
  }

  public var description: String {
    var place = file
    if let line { place += ":\(line)" }
    if let column { place += ": column \(column)" }
    return "\(place): \(problem); \(remedy)"
  }
}

/// Counts the unreadable units and the positions of a file.
package struct ReadingProgress: Sendable {
  package private(set) var skipped: SkippedInput?
  /// True if the file contains a position.
  package var hasPosition = false
  private var first: RecordingError?

  package init() {}

  package mutating func skip(_ error: RecordingError) {
    first = first ?? error
    skipped = SkippedInput(count: (skipped?.count ?? 0) + 1, first: skipped?.first ?? error.description)
  }

  /// Checks at the end of the file that it contained a position.
  /// - Throws: the first fault of the file if the file contained no position.
  package func finish(_ file: String, remedy: String) throws(RecordingError) {
    guard !hasPosition else { return }
    throw first ?? RecordingError(file: file, problem: "has no position", remedy: remedy)
  }
}

/// Returns a part of a file for a message: printable ASCII, truncated.
package func excerpt(_ bytes: some Sequence<UInt8>, limit: Int = 40) -> String {
  var text = ""
  for (count, byte) in bytes.enumerated() {
    if count == limit { return text + "…" }
    text.unicodeScalars.append((32...126).contains(byte) ? Unicode.Scalar(byte) : "·")
  }
  return text
}
