internal import CLinux
internal import Glibc

/// A failed system call: operation, object and the kernel's reason.
public struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The operation, such as "open" or "start thread".
  public var operation: String
  /// The object of the operation: a path, an address, a device.
  public var object: String
  /// The `errno` value.
  public var code: Int32

  /// Creates an error.
  ///
  /// - Parameter code: the `errno` value; read it immediately after the failed call.
  package init(operation: String, object: String, code: Int32) {
    self.operation = operation
    self.object = object
    self.code = code
  }

  public var description: String { "\(operation) \(object): \(Self.message(for: code))" }

  /// The code for a FIFO, a socket or a device instead of a file; not an `errno` value.
  package static let notAFile: Int32 = -1

  /// The C library's sentence for an `errno` value.
  package static func message(for code: Int32) -> String {
    if code == notAFile { return "it is a FIFO, a socket or a device, not a file; remove it" }
    return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
      guard let base = buffer.baseAddress else { return "error \(code)" }
      unsafe base.pointee = 0
      let result = unsafe __xpg_strerror_r(code, base, buffer.count)
      return unsafe result == 0 ? String(cString: base) : "error \(code)"
    }
  }
}

/// Repeats a system call while it is interrupted by a signal. Returns its value, or the negative `errno` of
/// its failure.
package func retryingOnInterrupt(_ call: () -> Int32) -> Int32 {
  while true {
    let value = call()
    if value >= 0 { return value }
    if errno != EINTR { return -errno }
  }
}

/// An `errno` value as an error.
package struct SystemErrno: RawRepresentable, Error, Hashable, Sendable {
  package var rawValue: Int32

  package init(rawValue: Int32) { self.rawValue = rawValue }
}
