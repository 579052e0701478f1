internal import Fleet
internal import FleetConsole
internal import Glibc
internal import Platform
internal import Spatial

/// Where samples go: standard output, or a file that another call can go on with.
///
/// The first line of a file says what it is of and which moment its `t` counts from. A row that was cut off by the end of the
/// call before is taken away.
@safe struct SampleFile: ~Copyable {
  private let descriptor: Int32
  private let path: String?
  private let title: String
  /// What `t` counts from; nil while nothing is written.
  private(set) var origin: UTCTime?
  /// The last row, µs since 1970; nil where there is none.
  private(set) var last: Int64?

  private static let separator = "; t 0 at "
  /// Bytes at the end of a file in which its last row is looked for.
  private static let tail = 65_536

  /// - Parameters:
  ///   - path: nil or `-` is standard output.
  ///   - title: what it is of. A file that is of something else is left alone.
  ///   - goesOn: whether a file that is there is gone on with; else it is written anew, once there is a row.
  init(path: String?, title: String, goesOn: Bool) throws(FleetError) {
    guard let path, path != "-" else {
      (descriptor, self.path, self.title) = (STDOUT_FILENO, nil, title)
      return
    }
    let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else {
      throw FleetError(
        operation: "write", object: path,
        cause: "\(SystemError.message(for: errno)); check the folder and its permissions", exit: .outputFailed
      )
    }
    let end: (origin: UTCTime, last: Int64?)?
    do throws(FleetError) {
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
        throw FleetError(
          operation: "write", object: path, cause: "another odograph is writing it; wait for its end",
          exit: .outputFailed)
      }
      end = goesOn ? try Self.end(of: descriptor, path, title) : nil
    } catch {
      close(descriptor)
      throw error
    }
    (self.descriptor, self.path, self.title) = (descriptor, path, title)
    (origin, last) = (end?.origin, end?.last)
  }

  deinit { if path != nil { close(descriptor) } }

  /// Reads what a file is of and where it ends; nil for an empty one.
  private static func end(
    of descriptor: Int32, _ path: String, _ title: String
  ) throws(FleetError) -> (origin: UTCTime, last: Int64?)? {
    let size = Int64(lseek(descriptor, 0, SEEK_END))
    guard size > 0 else { return nil }
    let newline = UInt8(ascii: "\n")
    let head = String(
      decoding: read(descriptor, count: 4096, at: 0).prefix { $0 != newline }, as: UTF8.self)
    let prefix = "# \(title)\(separator)"
    guard head.hasPrefix(prefix), let origin = UTCTime(rfc3339: String(head.dropFirst(prefix.count))) else {
      throw .usage(
        "go on with", path,
        "it is not \"\(title)\" but begins with \"\(head.prefix(120))\"; name another file, or remove it")
    }
    let begin = max(0, size - Int64(tail))
    let bytes = read(descriptor, count: tail, at: begin)
    guard let whole = bytes.lastIndex(of: newline), ftruncate(descriptor, off_t(begin) + whole + 1) == 0
    else {
      throw .usage("go on with", path, "it has no whole line at its end; name another file, or remove it")
    }
    let row = bytes[..<whole].split(separator: newline).last ?? []
    let seconds = Double(String(decoding: row.prefix { $0 != UInt8(ascii: ",") }, as: UTF8.self))
    return (origin, seconds.map { origin.nanoseconds / 1000 + Int64(($0 * 1e6).rounded()) })
  }

  /// Writes the lines before the first row, if they are not there.
  mutating func begin(at origin: UTCTime, header: String) throws(FleetError) -> ExitStatus? {
    guard self.origin == nil else { return nil }
    self.origin = origin
    if path != nil { ftruncate(descriptor, 0) }
    return try write("# \(title)\(Self.separator)\(origin.rfc3339)\n\(header)\n")
  }

  /// Returns how the command ends when whoever reads the output has left.
  func write(_ text: String) throws(FleetError) -> ExitStatus? {
    guard !text.isEmpty, let problem = OutputStream.write(Array(text.utf8), to: descriptor) else {
      return nil
    }
    if path == nil, problem.rawValue == EPIPE { return .done }
    throw FleetError(
      operation: "write", object: path ?? "the output", cause: SystemError.message(for: problem.rawValue),
      exit: .outputFailed)
  }

  private static func read(_ descriptor: Int32, count: Int, at place: Int64) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let length = unsafe bytes.withUnsafeMutableBytes { buffer in
      unsafe pread(descriptor, buffer.baseAddress, buffer.count, off_t(place))
    }
    return Array(bytes.prefix(max(0, length)))
  }
}
