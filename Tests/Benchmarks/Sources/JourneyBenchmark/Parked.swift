import Positioning
import Simulation
import Spatial

/// A day of a parked vehicle, composed of random blocks of 30 s from the reports of a real receiver at rest.
enum Parked {
  private static let block = 30

  /// - Parameter standing: reports of a vehicle at rest, one per second.
  static func day(of standing: [Location], seed: UInt64) -> [Location] {
    guard standing.count > 2 * block else { return [] }
    var random = SeededGenerator(seed: seed)
    var day: [Location] = []
    day.reserveCapacity(86_400)
    while day.count < 86_400 {
      let start = Int(random.nextUniform() * Double(standing.count - block))
      for var location in standing[start..<start + block] {
        location.timestamp = Timestamp(seconds: 1000 + Double(day.count))
        location.time = nil
        day.append(location)
      }
    }
    return day
  }
}
