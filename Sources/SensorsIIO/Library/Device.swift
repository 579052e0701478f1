internal import CIIO
internal import Glibc

/// A device or trigger, borrowed from its context.
@safe package struct Device: ~Copyable {
  package let uri: String
  let handle: OpaquePointer

  /// The identifier, such as "iio:device0" or "trigger1"; it changes at every boot and plug.
  package var identifier: String { unsafe String(cString: iio_device_get_id(handle)) }
  /// The driver's name of the chip.
  package var name: String? { unsafe iio_device_get_name(handle).map { unsafe String(cString: $0) } }
  /// The label of the device tree, such as "accel-display".
  package var label: String? { unsafe iio_device_get_label(handle).map { unsafe String(cString: $0) } }
  package var isTrigger: Bool { unsafe iio_device_is_trigger(handle) }

  /// The device in error messages.
  package var object: String { "\(uri) \(identifier)" + (name.map { " (\($0))" } ?? "") }

  package var channelCount: Int { Int(unsafe iio_device_get_channels_count(handle)) }

  /// Calls `body` with the channel at an index, 0 ..< `channelCount`.
  package func withChannel<Result>(
    at index: Int, _ body: (borrowing Channel) throws(IIOError) -> Result
  ) throws(IIOError) -> Result {
    try unsafe lend(iio_device_get_channel(handle, UInt32(clamping: index)), "#\(index)", body)
  }

  /// Calls `body` with the input channel with an identifier such as "accel_x".
  package func withChannel<Result>(
    _ identifier: String, _ body: (borrowing Channel) throws(IIOError) -> Result
  ) throws(IIOError) -> Result {
    try unsafe lend(iio_device_find_channel(handle, identifier, false), identifier, body)
  }

  private func lend<Result>(
    _ channel: OpaquePointer?, _ title: String, _ body: (borrowing Channel) throws(IIOError) -> Result
  ) throws(IIOError) -> Result {
    guard let channel = unsafe channel else {
      throw IIOError(operation: .find, object: "\(object) \(title)", errno: ENOENT)
    }
    let loan = unsafe Channel(handle: channel, device: object)
    return try body(loan)
  }

  /// Returns whether an input channel with this identifier exists. Names that libiio gives to channels are
  /// ignored.
  package func hasChannel(_ identifier: String) -> Bool {
    guard let channel = unsafe iio_device_find_channel(handle, identifier, false) else { return false }
    return unsafe String(cString: iio_channel_get_id(channel)) == identifier
  }

  package func hasAttribute(_ name: String) -> Bool { unsafe iio_device_find_attr(handle, name) != nil }

  /// Returns the text of a device attribute; nil if there is none with this name.
  package func attribute(_ name: String) throws(IIOError) -> String? {
    guard hasAttribute(name) else { return nil }
    return try unsafe AttributeText.read("\(object) \(name)") {
      unsafe iio_device_attr_read(handle, name, $0, $1)
    }
  }

  /// Sets a device attribute; returns false if there is none with this name.
  @discardableResult
  package func setAttribute(_ name: String, to text: String) throws(IIOError) -> Bool {
    guard hasAttribute(name) else { return false }
    let code = unsafe iio_device_attr_write(handle, name, text)
    guard code >= 0 else {
      throw IIOError(operation: .set("to \(text)"), object: "\(object) \(name)", errno: Int32(-code))
    }
    return true
  }

  /// Returns the text of a file of the device, such as `buffer/enable`.
  package func file(_ path: String) throws(IIOError) -> String {
    try unsafe AttributeText.read("\(object) \(path)") { unsafe iio_device_attr_read(handle, path, $0, $1) }
  }

  /// Ends a capture of any process.
  package func disableBuffer() throws(IIOError) {
    let code = unsafe iio_device_attr_write(handle, "buffer/enable", "0")
    guard code >= 0 else { throw IIOError(operation: .startBuffer, object: object, errno: Int32(-code)) }
  }

  /// The trigger of the device's capture.
  package enum TriggerState: Hashable, Sendable {
    /// The device needs no trigger: it fills its buffer automatically.
    case notNeeded
    case unset
    case set(String)
  }

  /// The assigned trigger. The corresponding C function is `iio_device_get_trigger`.
  package var triggerState: TriggerState {
    var trigger: OpaquePointer?
    let code = unsafe iio_device_get_trigger(handle, &trigger)
    if code == -ENXIO { return .set("a trigger unknown to libiio") }
    guard code >= 0 else { return .notNeeded }
    guard let trigger = unsafe trigger else { return .unset }
    return .set(unsafe iio_device_get_name(trigger).map { unsafe String(cString: $0) } ?? "")
  }

  /// Assigns a trigger. The corresponding C function is `iio_device_set_trigger`.
  package func setTrigger(_ trigger: borrowing Device) throws(IIOError) {
    let code = unsafe iio_device_set_trigger(handle, trigger.handle)
    guard code >= 0 else {
      throw IIOError(
        operation: .set("trigger \(trigger.name ?? trigger.identifier) of"), object: object, errno: -code)
    }
  }

  /// Sets the number of buffer blocks in the kernel. The corresponding C function is
  /// `iio_device_set_kernel_buffers_count`.
  package func setKernelBufferCount(_ count: Int) throws(IIOError) {
    let code = unsafe iio_device_set_kernel_buffers_count(handle, UInt32(clamping: count))
    guard code >= 0 else {
      throw IIOError(operation: .set("the number of kernel buffers of"), object: object, errno: -code)
    }
  }
}

/// A reader of attribute texts.
enum AttributeText {
  static func read(
    _ object: String, _ call: (UnsafeMutablePointer<CChar>, Int) -> Int
  ) throws(IIOError) -> String {
    let (code, text) = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4096) {
      buffer -> (Int, String) in
      guard let base = buffer.baseAddress else { return (-Int(ENOMEM), "") }
      unsafe base.pointee = 0
      let code = unsafe call(base, buffer.count - 1)
      guard code >= 0 else { return (code, "") }
      unsafe base[min(code, buffer.count - 1)] = 0
      return (code, unsafe String(cString: base))
    }
    guard code >= 0 else { throw IIOError(operation: .read, object: object, errno: Int32(-code)) }
    guard let end = text.lastIndex(where: { !$0.isWhitespace && $0 != "\0" }) else { return "" }
    return String(text[...end])
  }
}
