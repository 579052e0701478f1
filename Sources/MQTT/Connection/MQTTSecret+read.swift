internal import Glibc
internal import Platform

extension MQTTSecret {
  /// The secret itself: of a file the first line, without its end.
  func read() throws(MQTTError) -> String {
    switch self {
    case .value(let text): return text
    case .file(let path):
      let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else {
        throw MQTTError(operation: "read secret", object: path, cause: SystemError.message(for: errno))
      }
      defer { close(descriptor) }
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = unsafe Glibc.read(descriptor, &bytes, bytes.count)
      guard count > 0 else {
        throw MQTTError(operation: "read secret", object: path, cause: "the file is empty or unreadable")
      }
      return String(decoding: bytes.prefix(count).prefix { $0 != 0x0A && $0 != 0x0D }, as: UTF8.self)
    }
  }
}
