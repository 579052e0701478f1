import Positioning
import Simulation
import Spatial

/// A day of a parked vehicle, made of what a real receiver said while it stood: blocks of half a minute, drawn at random.
enum Parked {
  private static let block = 30

  /// - Parameter standing: reports of a vehicle that stands, once a second.
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
