import Foundation
import Navigation
import Positioning
import Spatial

/// Accuracy of the distance across gaps that are cut into drives of known length.
enum Gaps {
  static func print(_ drives: [Drive]) {
    Swift.print("drive,gap_s,gaps,way_m,plausible_mean,plausible_rms,straight_mean,straight_rms")
    for drive in drives {
      let samples = samples(of: drive)
      for seconds in [10.0, 20, 40, 80, 160] { row(drive.name, samples, seconds) }
    }
  }

  /// True positions, one per second, with velocities from the neighbouring positions.
  private static func samples(of drive: Drive) -> [OdometerSample] {
    var places = drive.truth
    if places.isEmpty {
      places = drive.locations.map { ($0.timestamp, $0.coordinate) }
    }
    var thinned: [(timestamp: Timestamp, coordinate: Coordinate)] = []
    for place in places
    where thinned.last.map({ place.timestamp.seconds(since: $0.timestamp) > 0.99 }) ?? true {
      thinned.append(place)
    }
    return zip(zip(thinned, thinned.dropFirst()), thinned.dropFirst(2)).map { pair, after in
      let (before, here) = pair
      let way = LocalFrame(origin: before.coordinate).offset(of: after.coordinate)
      let velocity = way / after.timestamp.seconds(since: before.timestamp)
      return OdometerSample(
        timestamp: here.timestamp, coordinate: here.coordinate, accuracy: 0.1,
        speed: (velocity * velocity).sum().squareRoot(),
        course: normalizedDegrees(atan2(velocity.x, velocity.y) * 180 / .pi))
    }
  }

  private static func row(_ name: String, _ samples: [OdometerSample], _ seconds: Double) {
    var (count, total, plausible, straight) = (0, 0.0, [Double](), [Double]())
    var end = 0
    for start in stride(from: 0, to: samples.count, by: 3) {
      while end < samples.count,
        samples[end].timestamp.seconds(since: samples[start].timestamp) < seconds - 0.01
      {
        end += 1
      }
      guard end < samples.count else { break }
      let gap = samples[end].timestamp.seconds(since: samples[start].timestamp)
      let steps = zip(samples[start...end], samples[start...end].dropFirst())
      // Excludes jumps of the reference.
      guard gap < seconds + 2, steps.allSatisfy({ $0.coordinate.distance(to: $1.coordinate) < 60 }) else {
        continue
      }
      let way = samples[start...end].map(\.coordinate).way
      guard way > 20 else { continue }
      var odometer = Odometer()
      odometer.process(samples[start])
      odometer.process(samples[end])
      count += 1
      total += way
      plausible.append(odometer.estimated - way)
      straight.append(samples[start].coordinate.distance(to: samples[end].coordinate) - way)
    }
    guard count > 0 else { return }
    func share(_ errors: [Double]) -> String {
      let mean = errors.reduce(0, +) / Double(count)
      let square = errors.reduce(0) { $0 + $1 * $1 } / Double(count)
      return String(
        format: "%+.1f,%.1f", 100 * mean * Double(count) / total,
        100 * square.squareRoot() * Double(count) / total)
    }
    Swift.print(
      "\"\(name)\",\(Int(seconds)),\(count),\(String(format: "%.0f", total / Double(count))),\(share(plausible)),\(share(straight))"
    )
  }
}
