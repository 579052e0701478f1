internal import Glibc
internal import Platform
package import Sensors

/// An open file of a recording. Reads name their offset, so that copies of a recording, which are values,
/// share the file without moving each other's position.
final class RecordingFile: Sendable {
  let path: String
  private let descriptor: Int32

  /// - Throws: `RecordingError` when the path cannot be opened or is not a regular file.
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

  /// Reads up to `count` bytes at `offset` onto the end of `buffer`; returns how many, 0 at the end.
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

/// Reads a text file line by line in blocks, however large it is.
///
/// A line ends with LF or CR LF. Its bytes are handed out as they are: no encoding is assumed.
package struct LineReader: Sendable {
  /// Bytes above which a line is an error: no format read here comes near, a binary file does.
  package static let longestLine = 64 * 1024
  private static let blockSize = 64 * 1024
  /// Of UTF-8, at the beginning of files that Windows programs write.
  private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

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

/// Why a recording cannot be played: where, what is wrong there and what to do about it.
public struct RecordingError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The file's path as it was given.
  public var file: String
  /// The line, counted from 1; nil when the file as a whole is meant.
  public var line: Int?
  /// The column's name in a table; nil where there are no columns.
  public var column: String?
  /// What was found, as in "checksum is 4A, the sentence gives 5B".
  public var problem: String
  /// What the reader of the message can do.
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

/// Counts the units of a file that cannot be read, and the positions that can.
package struct ReadingProgress: Sendable {
  package private(set) var skipped: SkippedInput?
  /// Whether the file had a position.
  package var hasPosition = false
  private var first: RecordingError?

  package init() {}

  package mutating func skip(_ error: RecordingError) {
    first = first ?? error
    skipped = SkippedInput(count: (skipped?.count ?? 0) + 1, first: skipped?.first ?? error.description)
  }

  /// Checks at the end of the file that it had a position.
  /// - Throws: the first fault of the file, if it had none.
  package func finish(_ file: String, remedy: String) throws(RecordingError) {
    guard !hasPosition else { return }
    throw first ?? RecordingError(file: file, problem: "has no position", remedy: remedy)
  }
}

/// A piece of a file as it may be shown in a message: printable ASCII, cut short.
package func excerpt(_ bytes: some Sequence<UInt8>, limit: Int = 40) -> String {
  var text = ""
  for (count, byte) in bytes.enumerated() {
    if count == limit { return text + "…" }
    text.unicodeScalars.append((32...126).contains(byte) ? Unicode.Scalar(byte) : "·")
  }
  return text
}
