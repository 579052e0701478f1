package import Fleet
package import FleetManagement

/// A comparison of the messages that arrived at a consumer with those that vehicles sent, by sequence number.
/// A pure value type.
package struct ArrivalCount {
  private struct Series: Hashable {
    var vehicle: VehicleKey
    var epoch: String
  }

  private let told: [SentNumbers]
  private let places: [Series: Int]
  /// For each list of sent numbers, how often each number arrived, starting with number 1. 255 means 255
  /// times or more.
  private var counts: [[UInt8]]
  /// For each list of sent numbers, the numbers that arrived but were not sent.
  private var untold: [Int: Set<Int64>] = [:]

  /// Creates the comparison.
  ///
  /// - Parameter told: the numbers that each vehicle sent in each epoch.
  /// - Throws: `FleetError` if an epoch of a vehicle occurs twice.
  package init(_ told: [SentNumbers]) throws(FleetError) {
    self.told = told
    var places: [Series: Int] = [:]
    for (place, one) in told.enumerated()
    where places.updateValue(place, forKey: Series(vehicle: one.vehicle, epoch: one.epoch)) != nil {
      throw .usage("verify", "\(one.vehicle)", "its numbers occur twice; name each file once")
    }
    self.places = places
    counts = told.map { [UInt8](repeating: 0, count: Int($0.last)) }
  }

  package var fleets: [String] { Set(told.map(\.vehicle.fleet)).sorted() }

  /// Counts an arrival. Messages of other vehicles or epochs are ignored.
  package mutating func observe(_ vehicle: VehicleKey, epoch: String, seq: Int64) {
    guard let place = places[Series(vehicle: vehicle, epoch: epoch)] else { return }
    guard seq >= 1, seq <= told[place].last else {
      untold[place, default: []].insert(seq)
      return
    }
    let index = Int(seq) - 1
    if counts[place][index] < .max { counts[place][index] += 1 }
  }

  package var result: ArrivalResult {
    var result = ArrivalResult()
    for (place, one) in told.enumerated() {
      result.vehicles += 1
      var unacknowledged = one.unacknowledged[...]
      var odd = ArrivalResult.Odd(vehicle: one.vehicle, epoch: one.epoch)
      for (index, count) in counts[place].enumerated() {
        let number = Int64(index) + 1
        while let range = unacknowledged.first, range.upperBound < number { unacknowledged.removeFirst() }
        let isPromised = unacknowledged.first.map { !$0.contains(number) } ?? true
        if isPromised {
          result.acknowledged += 1
          if count > 0 { result.arrived += 1 } else { odd.missing.append(number) }
        } else {
          result.unacknowledged += 1
          if count > 0 { result.unacknowledgedArrived += 1 }
        }
        if count > 1 { odd.doubled.append(number) }
      }
      odd.untold = untold[place]?.sorted() ?? []
      result.missing += odd.missing.count
      result.doubled += odd.doubled.count
      result.untold += odd.untold.count
      if !odd.missing.isEmpty || !odd.doubled.isEmpty || !odd.untold.isEmpty { result.odd.append(odd) }
    }
    return result
  }
}

/// The result of the comparison.
package struct ArrivalResult: Hashable, Sendable {
  /// An epoch of a vehicle whose sequence numbers did not all arrive exactly once.
  package struct Odd: Hashable, Sendable {
    package var vehicle: VehicleKey
    package var epoch: String
    /// The sequence numbers that did not arrive, in ascending order.
    package var missing: [Int64] = []
    /// The sequence numbers that arrived more than once, in ascending order.
    package var doubled: [Int64] = []
    /// The sequence numbers that arrived but were not sent, in ascending order.
    package var untold: [Int64] = []
  }

  package var vehicles = 0
  /// The number of messages that the broker had acknowledged to the vehicles.
  package var acknowledged = 0
  /// The number of acknowledged messages that arrived at the consumer.
  package var arrived = 0
  /// The number of acknowledged messages that did not arrive at the consumer.
  package var missing = 0
  /// The number of messages that arrived more than once.
  package var doubled = 0
  /// The number of messages that arrived but were not sent.
  package var untold = 0
  /// The number of messages that the broker had not acknowledged to the vehicles.
  package var unacknowledged = 0
  /// The number of unacknowledged messages that arrived nevertheless.
  package var unacknowledgedArrived = 0
  package var odd: [Odd] = []

  package var isWhole: Bool { odd.isEmpty }

  /// Formats sequence numbers in ascending order, such as `3, 5-7`.
  package static func text(_ numbers: [Int64]) -> String {
    var parts: [String] = []
    var index = 0
    while index < numbers.count {
      var end = index
      while end + 1 < numbers.count, numbers[end + 1] == numbers[end] + 1 { end += 1 }
      parts.append(end == index ? "\(numbers[index])" : "\(numbers[index])-\(numbers[end])")
      index = end + 1
    }
    return parts.joined(separator: ", ")
  }

  package var sentence: String {
    var text = "\(vehicles) vehicle\(vehicles == 1 ? "" : "s"), \(acknowledged) numbers acknowledged: "
    text += "\(arrived) arrived, \(missing) missing, \(doubled) doubled"
    if untold > 0 { text += ", \(untold) that nobody told" }
    if unacknowledged > 0 {
      text += "; of \(unacknowledged) that were not acknowledged \(unacknowledgedArrived) arrived"
    }
    return text
  }
}
