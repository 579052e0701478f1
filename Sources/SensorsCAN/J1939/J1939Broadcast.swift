internal import Spatial

/// Reassembles broadcasts of several frames: the broadcast announce message of J1939-21's transport protocol
/// (TP.CM_BAM and TP.DT). Time comes with the frames.
struct J1939Broadcast: Sendable {
  static let (connection, transfer): (UInt32, UInt32) = (0xEC00, 0xEB00)

  private struct Transfer: Sendable {
    var group: UInt32
    var length: Int
    var packets: Int
    var data: [UInt8] = []
    var received = 0
    var last: Timestamp
  }

  private var transfers: [UInt8: Transfer] = [:]
  /// Parameter groups (PGN) to reassemble; others are ignored.
  private let groups: Set<UInt32>

  /// Maximum time in s between two packets of a transfer; the standard limits senders to 0.2.
  private static let longestPause = 0.75
  /// Permitted lengths of a transfer in bytes.
  private static let lengths = 9...1785

  init(groups: Set<UInt32>) {
    self.groups = groups
  }

  /// Processes a frame.
  /// - Returns: the parameter group and its data if the frame completes a transfer; nil otherwise.
  mutating func process(
    _ identifier: J1939Identifier, _ data: [UInt8], at time: Timestamp
  ) -> (group: UInt32, data: [UInt8])? {
    guard data.count == 8, identifier.destination == nil else { return nil }
    switch identifier.group {
    case Self.connection:
      announce(identifier.source, data, at: time)
      return nil
    case Self.transfer: return packet(identifier.source, data, at: time)
    default: return nil
    }
  }

  private mutating func announce(_ source: UInt8, _ data: [UInt8], at time: Timestamp) {
    guard data[0] == 32 else { return }
    let length = Int(data[1]) | Int(data[2]) << 8
    let group = UInt32(data[5]) | UInt32(data[6]) << 8 | UInt32(data[7]) << 16
    // A new announcement ends the previous transfer.
    transfers[source] = nil
    guard groups.contains(group), Self.lengths.contains(length), Int(data[3]) == (length + 6) / 7 else {
      return
    }
    transfers[source] = Transfer(group: group, length: length, packets: Int(data[3]), last: time)
  }

  private mutating func packet(
    _ source: UInt8, _ data: [UInt8], at time: Timestamp
  ) -> (group: UInt32, data: [UInt8])? {
    guard var transfer = transfers[source] else { return nil }
    transfers[source] = nil
    guard Int(data[0]) == transfer.received + 1, time.seconds(since: transfer.last) <= Self.longestPause
    else { return nil }
    transfer.data += data.dropFirst()
    transfer.received += 1
    transfer.last = time
    guard transfer.received == transfer.packets else {
      transfers[source] = transfer
      return nil
    }
    return (transfer.group, Array(transfer.data.prefix(transfer.length)))
  }
}
