import Foundation
import Navigation
import Sensors
import Simulation
import Spatial
import TestSupport

/// A drive for the rig: inertial samples, receiver epochs at 1 Hz, and true positions.
struct PlayedDrive {
  let name: String
  /// Epochs at whole seconds of the drive, without tunnels.
  var epochs: [LiveReceiver.Epoch] = []
  /// Input for the rig, starting with the first epoch.
  private(set) var csv = "t,ax,ay,az,gx,gy,gz"
  /// True positions by time in s of the drive, in order, at least one per second.
  private var truth: [(time: Double, coordinate: Coordinate)] = []
  /// Wheel speed in m/s by time in s of the drive, in order; empty if the recording has none.
  private var speeds: [(time: Double, speed: Double)] = []
  /// Duration in s.
  var duration: Double { Double(epochs.count - 1) }

  /// The epochs, without fixes in tunnels. Tunnels are ranges in s of the drive.
  func epochs(tunnels: [Range<Int>]) -> [LiveReceiver.Epoch] {
    epochs.enumerated().map { second, epoch in
      var epoch = epoch
      epoch.hasFix = !tunnels.contains { $0.contains(second) }
      return epoch
    }
  }

  /// The interpolated true position; nil outside of the drive.
  func place(at time: Double) -> Coordinate? {
    guard let next = truth.firstIndex(where: { $0.time >= time }), next > 0 else { return nil }
    let (before, after) = (truth[next - 1], truth[next])
    let share = (time - before.time) / (after.time - before.time)
    func between(_ a: Double, _ b: Double) -> Double { a + share * (b - a) }
    return Coordinate(
      latitude: between(before.coordinate.latitude, after.coordinate.latitude),
      longitude: between(before.coordinate.longitude, after.coordinate.longitude))
  }

  /// The vehicle's speed as CAN messages: CCVS1 of SAE J1939 ten times per second, as a candump log that starts with the drive. Each frame
  /// has the last measured wheel speed.
  var candump: String {
    var (lines, next) = ([String](), 0.0)
    for (index, entry) in speeds.enumerated() {
      let end = index + 1 < speeds.count ? speeds[index + 1].time : entry.time
      while next < end {
        if next >= entry.time {
          let raw = Int((entry.speed * 3.6 * 256).rounded())
          lines.append(
            String(
              format: "(%.6f) can0 18FEF100#FF%02X%02XFFFFFFFFFF", next, raw & 0xff, min(0xfa, raw >> 8)))
        }
        next += 0.1
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  // MARK: Sources of drives

  /// A synthetic drive with random mounting, biases and noise, for machines without recordings.
  static func synthetic(seconds: Double) -> PlayedDrive {
    var generator = SeededGenerator.announced()
    var synthetic = SyntheticDrive(length: seconds, mounting: generator.nextRotation())
    synthetic.restTime = 8
    var drive = PlayedDrive(name: "synthetic")
    let frame = LocalFrame(origin: SyntheticDrive.origin, altitude: SyntheticDrive.altitude)
    for sample in synthetic.samples(&generator) {
      let time = sample.truth.time
      drive.append(time, sample.scan.specificForce ?? .zero, sample.scan.rotationRate ?? .zero)
      let position = sample.truth.position
      drive.truth.append((time, frame.coordinate(at: SIMD2(position.x, position.y))))
      drive.speeds.append((time, sample.speed.speed))
      guard let fix = sample.fix, let place = fix.coordinate, time == time.rounded() else { continue }
      var epoch = LiveReceiver.Epoch(
        latitude: place.latitude, longitude: place.longitude, speed: fix.speed ?? 0, course: fix.course ?? 0)
      (epoch.height, epoch.accuracy) = (fix.altitudeEllipsoidal ?? 0, fix.horizontalError ?? 1)
      epoch.speedAccuracy = fix.speedError ?? 0.1
      drive.epochs.append(epoch)
    }
    return drive
  }

  /// A part of a drive of the shared recordings. Without `truth.csv`, the receiver's positions count as true.
  static func recorded(_ folder: String, imu: String = "imu.csv", from begin: Double, seconds: Double) throws
    -> PlayedDrive
  {
    var drive = PlayedDrive(name: "\(folder)/\(imu)")
    let end = begin + seconds
    for row in try rows(of: Shared.file("data/\(folder)/\(imu)")) where row[0] >= begin && row[0] <= end {
      drive.append(row[0] - begin, Vector3(row[1], row[2], row[3]), Vector3(row[4], row[5], row[6]))
    }
    let fixes = try rows(of: Shared.file("data/\(folder)/gnss.csv")).filter {
      $0[0] >= begin - 1 && $0[0] <= end + 1
    }
    let places = (try? Shared.file("data/\(folder)/truth.csv")).map { try? rows(of: $0) } ?? nil
    drive.truth = (places ?? fixes).map { ($0[0] - begin, Coordinate(latitude: $0[1], longitude: $0[2])) }
    if let rows = try? rows(of: Shared.file("data/\(folder)/speed.csv")) {
      drive.speeds = rows.filter { $0[0] >= begin && $0[0] <= end }.map { ($0[0] - begin, $0[1]) }
    }
    // The simulated receiver reports at whole seconds; the nearest recorded fix may differ by a few centimetres.
    for second in 0...Int(seconds) {
      let time = begin + Double(second)
      guard let row = fixes.min(by: { abs($0[0] - time) < abs($1[0] - time) }) else { continue }
      let (north, east) = (row[9], row[10])
      let course = (atan2(east, north) * 180 / .pi + 360).truncatingRemainder(dividingBy: 360)
      var epoch = LiveReceiver.Epoch(
        latitude: row[1], longitude: row[2], speed: hypot(north, east), course: course)
      epoch.height = row[3]
      // Converts standard deviations per axis to the radius that gpsd reports.
      epoch.accuracy = max(0.05, 2.4477 * ((row[6] * row[6] + row[7] * row[7]) / 2).squareRoot())
      drive.epochs.append(epoch)
    }
    return drive
  }

  private mutating func append(_ time: Double, _ force: Vector3, _ rate: Vector3) {
    csv += String(
      format: "\n%.4f,%.5f,%.5f,%.5f,%.7f,%.7f,%.7f", time, force.x, force.y, force.z, rate.x, rate.y, rate.z)
  }

  private static func rows(of path: String) throws -> [[Double]] {
    try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").dropFirst().map { line in
      line.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) ?? 0 }
    }
  }
}
