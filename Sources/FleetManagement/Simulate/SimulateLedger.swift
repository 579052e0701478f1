internal import Fleet
internal import Platform
internal import Telemetry

/// The sequence numbers of unacknowledged messages. Memory grows with the number of messages in flight or
/// lost.
package final class SimulateLedger: Sendable {
  private struct Entry: Sendable {
    var vehicle: Int
    var number: UInt64
  }

  private struct Token: Hashable {
    var link: Int
    var number: UInt64
  }

  private let open = Locked<[Token: Entry]>([:])

  package init() {}

  /// Appends a message to a connection's queue and records its sequence number. The lock prevents an
  /// acknowledgement from being processed before the number is recorded.
  func append(
    _ output: SimulatedFleet.Output, to queue: PublishQueue, of link: Int, isVital: Bool = false
  ) {
    open.withLock { open in
      let token = Token(link: link, number: queue.append(output.message, isVital: isVital))
      if let number = output.number { open[token] = Entry(vehicle: output.vehicle, number: number) }
    }
  }

  /// Records the broker's acknowledgement of a message.
  func acknowledge(_ token: UInt64, of link: Int) {
    open.withLock { $0[Token(link: link, number: token)] = nil }
  }

  /// Returns the sequence numbers that each vehicle has sent so far.
  package func told(by fleet: SimulatedFleet) -> [SentNumbers] {
    var left: [Int: [Int64]] = [:]
    for entry in open.withLock({ Array($0.values) }) {
      left[entry.vehicle, default: []].append(Int64(clamping: entry.number))
    }
    return fleet.vehicles.enumerated().map { place, vehicle in
      SentNumbers(
        vehicle: VehicleKey(fleet: vehicle.topics.fleet, vehicle: vehicle.topics.vehicle),
        epoch: vehicle.epoch,
        last: Int64(clamping: vehicle.seq), unacknowledged: Self.ranges(left[place]?.sorted() ?? []))
    }
  }

  /// Returns sorted numbers as ranges.
  private static func ranges(_ numbers: [Int64]) -> [ClosedRange<Int64>] {
    var ranges: [ClosedRange<Int64>] = []
    for number in numbers {
      if let last = ranges.last, last.upperBound + 1 == number {
        ranges[ranges.count - 1] = last.lowerBound...number
      } else {
        ranges.append(number...number)
      }
    }
    return ranges
  }
}
