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
    var code: Int32 = 0
    let block = unsafe [UInt8](unsafeUninitializedCapacity: count) { bytes, initializedCount in
      let length = retryingOnInterrupt {
        unsafe Int32(truncatingIfNeeded: pread(descriptor, bytes.baseAddress, count, Int(offset)))
      }
      switch length {
      case .success(let length): initializedCount = Int(length)
      case .failure(let failure): code = failure.rawValue
      }
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
