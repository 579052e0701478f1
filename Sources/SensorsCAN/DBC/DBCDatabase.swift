public import Sensors

/// The content of a DBC file: the messages of a bus and the layout of their signals.
public struct DBCDatabase: Hashable, Sendable {
  /// Messages in the order of the file. Several can have the same identifier.
  public internal(set) var messages: [DBCMessage] = []
  /// Statements that could not be read and were skipped, in the order of the file. They do not affect the
  /// other statements.
  public internal(set) var skipped: [DBCSkip] = []

  /// Returns all signals with a name such as `Speed`, or with a message and a name such as
  /// `EngineData.Speed`. Unreadable signals are included.
  public func signals(named name: some StringProtocol) -> [(message: DBCMessage, signal: DBCSignal)] {
    let (message, signal) = Self.parts(of: name)
    return messages.flatMap { candidate -> [(message: DBCMessage, signal: DBCSignal)] in
      if let message, candidate.name != message { return [] }
      return candidate.signals.filter { $0.name == signal }.map { (candidate, $0) }
    }
  }

  /// Returns the reason why a signal, or the message that it belongs to, was skipped; nil if neither was
  /// skipped.
  func reasonForSkipping(_ name: some StringProtocol) -> SourceError? {
    let (message, signal) = Self.parts(of: name)
    return skipped.first { skip in
      skip.signal == String(signal) && (message == nil || skip.message == message.map { String($0) })
        || skip.signal == nil && message != nil && skip.message == message.map { String($0) }
    }?.error
  }

  private static func parts<Name: StringProtocol>(
    of name: Name
  ) -> (message: Name.SubSequence?, signal: Name.SubSequence) {
    let parts = name.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    return parts.count == 2 ? (parts[0], parts[1]) : (nil, parts[0])
  }
}

/// A statement of a DBC file that could not be read.
public struct DBCSkip: Hashable, Sendable {
  /// Name of the message that the statement is about; nil if unknown.
  public var message: String?
  /// Name of the signal that the statement is about; nil for a message, and if unknown.
  public var signal: String?
  /// Line, problem and remedy.
  public var error: SourceError
}

/// A message of a DBC file (`BO_`).
public struct DBCMessage: Hashable, Sendable {
  public var identifier: CANFrame.Identifier
  public var name: String
  /// Length in bytes.
  public var length: Int
  public var signals: [DBCSignal] = []
  /// Line in the file, from 1.
  public var line: Int

  /// Maximum nesting of multiplexors.
  static let deepestNesting = 8

  /// Returns the value of a signal in a frame of this message. Nil if the frame is too short for the signal,
  /// or contains other multiplexed signals in its place.
  public func rawValue(of signal: DBCSignal, in data: [UInt8]) -> DBCSignal.RawValue? {
    isCarried(signal, in: data, depth: 0) ? signal.rawValue(in: data) : nil
  }

  /// Returns whether every multiplexor above a signal selects it in a frame.
  private func isCarried(_ signal: DBCSignal, in data: [UInt8], depth: Int) -> Bool {
    guard signal.fault == nil else { return false }
    guard let selection = signal.selection else { return true }
    guard depth < Self.deepestNesting else { return false }
    return signals.contains { multiplexor in
      guard multiplexor.isMultiplexor, multiplexor.name == selection.multiplexor,
        let value = multiplexor.rawValue(in: data)?.selector, selection.contains(value)
      else { return false }
      return isCarried(multiplexor, in: data, depth: depth + 1)
    }
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

  /// The condition under which a frame contains a multiplexed signal.
  public struct Selection: Hashable, Sendable {
    /// Name of the signal whose raw value selects the multiplexed signal.
    public var multiplexor: String
    /// Raw values of the multiplexor that select the signal: ranges in ascending order, without overlaps.
    public var values: [ClosedRange<UInt64>]

    func contains(_ value: UInt64) -> Bool { values.contains { $0.contains(value) } }
  }

  public var name: String
  /// First bit, from 0, in the numbering of the DBC: bit 0 is the least significant bit of byte 0, and bit 8
  /// is that of byte 1.
  public var start: Int
  /// Number of bits, from 1. A signal of more than 64 bits is unreadable.
  public var length: Int
  public var byteOrder: ByteOrder
  public var format: Format
  public var factor: Double
  public var offset: Double
  /// Physical range; nil if the file has `[0|0]`, which means unlimited.
  public var range: ClosedRange<Double>?
  /// Unit as in the file; often empty.
  public var unit: String
  /// True if the raw value selects other signals of the message (`M`, `m3M`).
  public var isMultiplexor = false
  /// The condition under which a frame contains this signal (`m3`, `SG_MUL_VAL_`); nil if every frame does.
  public var selection: Selection?
  /// The reason why the signal is unreadable, as in "has 1600 bits; at most 64 can be read"; nil if it is readable.
  public internal(set) var fault: String?
  /// Names of raw values (`VAL_`).
  public var labels: [Int64: String] = [:]
  /// Line in the file, from 1.
  public var line: Int
}
