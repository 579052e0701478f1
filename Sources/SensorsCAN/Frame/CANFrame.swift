/// A frame of a CAN bus, classic or FD.
public struct CANFrame: Hashable, Sendable {
  /// Identifier of a frame: 11 bits, or 29 in the extended format.
  public struct Identifier: Hashable, Sendable {
    public let rawValue: UInt32
    public let isExtended: Bool

    /// Bits beyond 11 or 29 are dropped.
    public init(_ rawValue: UInt32, isExtended: Bool = false) {
      self.rawValue = rawValue & (isExtended ? 0x1FFF_FFFF : 0x7FF)
      self.isExtended = isExtended
    }
  }

  public enum Kind: Hashable, Sendable {
    case data
    /// A request for a frame of this identifier; it contains no data.
    case remoteRequest
    /// A report of the controller about the state of the bus; the identifier contains the classes of error
    /// (linux/can/error.h).
    case error
  }

  public var identifier: Identifier
  public var kind: Kind
  /// Data: at most 8 bytes, in FD frames at most 64.
  public var data: [UInt8]

  /// Maximum data length of an FD frame.
  public static let longestData = 64

  /// - Parameter data: data of the frame; bytes beyond 64 are dropped.
  public init(_ identifier: Identifier, data: [UInt8], kind: Kind = .data) {
    self.identifier = identifier
    self.kind = kind
    self.data = data.count > Self.longestData ? Array(data.prefix(Self.longestData)) : data
  }
}

extension CANFrame.Identifier: CustomStringConvertible {
  /// Hexadecimal identifier as written by candump: three digits, or eight in the extended format.
  public var description: String {
    let digits = String(rawValue, radix: 16, uppercase: true)
    return String(repeating: "0", count: max(0, (isExtended ? 8 : 3) - digits.utf8.count)) + digits
  }
}

/// A filter for frames whose identifier equals `identifier` in the bits of `mask`. The kernel drops all other
/// frames, so that the processor sleeps on a busy bus.
public struct CANFilter: Hashable, Sendable {
  public var identifier: CANFrame.Identifier
  public var mask: UInt32

  /// Creates a filter for a single message.
  public init(_ identifier: CANFrame.Identifier) {
    self.init(identifier, mask: .max)
  }

  public init(_ identifier: CANFrame.Identifier, mask: UInt32) {
    self.identifier = identifier
    self.mask = mask & (identifier.isExtended ? 0x1FFF_FFFF : 0x7FF)
  }

  public func admits(_ identifier: CANFrame.Identifier) -> Bool {
    identifier.isExtended == self.identifier.isExtended
      && identifier.rawValue & mask == self.identifier.rawValue & mask
  }
}
