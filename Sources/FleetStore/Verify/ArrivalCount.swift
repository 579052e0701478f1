internal import Fleet
internal import FleetControl

/// Holds what arrived against what vehicles have told, number by number. Pure.
struct ArrivalCount {
  private struct Series: Hashable {
    var vehicle: VehicleKey
    var epoch: String
  }

  private let told: [ToldNumbers]
  private let places: [Series: Int]
  /// How often each number of each of `told` came, from 1 on; 255 stands for that or more.
  private var counts: [[UInt8]]
  /// Numbers of a told series that nobody told.
  private var untold: [Int: Set<Int64>] = [:]

  /// - Throws: `FleetError` for the same numbers of the same vehicle told twice.
  init(_ told: [ToldNumbers]) throws(FleetError) {
    self.told = told
    var places: [Series: Int] = [:]
    for (place, one) in told.enumerated()
    where places.updateValue(place, forKey: Series(vehicle: one.vehicle, epoch: one.epoch)) != nil {
      throw .usage("verify", "\(one.vehicle)", "its numbers were told twice; name each file once")
    }
    self.places = places
    counts = told.map { [UInt8](repeating: 0, count: Int($0.last)) }
  }

  var fleets: [String] { Set(told.map(\.vehicle.fleet)).sorted() }

  /// A message has arrived. What is of no vehicle that has told numbers, or of another run, does not count.
  mutating func observe(_ vehicle: VehicleKey, epoch: String, seq: Int64) {
    guard let place = places[Series(vehicle: vehicle, epoch: epoch)] else { return }
    guard seq >= 1, seq <= told[place].last else {
      untold[place, default: []].insert(seq)
      return
    }
    let index = Int(seq) - 1
    if counts[place][index] < .max { counts[place][index] += 1 }
  }

  var result: ArrivalResult {
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

/// What came of that.
struct ArrivalResult: Hashable, Sendable {
  /// A vehicle of which not each number is there once.
  struct Odd: Hashable, Sendable {
    var vehicle: VehicleKey
    var epoch: String
    /// Numbers in order.
    var missing: [Int64] = []
    var doubled: [Int64] = []
    var untold: [Int64] = []
  }

  var vehicles = 0
  /// Numbers that the broker has acknowledged, and those of them that arrived.
  var acknowledged = 0
  var arrived = 0
  var missing = 0
  /// Numbers that arrived more than once.
  var doubled = 0
  /// Numbers that arrived and that nobody told.
  var untold = 0
  /// Numbers that the broker has not acknowledged, and those of them that arrived all the same.
  var unacknowledged = 0
  var unacknowledgedArrived = 0
  var odd: [Odd] = []

  var isWhole: Bool { odd.isEmpty }

  /// Numbers in order, as in `3, 5-7`.
  static func text(_ numbers: [Int64]) -> String {
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

  var sentence: String {
    var text = "\(vehicles) vehicle\(vehicles == 1 ? "" : "s"), \(acknowledged) numbers acknowledged: "
    text += "\(arrived) arrived, \(missing) missing, \(doubled) doubled"
    if untold > 0 { text += ", \(untold) that nobody told" }
    if unacknowledged > 0 {
      text += "; of \(unacknowledged) that were not acknowledged \(unacknowledgedArrived) arrived"
    }
    return text
  }
}
