import Foundation
import Platform
import Sensors
import SensorsIIO
import Spatial
import TestSupport
import Testing

/// The IIO source against a real kernel's sensors, where `ODOGRAPH_RIG_URI` names a machine that has an
/// accelerometer, a gyroscope and a magnetometer that sample (Tests/SensorRig).
@Suite struct IIORigTests {
  @Test func capturesThreeSensorsWithoutLoss() throws {
    let environment = ProcessInfo.processInfo.environment
    guard let uri = environment["ODOGRAPH_RIG_URI"] else {
      print("skipped: ODOGRAPH_RIG_URI is not set")
      return
    }
    let seconds = Double(environment["ODOGRAPH_RIG_SECONDS"] ?? "") ?? 10
    let inventory = try IIOProbe.inventory(IIOConfiguration(uri: uri))
    print(inventory)
    let recorder = EventRecorder()
    let source = try IIOSource(IIOConfiguration(uri: uri))
    for kind in [SensorKind.accelerometer, .gyroscope, .magnetometer] {
      source.setDemand(.rate(hertz: 100, latency: .milliseconds(100)), for: kind)
    }
    try source.start { recorder.receive($0) }
    _ = waitUntil(atMost: seconds) { false }
    source.stop()
    print(recorder.statuses)
    let stamps: [[Timestamp]] = [
      recorder.accelerometer.map(\.timestamp), recorder.gyroscope.map(\.timestamp),
      recorder.magnetometer.map(\.timestamp),
    ]
    for times in stamps {
      let intervals = zip(times, times.dropFirst()).map { $1.seconds(since: $0) }.sorted()
      #expect(times.count > 10)
      guard let first = times.first, let last = times.last, !intervals.isEmpty else { continue }
      let median = intervals[intervals.count / 2]
      print(
        "\(times.count) samples in \(last.seconds(since: first)) s, intervals \(intervals[0]) "
          + "\(median) \(intervals[intervals.count - 1])")
      #expect(intervals[0] > 0)
      #expect(abs(median - 0.01) < 0.002)
    }
    guard environment["ODOGRAPH_RIG_RAMP"] != nil else { return }
    // The recording rises by 0.01 m/s², 0.001 rad/s and 0.05 µT a row on x, and falls on y, a thousand rows at a time.
    let force = recorder.accelerometer.map(\.specificForce)
    let rotation = recorder.gyroscope.map(\.rotationRate)
    let field = recorder.magnetometer.map(\.magneticField)
    for (name, values, step) in [
      ("force", force.map(\.x), 0.01), ("force", force.map { -$0.y }, 0.01),
      ("rotation", rotation.map(\.x), 0.001),
      ("rotation", rotation.map { -$0.y }, 0.001), ("field", field.map(\.x), 0.05),
    ] {
      let rises = zip(values, values.dropFirst()).filter {
        abs($1 - $0 - step) < 1e-9 || abs($0 - $1 - 999 * step) < 1e-9
      }
      #expect(rises.count == values.count - 1, "\(name)")
    }
    #expect(force.allSatisfy { abs($0.z - 9.80665) < 1e-9 })
    #expect(field.allSatisfy { abs($0.y + 20) < 1e-9 && abs($0.z - 30) < 1e-9 })
  }
}
