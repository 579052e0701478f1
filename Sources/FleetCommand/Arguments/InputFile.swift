package import Fleet
internal import Glibc
internal import Platform

/// A file named on the command line.
package enum InputFile {
  /// Reads a whole file.
  /// - Parameters:
  ///   - path: `-` for standard input.
  ///   - limit: the maximum size in bytes.
  /// - Throws: `FleetError` with the cause: no such file, permission denied, a folder, or too large.
  package static func read(_ path: String, limit: Int = 64 << 20) throws(FleetError) -> [UInt8] {
    let descriptor = path == "-" ? STDIN_FILENO : unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure(path, errno) }
    defer { if descriptor != STDIN_FILENO { close(descriptor) } }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while bytes.count <= limit {
      let count = unsafe Glibc.read(descriptor, &buffer, buffer.count)
      if count == 0 { return bytes }
      if count < 0, errno != EINTR { throw failure(path, errno) }
      bytes += buffer.prefix(max(0, count))
    }
    throw .usage("read", path, "larger than \(limit >> 20) MB")
  }

  private static func failure(_ path: String, _ code: Int32) -> FleetError {
    .usage("read", path, cause(of: code))
  }

  private static func cause(of code: Int32) -> String {
    switch code {
    case ENOENT: "no such file"
    case EACCES: "permission denied"
    case EISDIR: "is a folder; name a file"
    default: SystemError.message(for: code)
    }
  }

  /// Returns why a file cannot be opened for reading, for a library that does not report the cause; nil if it
  /// can be opened. Does not open the file: closing a database's file would release SQLite's locks on it.
  package static func causeOfFailure(toOpen path: String) -> String? {
    guard unsafe access(path, R_OK) == 0 else { return cause(of: errno) }
    var information = stat()
    let isFolder = unsafe stat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFDIR
    return isFolder ? cause(of: EISDIR) : nil
  }

  /// Returns why a file cannot be written or created, for a library that does not report the cause; nil if it
  /// can.
  package static func causeOfFailure(toCreate path: String) -> String? {
    if let cause = causeOfFailure(toOpen: path), cause != self.cause(of: ENOENT) { return cause }
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    guard unsafe access(folder, F_OK) == 0 else { return "no such folder: \(folder)" }
    for place in [path, folder] where unsafe access(place, W_OK) != 0 && errno != ENOENT {
      return "\(cause(of: errno)) (\(place))"
    }
    return nil
  }
}
