internal import Glibc
package import Platform

/// Writes to a descriptor until all is written.
package enum OutputStream {
  /// Returns nil when all bytes were written, and else why not; `EPIPE` means that the reader has left.
  package static func write(_ bytes: [UInt8], to descriptor: Int32) -> SystemErrno? {
    var start = 0
    while start < bytes.count {
      let written = unsafe bytes.withUnsafeBytes { buffer in
        unsafe Glibc.write(descriptor, buffer.baseAddress.map { unsafe $0 + start }, buffer.count - start)
      }
      if written >= 0 {
        start += written
      } else if errno == EAGAIN {
        // Somebody who shares the terminal has made it non-blocking.
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = unsafe poll(&entry, 1, 1000)
      } else if errno != EINTR {
        return SystemErrno(rawValue: errno)
      }
    }
    return nil
  }
}
