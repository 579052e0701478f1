internal import CIIO

/// A channel, borrowed from its device.
@safe package struct Channel: ~Copyable {
  let handle: OpaquePointer
  private let device: String

  init(handle: OpaquePointer, device: String) {
    unsafe self.handle = handle
    self.device = device
  }

  /// The identifier, such as "accel_x" or "timestamp".
  package var identifier: String { unsafe String(cString: iio_channel_get_id(handle)) }

  /// True if the channel can be captured in a buffer.
  package var isScanElement: Bool {
    unsafe iio_channel_is_scan_element(handle) && scanIndex >= 0
  }

  /// The position in the order of a scan; negative for a channel that cannot be captured.
  package var scanIndex: Int { Int(unsafe iio_channel_get_index(handle)) }

  /// Returns the format of the channel in a scan.
  package func scanFormat() throws(IIOError) -> ScanFormat {
    guard let raw = unsafe iio_channel_get_data_format(handle) else {
      throw IIOError(
        operation: .read, object: "\(device) \(identifier) type", reason: "libiio has no format")
    }
    let format = unsafe raw.pointee
    guard let decoded = ScanFormat(format) else {
      throw IIOError(
        operation: .decode, object: "\(device) \(identifier)",
        reason:
          "its scan format (\(format.bits) bits in \(format.length), shift \(format.shift)) is invalid")
    }
    return decoded
  }

  /// Adds the channel to the scan mask or removes it; effective with the next buffer.
  package func setEnabled(_ enabled: Bool) {
    if enabled { unsafe iio_channel_enable(handle) } else { unsafe iio_channel_disable(handle) }
  }

  package func hasAttribute(_ name: String) -> Bool { unsafe iio_channel_find_attr(handle, name) != nil }

  /// Returns the text of an attribute; nil if the channel has none with this name.
  package func attribute(_ name: String) throws(IIOError) -> String? {
    guard hasAttribute(name) else { return nil }
    return try unsafe AttributeText.read("\(device) \(identifier) \(name)") {
      unsafe iio_channel_attr_read(handle, name, $0, $1)
    }
  }

  /// Returns an attribute as a number; nil if the channel has none with this name.
  package func number(_ name: String) throws(IIOError) -> Double? {
    guard let text = try attribute(name) else { return nil }
    guard let number = Double(text), number.isFinite else {
      throw IIOError(
        operation: .read, object: "\(device) \(identifier) \(name)", reason: "\"\(text)\" is not a number")
    }
    return number
  }

  /// Sets an attribute; returns false if there is none with this name.
  @discardableResult
  package func setAttribute(_ name: String, to text: String) throws(IIOError) -> Bool {
    guard hasAttribute(name) else { return false }
    let code = unsafe iio_channel_attr_write(handle, name, text)
    guard code >= 0 else {
      throw IIOError(
        operation: .set("to \(text)"), object: "\(device) \(identifier) \(name)", errno: Int32(-code))
    }
    return true
  }

  /// Converts a sample with libiio, to test the decoder. The corresponding C function is
  /// `iio_channel_convert`.
  package func convertByLibrary(_ bytes: [UInt8]) -> [UInt8] {
    var result = [UInt8](repeating: 0, count: bytes.count)
    unsafe bytes.withUnsafeBytes { source in
      unsafe result.withUnsafeMutableBytes { target in
        guard let from = source.baseAddress, let to = target.baseAddress else { return }
        unsafe iio_channel_convert(handle, to, from)
      }
    }
    return result
  }
}
