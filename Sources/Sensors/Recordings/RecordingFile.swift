internal import Glibc
internal import Platform

/// An open file of a recording. Reads name their offset, so that copies of a recording, which are values,
/// share the file without moving each other's position.
final class RecordingFile: Sendable {
  let path: String
  private let descriptor: Int32

  /// - Throws: `RecordingError` when the path cannot be opened or is not a regular file.
  init(path: String) throws(RecordingError) {
    self.path = path
    // O_NONBLOCK, because opening a FIFO without a writer would wait forever.
    let opened = retryingOnInterrupt { unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
    switch opened {
    case .success(let descriptor): self.descriptor = descriptor
    case .failure(let code):
      throw RecordingError(
        file: path, problem: "cannot be opened: \(SystemError.message(for: code.rawValue))",
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
    let start = buffer.count
    buffer.append(contentsOf: repeatElement(0, count: count))
    var code: Int32 = 0
    let length = unsafe buffer.withUnsafeMutableBytes { bytes in
      while true {
        let length = unsafe pread(descriptor, bytes.baseAddress.map { unsafe $0 + start }, count, Int(offset))
        if length >= 0 { return length }
        code = errno
        if code != EINTR { return 0 }
      }
    }
    buffer.removeLast(count - length)
    guard code == 0 || code == EINTR else {
      throw RecordingError(
        file: path, problem: "cannot be read at byte \(offset): \(SystemError.message(for: code))",
        remedy: "check the medium")
    }
    return length
  }
}
