package import Fleet
internal import Glibc

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
    .usage("read", path, FileFailure.cause(of: code))
  }
}
