internal import CIIO
internal import Glibc
internal import Platform

/// A capture buffer. The hardware samples during its lifetime; afterwards the kernel can suspend the chip.
@safe package struct Buffer: ~Copyable {
  private let handle: OpaquePointer
  private let object: String
  private let cancellation: BufferCancellation

  /// The result of `refill`.
  package enum Outcome: Hashable, Sendable {
    /// The number of available bytes.
    case filled(Int)
    /// No data are available yet.
    case empty
  }

  /// Creates a buffer of `samples` scans for the channels enabled on the device. The corresponding C function
  /// is `iio_device_create_buffer`.
  ///
  /// - Parameter cancellation: can cancel the buffer during its lifetime.
  package init(
    on device: borrowing Device, samples: Int, cancellation: BufferCancellation
  ) throws(IIOError) {
    errno = 0
    guard let handle = unsafe iio_device_create_buffer(device.handle, max(1, samples), false) else {
      throw IIOError(
        operation: .startBuffer, object: device.object, errno: errno == 0 ? EIO : abs(errno))
    }
    unsafe self.handle = handle
    object = device.object
    self.cancellation = cancellation
    unsafe cancellation.attach(handle)
  }

  deinit {
    // The cancellation is detached first, under its lock, so that no other thread can cancel a buffer that is
    // being destroyed.
    cancellation.detach()
    unsafe iio_buffer_destroy(handle)
  }

  /// A descriptor that becomes readable at the watermark; nil if the backend has none (network, USB).
  package var pollDescriptor: Int32? {
    let descriptor = unsafe iio_buffer_get_poll_fd(handle)
    return descriptor >= 0 ? descriptor : nil
  }

  /// Sets the blocking mode. In non-blocking mode, `refill` returns the available data instead of waiting for
  /// a full buffer. In blocking mode, a wait that times out would lose the data that it has read.
  package func setBlocking(_ blocking: Bool) throws(IIOError) {
    let code = unsafe iio_buffer_set_blocking_mode(handle, blocking)
    guard code >= 0 else { throw IIOError(operation: .set("the mode of"), object: object, errno: -code) }
  }

  /// Fetches scans from the kernel. The corresponding C function is `iio_buffer_refill`.
  package func refill() throws(IIOError) -> Outcome {
    let code = unsafe iio_buffer_refill(handle)
    if code > 0 { return .filled(code) }
    if code == 0 || code == -Int(EAGAIN) { return .empty }
    throw IIOError(operation: .readBuffer, object: object, errno: Int32(-code))
  }

  /// The bytes from one scan to the next in the last fill.
  package var stride: Int { unsafe iio_buffer_step(handle) }

  /// Returns the offset of a channel in the scan in bytes. The corresponding C function is
  /// `iio_buffer_first`.
  package func offset(of channel: borrowing Channel) -> Int {
    unsafe iio_buffer_first(handle, channel.handle) - iio_buffer_start(handle)
  }

  /// Calls `body` with the bytes of the last fill.
  package func withBytes<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
    let start = unsafe iio_buffer_start(handle)
    let end = unsafe iio_buffer_end(handle)
    guard let start = unsafe start, let end = unsafe end, unsafe end > start else {
      let nothing: [UInt8] = []
      return body(nothing.span)
    }
    let bytes = unsafe UnsafeBufferPointer(
      start: UnsafePointer(start.assumingMemoryBound(to: UInt8.self)), count: end - start)
    return body(unsafe bytes.span)
  }
}

/// A handle with which another thread can abort a waiting `Buffer.refill`.
// Sendable: the pointer is only used under the lock, and only during the lifetime of the buffer, because
// `detach` runs before the destruction. `iio_buffer_cancel` can be called from any thread.
@safe package final class BufferCancellation: @unchecked Sendable {
  private let handle = Locked<UInt>(0)

  package init() {}

  fileprivate func attach(_ buffer: OpaquePointer) {
    let bits = UInt(bitPattern: buffer)
    handle.withLock { $0 = bits }
  }

  fileprivate func detach() { handle.withLock { $0 = 0 } }

  /// Makes a waiting `refill`, and every later one of the same buffer, fail. Has no effect without a buffer.
  /// The corresponding C function is `iio_buffer_cancel`.
  package func cancel() {
    handle.withLock { bits in
      guard let buffer = unsafe OpaquePointer(bitPattern: bits) else { return }
      unsafe iio_buffer_cancel(buffer)
    }
  }
}
