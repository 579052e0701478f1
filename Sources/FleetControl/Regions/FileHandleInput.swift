internal import FoundationEssentials
internal import Glibc

/// Standard input as a whole.
enum FileHandleInput {
  /// Nil when it is longer than the limit, in bytes, or cannot be read.
  static func readAll(limit: Int) -> Data? {
    var data = Data()
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while data.count <= limit {
      let count = unsafe read(STDIN_FILENO, &buffer, buffer.count)
      if count == 0 { return data }
      if count < 0 {
        guard errno == EINTR else { return nil }
        continue
      }
      data.append(contentsOf: buffer.prefix(count))
    }
    return nil
  }
}
