import FleetFixtures
import Simulation
import Spatial
import Telemetry

extension JournalMessages {
  /// Messages of several vehicles, with several messages of each number, some of which contradict each other.
  static func all(_ generator: inout SeededGenerator) -> [(String, String)] {
    var messages: [(String, String)] = []
    for vehicle in ["van", "car", "ü'"] {
      for series in [series, "fedcba9876543210"] {
        for number in Int64(1)...6 {
          let last = Int.random(in: 1...5, using: &generator)
          let ends = Bool.random(using: &generator)
          let start = Double.random(in: -80_000...80_000, using: &generator).rounded()
          for revision in 1...last {
            let phase: TripMessage.Phase = revision < last || !ends ? .underway : .ended
            for seq in 0..<Int.random(in: 1...2, using: &generator) {
              messages.append(
                trip(
                  number, revision: revision, phase: phase, vehicle: vehicle, series: series, start: start,
                  seq: UInt64(number) * 1000 + UInt64(revision) * 10 + UInt64(seq),
                  distance: Double(revision * 100)))
            }
          }
          for step in 0..<Int.random(in: 1...4, using: &generator) {
            messages.append(
              event(
                number, .idling, ongoing: step < 3, vehicle: vehicle, series: series, at: start,
                duration: step == 0 ? nil : Double(step * 10),
                seq: 1_000_000 + UInt64(number) * 10 + UInt64(step)
              ))
          }
        }
      }
    }
    return messages
  }
}
