package import Fleet
package import Telemetry

/// The queue of vehicles that wait for parts of the map. A value type without I/O.
///
/// A vehicle is in the queue at most once, with its latest request, regardless of how many requests it sends.
package struct PieceRequests {
  private var newest: [VehicleKey: BeaconsWantedMessage] = [:]
  private var line: [VehicleKey] = []
  private var waiting: Set<VehicleKey> = []
  /// The number of vehicles at the start of `line` that were already removed from the queue.
  private var served = 0
  private let most: Int

  /// Creates an empty queue.
  ///
  /// - Parameter most: the maximum number of vehicles whose requests are stored.
  package init(most: Int = 100_000) { self.most = most }

  /// The number of waiting vehicles.
  var count: Int { waiting.count }

  /// Appends a vehicle's request.
  ///
  /// - Returns: false if the maximum number of vehicles is reached.
  package mutating func append(_ wanted: BeaconsWantedMessage, from vehicle: VehicleKey) -> Bool {
    guard newest[vehicle] != nil || newest.count < most else { return false }
    newest[vehicle] = wanted
    if waiting.insert(vehicle).inserted { line.append(vehicle) }
    return true
  }

  /// Removes and returns the vehicle that has waited longest; nil if the queue is empty.
  package mutating func next() -> (vehicle: VehicleKey, wanted: BeaconsWantedMessage)? {
    guard served < line.count else { return nil }
    let vehicle = line[served]
    served += 1
    if served == line.count || served > 4096 {
      line.removeFirst(served)
      served = 0
    }
    waiting.remove(vehicle)
    return newest[vehicle].map { (vehicle, $0) }
  }

  /// Queues all vehicles with a stored request again, after a change of the map.
  package mutating func askAgain() {
    for vehicle in newest.keys.sorted() where waiting.insert(vehicle).inserted { line.append(vehicle) }
  }
}
