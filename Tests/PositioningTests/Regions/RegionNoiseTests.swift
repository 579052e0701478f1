import Foundation
import Positioning
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

/// A vehicle at rest causes no repeated events.
@Suite struct RegionNoiseTests {
  /// Position noise of 30 m (68 %) for four hours, with different correlation times, at and near boundaries of different kinds.
  @Test(arguments: [(0.0, 0.0), (30, 0), (30, 15), (300, -15), (300, 0), (1800, 0)])
  func parkedVehicleCausesNoRepeatedTransitions(correlationTime: Double, east: Double) throws {
    let plane = PlaneTrack()
    var random = SeededGenerator.announced()
    let regions = [
      Region(identifier: "half", rings: [plane.rectangle(0...2000, -2000...2000)]),
      Region(identifier: "other half", rings: [plane.rectangle(-2000...0, -2000...2000)]),
      Region(identifier: "corner", rings: [plane.rectangle(0...2000, 0...2000)], dwell: 60),
      Region(identifier: "disc", center: plane.place(0, 0), radius: 50),
      Region(identifier: "small disc", center: plane.place(0, 0), radius: 15),
      Region(identifier: "neighbour", center: plane.place(70, 0), radius: 40),
      Region(identifier: "strip", rings: [plane.rectangle(-20...20, -2000...2000)]),
    ]
    // A vehicle that arrived from far outside, and one whose first fix is here.
    for comesFromOutside in [true, false] {
      var monitor = RegionMonitor()
      monitor.replaceAll(regions)
      if comesFromOutside { _ = monitor.process(plane.location(Line(-100, 0, 5000))) }
      var told: [String: Int] = [:]
      let deviation = 30 / 1.5096
      let step = 10.0
      let keep = correlationTime > 0 ? exp(-step / correlationTime) : 0
      var error = SIMD2(random.normal(), random.normal()) * deviation
      for count in 0..<Int(4 * 3600 / step) {
        error =
          error * keep + SIMD2(random.normal(), random.normal()) * deviation * (1 - keep * keep).squareRoot()
        let line = Line(Double(count) * step, east + error.x, error.y, accuracy: 30)
        for event in monitor.process(plane.location(line)) where event.kind != .dwell {
          told[event.identifier, default: 0] += 1
        }
      }
      for (identifier, count) in told { #expect(count <= 1, "\(identifier): \(count) transitions") }
    }
  }

  /// A vehicle that entered and parked just inside the boundary remains inside, whatever the noise.
  @Test(arguments: [0.0, 60, 900])
  func enteredRegionIsNotLeftByNoise(correlationTime: Double) {
    let plane = PlaneTrack()
    var random = SeededGenerator.announced()
    var monitor = RegionMonitor()
    monitor.replaceAll([Region(identifier: "a", rings: [plane.rectangle(0...500)], dwell: 60)])
    // Drives well into the region, then parks 5 m inside the boundary.
    var told = monitor.run(
      plane, drive(from: -300, to: 200, speed: 10) + drive(from: 200, to: 10, speed: 10, at: 51))
    let deviation = 30 / 1.5096
    let keep = correlationTime > 0 ? exp(-1 / correlationTime) : 0
    var error = SIMD2(0.0, 0.0)
    for second in 100..<3000 {
      error =
        error * keep + SIMD2(random.normal(), random.normal()) * deviation * (1 - keep * keep).squareRoot()
      told += monitor.run(plane, [Line(Double(second), 5 + error.x, error.y, accuracy: 30, speed: 0)])
    }
    #expect(told == ["enter a 30.0", "dwell a 90.0"])
  }
}

extension SeededGenerator {
  /// A normal random number (Box-Muller method).
  fileprivate mutating func normal() -> Double {
    let u = Double.random(in: 1e-300...1, using: &self)
    return (-2 * log(u)).squareRoot() * cos(2 * .pi * Double.random(in: 0...1, using: &self))
  }
}
