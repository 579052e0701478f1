internal import Glibc

/// A file with random access (`pread(2)`, `pwrite(2)`). Closed at the end of its lifetime.
package struct RandomAccessFile: ~Copyable, Sendable {
  package let path: String
  private let descriptor: Int32

  package enum Access: Sendable {
    case readOnly
    /// Created if missing, and locked (`flock(2)`) against a second writer.
    case readWrite
  }

  /// Opens a file.
  ///
  /// - Parameters:
  ///   - mode: permissions of a file that is created.
  ///   - followsLinks: if false, a path that ends in a symbolic link is refused (`ELOOP`).
  ///   - acceptsDevices: if false, devices are refused even for reading; for writing they are always refused.
  /// - Throws: `SystemError`; `EWOULDBLOCK` if another process has the file open for writing, `notAFile` for
  ///   a FIFO, a socket or a refused device.
  package init(
    path: String, access: Access, mode: UInt32 = 0o640, followsLinks: Bool = true,
    acceptsDevices: Bool = true
  ) throws(SystemError) {
    // Without O_NONBLOCK, opening a FIFO waits for a writer.
    let flags =
      (access == .readOnly ? O_RDONLY : O_RDWR | O_CREAT) | O_CLOEXEC | O_NONBLOCK
      | (followsLinks ? 0 : O_NOFOLLOW)
    let opened = retryingOnInterrupt { unsafe open(path, flags, mode) }
    guard opened >= 0 else { throw SystemError(operation: "open", object: path, code: -opened) }
    guard FileKind.isSuitable(opened, acceptsDevices: acceptsDevices && access == .readOnly) else {
      close(opened)
      throw SystemError(operation: "open", object: path, code: SystemError.notAFile)
    }
    if access == .readWrite, flock(opened, LOCK_EX | LOCK_NB) != 0 {
      let code = errno
      close(opened)
      throw SystemError(operation: "lock", object: path, code: code)
    }
    self.path = path
    descriptor = opened
  }

  deinit { close(descriptor) }

  /// The size in bytes.
  package var size: Int64 {
    get throws(SystemError) {
      var status = stat()
      guard unsafe fstat(descriptor, &status) == 0 else { throw error("examine") }
      return Int64(status.st_size)
    }
  }

  /// Reads up to `count` bytes at `offset`; fewer at the end of the file.
  package func read(count: Int, at offset: Int64) throws(SystemError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let got = unsafe bytes.withUnsafeMutableBytes { buffer in
        unsafe pread(
          descriptor, buffer.baseAddress.map { unsafe $0 + done }, count - done, off_t(offset) + done)
      }
      if got < 0 {
        if errno == EINTR { continue }
        throw error("read")
      }
      if got == 0 { break }
      done += got
    }
    return Array(bytes.prefix(done))
  }

  /// Writes all bytes at `offset`.
  /// - Throws: `SystemError`, such as `ENOSPC`; a part of the bytes can have been written.
  package func write(_ bytes: [UInt8], at offset: Int64) throws(SystemError) {
    var done = 0
    while done < bytes.count {
      let put = unsafe bytes.withUnsafeBytes { buffer in
        unsafe pwrite(
          descriptor, buffer.baseAddress.map { unsafe $0 + done }, bytes.count - done, off_t(offset) + done)
      }
      if put < 0 {
        if errno == EINTR { continue }
        throw error("write")
      }
      done += put
    }
  }

  /// Truncates the file, or extends it with zeros.
  package func truncate(to size: Int64) throws(SystemError) {
    guard ftruncate(descriptor, off_t(size)) == 0 else { throw error("truncate") }
  }

  /// Synchronizes the contents to the disk (`fdatasync(2)`).
  package func synchronize() throws(SystemError) {
    guard fdatasync(descriptor) == 0 else { throw error("synchronize") }
  }

  private func error(_ operation: String) -> SystemError {
    SystemError(operation: operation, object: path, code: errno)
  }
}

extension SystemError {
  /// True if the cause is missing space: disk full, over quota, or file too large.
  package var isShortOfSpace: Bool { [ENOSPC, EDQUOT, EFBIG].contains(code) }
}
