package import Spatial

/// Reassembles messages longer than a frame: the receiving side of ISO 15765-2, with normal addressing. Time
/// comes with the frames.
///
/// Its memory is bounded: one message of at most 4,095 bytes for each of eight senders.
package struct ISOTPReceiver: Sendable {
  package enum Outcome: Hashable, Sendable {
    /// An invalid frame, or one out of order; the message in progress is discarded.
    case nothing
    /// A first frame: the sender waits for a flow control frame with this content.
    case reply([UInt8])
    case message([UInt8])
  }

  private struct Transfer: Sendable {
    var length: Int
    var data: [UInt8]
    var next: UInt8 = 1
    var last: Timestamp
  }

  private var transfers: [CANFrame.Identifier: Transfer] = [:]

  /// Maximum time in s between two frames of a message (N_Cr).
  private static let longestPause = 1.0
  private static let mostTransfers = 8
  /// Requests all remaining frames without a pause; padded as ISO 15765-4 requires.
  package static let flowControl: [UInt8] = [0x30, 0, 0, 0xCC, 0xCC, 0xCC, 0xCC, 0xCC]

  package init() {}

  package mutating func process(_ frame: CANFrame, at time: Timestamp) -> Outcome {
    guard let control = frame.data.first, frame.kind == .data else { return .nothing }
    let low = Int(control & 0xF)
    switch control >> 4 {
    case 0:
      transfers[frame.identifier] = nil
      guard low > 0, low <= 7, frame.data.count > low else { return .nothing }
      return .message(Array(frame.data[1...low]))
    case 1: return begin(frame, length: low, at: time)
    case 2: return goOn(frame, number: control & 0xF, at: time)
    default: return .nothing
    }
  }

  private mutating func begin(_ frame: CANFrame, length high: Int, at time: Timestamp) -> Outcome {
    transfers[frame.identifier] = nil
    guard frame.data.count == 8 else { return .nothing }
    let length = high << 8 | Int(frame.data[1])
    // Short messages must be sent as a single frame.
    guard length > 7 else { return .nothing }
    transfers = transfers.filter { time.seconds(since: $0.value.last) <= Self.longestPause }
    guard transfers.count < Self.mostTransfers else { return .nothing }
    transfers[frame.identifier] = Transfer(length: length, data: Array(frame.data[2...]), last: time)
    return .reply(Self.flowControl)
  }

  private mutating func goOn(_ frame: CANFrame, number: UInt8, at time: Timestamp) -> Outcome {
    guard var transfer = transfers.removeValue(forKey: frame.identifier), transfer.next == number,
      time.seconds(since: transfer.last) <= Self.longestPause
    else { return .nothing }
    transfer.data += frame.data.dropFirst().prefix(transfer.length - transfer.data.count)
    if transfer.data.count == transfer.length { return .message(transfer.data) }
    // Only the last frame of a message may be short. A short frame before that would leave a gap.
    guard frame.data.count == 8 else { return .nothing }
    (transfer.next, transfer.last) = ((number + 1) & 0xF, time)
    transfers[frame.identifier] = transfer
    return .nothing
  }
}
