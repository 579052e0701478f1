internal import CMosquittoReads
internal import Glibc

/// Stands between a socket and libmosquitto: what the library reads has been checked, so that no broker can say what it was
/// not made for. Belongs to the session's thread.
///
/// An assertion in libmosquitto 2.0.11 ends the process at a property that it does not know, and it allocates what a packet's
/// length says. Payloads pass through unseen; of the rest one block is read ahead, which also spares the library's system calls
/// for single bytes.
@safe final class PacketGuard {
  /// Bytes that are read at once.
  private static let capacity = 32 << 10
  /// Payloads of which more is to come than this go to the library without a stop here.
  private static let direct = 4 << 10

  private let buffer: UnsafeMutableRawPointer
  private var validator: PacketValidator
  /// In the buffer: where the library reads next, to where it may, and to where bytes are.
  private var start = 0
  private var sound = 0
  private var end = 0
  /// Bytes from `sound` on that are to be left out.
  private var gap = 0
  /// Why nothing passes any more.
  private(set) var violation: PacketValidator.Violation?
  /// Whether the last look at the socket found nothing.
  private(set) var isDrained = false

  init(version311: Bool, limit: Int) {
    unsafe buffer = UnsafeMutableRawPointer.allocate(byteCount: Self.capacity, alignment: 16)
    validator = PacketValidator(version311: version311, limit: limit)
  }

  deinit { unsafe buffer.deallocate() }

  /// Whether the library's reading can be checked at all, in this process.
  static var isInForce: Bool { mosquitto_reads_redirect() }

  /// Messages that were larger than allowed and left out.
  var droppedCount: Int { validator.droppedCount }

  /// Lets the library read through this guard while `body` runs.
  func around<Result>(_ body: () -> Result) -> Result {
    unsafe mosquitto_reads_through(
      { context, buffer, count in
        guard let context = unsafe context, let buffer = unsafe buffer else { return -1 }
        let packets = unsafe Unmanaged<PacketGuard>.fromOpaque(context).takeUnretainedValue()
        let output = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: count)
        return unsafe packets.read(into: output) {
          unsafe mosquitto_reads_receive($0.baseAddress, $0.count)
        }
      }, Unmanaged.passUnretained(self).toOpaque())
    defer { mosquitto_reads_through(nil, nil) }
    return body()
  }

  /// Gives sound bytes, as `read(2)` would.
  /// - Parameter receive: reads the socket, as `read(2)`.
  func read(
    into output: UnsafeMutableRawBufferPointer, receive: (UnsafeMutableRawBufferPointer) -> Int
  ) -> Int {
    while true {
      if start < sound {
        let count = min(output.count, sound - start)
        unsafe output.baseAddress?.copyMemory(from: buffer + start, byteCount: count)
        start += count
        return count
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
      // The beginning of a header waits for the rest of it.
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

  /// Looks at what has come since. Returns whether there is anything for the library, or may be after another look.
  private func check() -> Bool {
    while sound < end {
      switch unsafe validator.check(UnsafeRawBufferPointer(start: buffer + sound, count: end - sound)) {
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
