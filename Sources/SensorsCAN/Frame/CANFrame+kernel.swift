/// The kernel's format of frames (linux/can.h): `struct can_frame` of 16 bytes, `struct canfd_frame` of 72,
/// in the byte order of the machine.
extension CANFrame {
  static let (kernelSize, kernelSizeFD) = (16, 72)
  static let (extendedFlag, remoteFlag, errorFlag): (UInt32, UInt32, UInt32) = (
    0x8000_0000, 0x4000_0000, 0x2000_0000
  )

  /// Decodes a frame in the kernel's format. Nil if the number of bytes is not that of a frame, or if the
  /// data length is too large.
  init?(kernel bytes: [UInt8]) {
    guard bytes.count == Self.kernelSize || bytes.count == Self.kernelSizeFD else { return nil }
    let isFD = bytes.count == Self.kernelSizeFD
    let raw = bytes[0..<4].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }.littleEndian
    let length = Int(bytes[4])
    guard length <= (isFD ? Self.longestData : 8) else { return nil }
    let isError = raw & Self.errorFlag != 0
    let kind: Kind = isError ? .error : raw & Self.remoteFlag != 0 ? .remoteRequest : .data
    self.init(
      Identifier(raw & 0x1FFF_FFFF, isExtended: raw & Self.extendedFlag != 0 || isError),
      data: kind == .remoteRequest ? [] : Array(bytes[8..<(8 + length)]), kind: kind)
  }

  /// The frame in the kernel's format.
  package var kernelBytes: [UInt8] {
    let isFD = data.count > 8
    var bytes = [UInt8](repeating: 0, count: isFD ? Self.kernelSizeFD : Self.kernelSize)
    let raw = identifier.kernelValue | (kind == .remoteRequest ? Self.remoteFlag : 0)
    for index in 0..<4 { bytes[index] = UInt8(truncatingIfNeeded: raw.littleEndian >> UInt32(8 * index)) }
    bytes[4] = UInt8(data.count)
    bytes.replaceSubrange(8..<(8 + data.count), with: data)
    return bytes
  }
}

extension CANFrame.Identifier {
  /// The identifier in the kernel's format, with a flag for 29 bits.
  package var kernelValue: UInt32 { rawValue | (isExtended ? CANFrame.extendedFlag : 0) }
}

extension CANFilter {
  /// Identifier and mask in the kernel's format. The frame format must match, and remote requests do not
  /// pass. The error flag must not be in the mask, because the filter would then apply to error frames only.
  package var kernelValues: [UInt32] {
    [identifier.kernelValue, mask | CANFrame.extendedFlag | CANFrame.remoteFlag]
  }
}

/// A controller's report of the state of its bus (linux/can/error.h).
enum CANBusError: Hashable, Sendable {
  /// The controller has disconnected itself from the bus after too many errors.
  case busOff
  /// The controller has seen many errors. It no longer interrupts faulty frames of other nodes.
  case errorPassive
  case restarted

  /// The error classes to request: problems of the controller, bus off, and a restart after bus off.
  static let wanted: UInt32 = 0x004 | 0x040 | 0x100

  /// Decodes the report of an error frame. Nil for frames that are not error frames, and for other classes of
  /// errors.
  init?(_ frame: CANFrame) {
    guard frame.kind == .error else { return nil }
    let classes = frame.identifier.rawValue
    if classes & 0x040 != 0 {
      self = .busOff
    } else if classes & 0x100 != 0 {
      self = .restarted
    } else if classes & 0x004 != 0, frame.data.count > 1, frame.data[1] & 0x30 != 0 {
      self = .errorPassive
    } else {
      return nil
    }
  }
}
