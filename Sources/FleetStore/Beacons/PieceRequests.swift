internal import Fleet
internal import Telemetry

/// Which vehicles wait for an answer, and what each wants. A value without I/O.
///
/// A vehicle waits once, with its newest message: who asks a thousand times takes no more room, and no more turns, than who asks once.
struct PieceRequests {
  private var newest: [VehicleKey: BeaconsWantedMessage] = [:]
  private var line: [VehicleKey] = []
  private var waiting: Set<VehicleKey> = []
  /// Of the line, those who had their turn.
  private var served = 0
  private let most: Int

  /// - Parameter most: vehicles that are remembered.
  init(most: Int = 100_000) { self.most = most }

  /// Vehicles that wait.
  var count: Int { waiting.count }

  /// - Returns: no for a vehicle for which there is no room.
  mutating func append(_ wanted: BeaconsWantedMessage, from vehicle: VehicleKey) -> Bool {
    guard newest[vehicle] != nil || newest.count < most else { return false }
    newest[vehicle] = wanted
    if waiting.insert(vehicle).inserted { line.append(vehicle) }
    return true
  }

  /// Whoever waits the longest.
  mutating func next() -> (vehicle: VehicleKey, wanted: BeaconsWantedMessage)? {
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

  /// There is another map: all are answered anew.
  mutating func askAgain() {
    for vehicle in newest.keys.sorted() where waiting.insert(vehicle).inserted { line.append(vehicle) }
  }
}
