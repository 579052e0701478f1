internal import Glibc

/// A file named on the command line.
package enum InputFile {
  /// Returns the whole file; nil if it is unreadable or longer than the limit in bytes.
  /// - Parameter path: `-` for standard input.
  package static func read(_ path: String, limit: Int = 64 << 20) -> [UInt8]? {
    let descriptor = path == "-" ? STDIN_FILENO : unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { if descriptor != STDIN_FILENO { close(descriptor) } }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while bytes.count <= limit {
      let count = unsafe Glibc.read(descriptor, &buffer, buffer.count)
      if count == 0 { return bytes }
      if count < 0, errno != EINTR { return nil }
      bytes += buffer.prefix(max(0, count))
    }
    return nil
  }
}
