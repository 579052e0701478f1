internal import CIIO

/// A channel of a device, on loan from it.
@safe package struct Channel: ~Copyable {
  let handle: OpaquePointer
  private let device: String

  init(handle: OpaquePointer, device: String) {
    unsafe self.handle = handle
    self.device = device
  }

  /// As in "accel_x" or "timestamp".
  package var identifier: String { unsafe String(cString: iio_channel_get_id(handle)) }

  /// Whether the channel can be captured in a buffer.
  package var isScanElement: Bool {
    unsafe iio_channel_is_scan_element(handle) && scanIndex >= 0
  }

  /// The place in the order of a scan; negative for a channel that is not captured.
  package var scanIndex: Int { Int(unsafe iio_channel_get_index(handle)) }

  /// How the channel's value lies in a scan.
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
          "its scan format (\(format.bits) bits in \(format.length), shift \(format.shift)) makes no sense")
    }
    return decoded
  }

  /// Puts the channel into the scan mask or takes it out; takes effect with the next buffer.
  package func setEnabled(_ enabled: Bool) {
    if enabled { unsafe iio_channel_enable(handle) } else { unsafe iio_channel_disable(handle) }
  }

  package func hasAttribute(_ name: String) -> Bool { unsafe iio_channel_find_attr(handle, name) != nil }

  /// The text of an attribute; nil where the channel has none of that name.
  package func attribute(_ name: String) throws(IIOError) -> String? {
    guard hasAttribute(name) else { return nil }
    return try unsafe AttributeText.read("\(device) \(identifier) \(name)") {
      unsafe iio_channel_attr_read(handle, name, $0, $1)
    }
  }

  /// An attribute as a number; nil where the channel has none of that name.
  package func number(_ name: String) throws(IIOError) -> Double? {
    guard let text = try attribute(name) else { return nil }
    guard let number = Double(text), number.isFinite else {
      throw IIOError(
        operation: .read, object: "\(device) \(identifier) \(name)", reason: "\"\(text)\" is not a number")
    }
    return number
  }

  /// Sets an attribute; false where there is none of that name.
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

  /// libiio's own conversion of one sample, to check decoding against.
  /// The corresponding C function is `iio_channel_convert`.
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
