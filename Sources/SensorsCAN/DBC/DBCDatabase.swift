/// What a DBC file says of a bus: its messages, and where in each the signals lie.
public struct DBCDatabase: Hashable, Sendable {
  /// In the order of the file.
  public internal(set) var messages: [DBCMessage] = []

  /// Every signal of a name, or of a message and a name as in `EngineData.Speed`.
  public func signals(named name: some StringProtocol) -> [(message: DBCMessage, signal: DBCSignal)] {
    let parts = name.split(separator: ".", maxSplits: 1)
    return messages.flatMap { message -> [(message: DBCMessage, signal: DBCSignal)] in
      if parts.count == 2, message.name != parts[0] { return [] }
      return message.signals.filter { $0.name == parts[parts.count - 1] }.map { (message, $0) }
    }
  }
}

/// A message of a DBC file (`BO_`).
public struct DBCMessage: Hashable, Sendable {
  public var identifier: CANFrame.Identifier
  public var name: String
  /// Bytes.
  public var length: Int
  public var signals: [DBCSignal] = []
  /// Where it stands in the file, from 1.
  public var line: Int

  /// The signal that says which of the multiplexed ones a frame carries (`M`); nil where there is none.
  public var multiplexor: DBCSignal? { signals.first { $0.multiplexing == .multiplexor } }

  /// What a signal says in a frame of this message: nil where the frame is too short for it, or carries other multiplexed
  /// signals.
  public func rawValue(of signal: DBCSignal, in data: [UInt8]) -> DBCSignal.RawValue? {
    if case .multiplexed(let wanted) = signal.multiplexing {
      guard let selected = multiplexor?.rawValue(in: data)?.bits, selected == wanted else { return nil }
    }
    return signal.rawValue(in: data)
  }
}

/// A signal of a DBC file (`SG_`).
public struct DBCSignal: Hashable, Sendable {
  public enum ByteOrder: Hashable, Sendable {
    /// `@1`, Intel: `start` is the least significant bit.
    case little
    /// `@0`, Motorola: `start` is the most significant bit.
    case big
  }

  public enum Format: Hashable, Sendable {
    case unsigned
    case signed
    /// IEEE 754 of 32 or 64 bits, by `SIG_VALTYPE_`.
    case float
  }

  public enum Multiplexing: Hashable, Sendable {
    /// In every frame.
    case none
    /// `M`: says which of the others a frame carries.
    case multiplexor
    /// `m3`: in frames whose multiplexor is 3.
    case multiplexed(UInt64)
    /// `m3M`: both, as in extended multiplexing.
    case extended
  }

  public var name: String
  /// The bit, from 0, by the numbering of the DBC: bit 0 is the least significant of byte 0, bit 8 of byte 1.
  public var start: Int
  /// Bits, 1 ... 64.
  public var length: Int
  public var byteOrder: ByteOrder
  public var format: Format
  public var factor: Double
  public var offset: Double
  /// Physical; nil where the file has `[0|0]`, which says nothing.
  public var range: ClosedRange<Double>?
  /// As the file has it; often empty.
  public var unit: String
  public var multiplexing: Multiplexing
  /// What raw values are called (`VAL_`).
  public var labels: [Int64: String] = [:]
  /// Where it stands in the file, from 1.
  public var line: Int
}
