internal import Fleet
internal import FleetManagement
internal import FleetProgram
internal import Glibc
internal import Platform
internal import Spatial

/// The output of a history: a file that a later call can continue, or a stream (`OutputFile`).
///
/// The first line contains the source and the time at which `t` is 0. A row that was truncated at the end of
/// the previous call is removed.
@safe struct SampleFile: ~Copyable {
  /// Standard output, a pipe or a device; nil for a file.
  private let stream: OutputFile?
  private let descriptor: Int32
  private let path: String?
  private let title: String
  /// The time at which the column `t` is 0; nil before anything is written.
  private(set) var origin: UTCTime?
  /// The time of the last row in µs since 1970; nil without rows.
  private(set) var last: Int64?

  /// The number of bytes at the end of the file in which the last row is searched.
  private static let tail = 65_536

  /// Opens the output.
  ///
  /// - Parameters:
  ///   - path: nil or `-` for standard output.
  ///   - title: the source of the data. A file with another source is not modified.
  ///   - shouldContinue: called while waiting for a reader of a pipe; false aborts.
  init(path: String?, title: String, shouldContinue: () -> Bool = { true }) throws(FleetError) {
    guard let path, !OutputFile.isStream(path) else {
      stream = try OutputFile(path: path, replaces: false, shouldContinue: shouldContinue)
      (descriptor, self.path, self.title) = (-1, path, title)
      return
    }
    let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else {
      throw FleetError(
        operation: "write", object: path,
        cause: "\(SystemError.message(for: errno)); check the folder and its permissions", kind: .outputFailed
      )
    }
    let end: (origin: UTCTime, last: Int64)?
    do throws(FleetError) {
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
        throw FleetError(
          operation: "write", object: path, cause: "another odograph is writing it; wait for its end",
          kind: .outputFailed)
      }
      end = try Self.end(of: descriptor, path, title)
    } catch {
      close(descriptor)
      throw error
    }
    stream = nil
    (self.descriptor, self.path, self.title) = (descriptor, path, title)
    (origin, last) = (end?.origin, end?.last)
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Reads the source and the last row of a file that is continued. Returns the time at which `t` is 0 and
  /// the time of the last row (µs since 1970); nil for a file without rows.
  private static func end(
    of descriptor: Int32, _ path: String, _ title: String
  ) throws(FleetError) -> (origin: UTCTime, last: Int64)? {
    let size = Int64(lseek(descriptor, 0, SEEK_END))
    guard size > 0 else { return nil }
    let newline = UInt8(ascii: "\n")
    let head = String(
      decoding: read(descriptor, count: 4096, at: 0).prefix { $0 != newline }, as: UTF8.self)
    let prefix = "# \(title)\(SampleTable.separator)"
    guard head.hasPrefix(prefix), let origin = UTCTime(rfc3339: String(head.dropFirst(prefix.count))) else {
      throw .usage(
        "go on with", path,
        "it is not \"\(title)\" but begins with \"\(head.prefix(120))\"; name another file, or remove it")
    }
    let begin = max(0, size - Int64(tail))
    let bytes = read(descriptor, count: tail, at: begin)
    guard let whole = bytes.lastIndex(of: newline) else {
      throw .usage("go on with", path, "it has no complete line at its end; name another file, or remove it")
    }
    let lines = bytes[..<whole].split(separator: newline)
    // A file without rows can also lack the header, so all lines are written again.
    if begin == 0, lines.count < 3 { return nil }
    let text = String(decoding: (lines.last ?? []).prefix { $0 != UInt8(ascii: ",") }, as: UTF8.self)
    guard let last = time(text, after: origin), ftruncate(descriptor, off_t(begin) + off_t(whole) + 1) == 0
    else {
      throw .usage(
        "go on with", path,
        "its last row begins with \"\(text.prefix(40))\" and not with a time; name another file, or remove it"
      )
    }
    return (origin, last)
  }

  /// Parses the time of a row, seconds after `origin`. Returns µs since 1970; nil for an invalid text.
  private static func time(_ text: String, after origin: UTCTime) -> Int64? {
    guard let seconds = Double(text), abs(seconds) < 1e9 else { return nil }
    let (time, overflow) = origin.nanoseconds.addingReportingOverflow(Int64((seconds * 1e6).rounded()) * 1000)
    return overflow ? nil : time / 1000
  }

  /// Writes the lines before the first row if they are missing. Returns false if the reader has closed the
  /// output or `shouldContinue` returned false.
  mutating func begin(
    at origin: UTCTime, header: String, shouldContinue: () -> Bool = { true }
  ) throws(FleetError) -> Bool {
    guard self.origin == nil else { return true }
    self.origin = origin
    if descriptor >= 0 { ftruncate(descriptor, 0) }
    return try write(SampleTable.head(title, at: origin, header: header), shouldContinue: shouldContinue)
  }

  /// Writes a text. Returns false if the reader has closed the output or `shouldContinue` returned false.
  func write(_ text: String, shouldContinue: () -> Bool = { true }) throws(FleetError) -> Bool {
    guard !text.isEmpty else { return true }
    let bytes = Array(text.utf8)
    guard descriptor >= 0 else { return try stream?.write(bytes, shouldContinue: shouldContinue) ?? true }
    guard let problem = OutputStream.write(bytes, to: descriptor) else { return true }
    throw FleetError(
      operation: "write", object: path ?? "the output", cause: SystemError.message(for: problem.rawValue),
      kind: .outputFailed)
  }

  private static func read(_ descriptor: Int32, count: Int, at place: Int64) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let length = unsafe bytes.withUnsafeMutableBytes { buffer in
      unsafe pread(descriptor, buffer.baseAddress, buffer.count, off_t(place))
    }
    return Array(bytes.prefix(max(0, length)))
  }
}
