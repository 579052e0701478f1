import Foundation
import Sensors
import Simulation
import Spatial
import TestSupport

/// A simulated drive with an impact, as a sensor recording in a file.
struct CrashRecording {
  /// Start and end of the impact in s since the start of the recording.
  let blow: ClosedRange<Double>
  /// Change of velocity in m/s.
  static let change = 9.0
  static let rate = 100.0
  let path: String
  let scans: [InertialScan]

  /// - Parameters:
  ///   - seconds: Duration of the recording in s.
  ///   - start: Start of the impact in s.
  init(_ directory: TemporaryDirectory, seconds: Double, blow start: Double) throws {
    blow = start...(start + 0.1)
    var configuration = SimulatedDrive.Configuration()
    (configuration.seed, configuration.duration) = (.random(in: 0 ... .max), seconds)
    (configuration.rates.accelerometer, configuration.rates.gyroscope) = (Self.rate, Self.rate)
    print("seed \(configuration.seed)")
    var drive = try SimulatedDrive(configuration)
    var merged: [Int64: InertialScan] = [:]
    while let event = drive.next() {
      guard case .inertial(let block) = event else { continue }
      for scan in block {
        var known = merged[scan.timestamp.nanoseconds] ?? InertialScan(timestamp: scan.timestamp)
        known.specificForce = scan.specificForce ?? known.specificForce
        known.rotationRate = scan.rotationRate ?? known.rotationRate
        merged[scan.timestamp.nanoseconds] = known
      }
    }
    var scans = merged.values.filter { $0.specificForce != nil || $0.rotationRate != nil }
      .sorted { $0.timestamp < $1.timestamp }
    // The impact is level, also on a slope: perpendicular to the mean specific force.
    let up = scans.compactMap(\.specificForce).reduce(.zero, +).normalized ?? Vector3(0, 0, 1)
    let ahead = (Vector3(0, 1, 0) - up * up.y).normalized ?? Vector3(0, 1, 0)
    let first = scans.first?.timestamp ?? Timestamp(nanoseconds: 0)
    for index in scans.indices {
      let time = scans[index].timestamp.seconds(since: first)
      guard blow.contains(time), let force = scans[index].specificForce else { continue }
      // A haversine with the change of velocity as its area, similar to real crash pulses.
      let phase = sin(.pi * (time - blow.lowerBound) / 0.1)
      scans[index].specificForce = force - ahead * (2 * Self.change / 0.1 * phase * phase)
    }
    self.scans = scans
    path = try directory.write("crash.csv", Self.text(scans, since: first))
  }

  private static func text(_ scans: [InertialScan], since first: Timestamp) -> String {
    var text = "t,ax,ay,az,gx,gy,gz\n"
    for scan in scans {
      text += String(format: "%.6f", scan.timestamp.seconds(since: first))
      for vector in [scan.specificForce, scan.rotationRate] {
        for axis in 0..<3 { text += vector.map { String(format: ",%.9f", $0[axis]) } ?? "," }
      }
      text += "\n"
    }
    return text
  }

  /// Settings of an agent that replays the recording with all samples.
  func settings(speed: Double, more: [String: String] = [:]) -> [String: String] {
    [
      "input.mode": "replay", "input.speed": "\(speed)", "replay.sensors": path, "iio.rate": "100",
      "trace.enabled": "true", "attitude.interval": "0.02", "attitude.filter": "0",
    ].merging(more) { $1 }
  }
}
