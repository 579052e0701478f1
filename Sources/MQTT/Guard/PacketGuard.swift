internal import CMosquittoReads
internal import Glibc

/// Validates everything that libmosquitto reads from a socket, so that no broker can send data that the
/// library cannot handle. It belongs to the session's thread.
///
/// An assertion in libmosquitto 2.0.11 terminates the process at an unknown property, and it allocates memory
/// by the length in a packet. Payloads pass unchecked. Other data is read into a buffer of one block and
/// validated there, which also saves the library's system calls for single bytes.
@safe final class PacketGuard {
  /// Size in bytes of the buffer and of a read. It holds dozens of packets without payloads, but only a small
  /// part of a large payload, because buffered bytes are copied once more.
  private static let capacity = 8 << 10
  /// Remaining payload in bytes above which data passes directly to the library.
  private static let direct = 4 << 10

  private let buffer: UnsafeMutableRawPointer
  /// Valid bytes of the buffer, up to `sound`, that the library has not read yet.
  private let ready: UnsafeMutablePointer<mosquitto_ready_bytes>
  private var validator: PacketValidator
  /// Positions in the buffer: of the first ready byte, of the end of valid bytes, and of the end of all
  /// bytes.
  private var start = 0
  private var sound = 0
  private var end = 0
  /// Number of bytes from `sound` that are skipped.
  private var gap = 0
  /// The violation after which nothing passes; nil if there was none.
  private(set) var violation: PacketValidator.Violation?
  /// True if the last read of the socket returned nothing.
  private(set) var isDrained = false

  init(version311: Bool, limit: Int) {
    unsafe buffer = UnsafeMutableRawPointer.allocate(byteCount: Self.capacity, alignment: 16)
    unsafe ready = .allocate(capacity: 1)
    unsafe ready.initialize(to: mosquitto_ready_bytes())
    validator = PacketValidator(version311: version311, limit: limit)
  }

  deinit {
    unsafe ready.deallocate()
    unsafe buffer.deallocate()
  }

  /// True if reads of the library can be validated in this process.
  static var isInForce: Bool { mosquitto_reads_redirect() }

  /// Number of messages skipped because of their size.
  var droppedCount: Int { validator.droppedCount }

  /// Returns why the message that the library hands over must be dropped; nil if it is valid.
  func handedOver(quality: UInt8, identifier: UInt16) -> TextFault? {
    validator.unwanted(quality: quality, identifier: identifier)
  }

  /// Runs `body` while the library reads through this guard.
  func around<Result>(_ body: () -> Result) -> Result {
    unsafe mosquitto_reads_through(
      { context, buffer, count in
        guard let context = unsafe context, let buffer = unsafe buffer else { return -1 }
        let packets = unsafe Unmanaged<PacketGuard>.fromOpaque(context).takeUnretainedValue()
        let output = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: count)
        return unsafe packets.read(into: output) {
          unsafe mosquitto_reads_receive($0.baseAddress, $0.count)
        }
      }, Unmanaged.passUnretained(self).toOpaque(), ready)
    defer { mosquitto_reads_through(nil, nil, nil) }
    return body()
  }

  /// Reads validated bytes. The result and `errno` are those of `read(2)`.
  /// - Parameter receive: reads from the socket like `read(2)`.
  func read(
    into output: UnsafeMutableRawBufferPointer, receive: (UnsafeMutableRawBufferPointer) -> Int
  ) -> Int {
    while true {
      if unsafe ready.pointee.count == 0, start < sound {
        unsafe ready.pointee = mosquitto_ready_bytes(bytes: buffer + start, count: sound - start)
        start = sound
      }
      if unsafe ready.pointee.count > 0 {
        return unsafe mosquitto_reads_take(ready, output.baseAddress, output.count)
      }
      if gap > 0 {
        start += gap
        (sound, gap) = (start, 0)
      }
      if violation != nil {
        errno = EPROTO
        return -1
      }
      if start < end, check() { continue }
      if violation != nil { continue }
      if start == end, validator.unchecked >= Self.direct, output.count >= Self.direct {
        let count = min(output.count, validator.unchecked)
        let received = unsafe receive(UnsafeMutableRawBufferPointer(rebasing: output[..<count]))
        isDrained = received <= 0
        if received > 0 { validator.skip(received) }
        return received
      }
      // An incomplete header moves to the start of the buffer, so that the rest of it can be read.
      if start > 0 {
        if start < end {
          unsafe buffer.copyMemory(from: buffer + start, byteCount: end - start)
        }
        (start, sound, end) = (0, 0, end - start)
      }
      let received = unsafe receive(
        UnsafeMutableRawBufferPointer(start: buffer + end, count: Self.capacity - end))
      isDrained = received <= 0
      guard received > 0 else { return received }
      end += received
    }
  }

  /// Validates newly arrived data. Returns whether the library can read data now, or possibly after another
  /// call.
  private func check() -> Bool {
    while sound < end {
      switch unsafe validator.check(UnsafeMutableRawBufferPointer(start: buffer + sound, count: end - sound))
      {
      case .pass(let count): sound += count
      case .drop(let count):
        gap = count
        return true
      case .incomplete: return start < sound
      case .refuse(let violation):
        self.violation = violation
        return start < sound
      }
    }
    return start < sound
  }
}
