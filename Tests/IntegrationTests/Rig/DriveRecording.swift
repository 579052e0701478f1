import Foundation
import TestSupport

/// A real drive with inertial sensors and satellite positions: `gnss-imu-drive` of the shared recordings.
struct DriveRecording {
  /// Receiver epochs at 1 Hz.
  var epochs: [LiveReceiver.Epoch] = []
  /// Input for the rig, starting with the first epoch.
  var csv = "t,ax,ay,az,gx,gy,gz,mx,my,mz"
  var duration: Double { Double(epochs.count - 1) }

  static func shared(seconds: Double) throws -> DriveRecording {
    let gnss = try Shared.file("data/gnss-imu-drive/gnss.csv")
    let imu = try Shared.file("data/gnss-imu-drive/imu.csv")
    // The short form uses a part in which the vehicle drives, the long form the whole recording.
    let begin = seconds < 300 ? 60.0 : 30.0
    return try DriveRecording(gnss: gnss, imu: imu, from: begin, to: begin + seconds)
  }

  init(gnss: String, imu: String, from begin: Double, to end: Double) throws {
    for row in try Self.rows(of: gnss) where row[0] >= begin - 0.13 && row[0] <= end {
      // The recording has four epochs per second; the one nearest to each whole second is used.
      guard row[0] >= begin + Double(epochs.count) - 0.13 else { continue }
      let (north, east) = (row[9], row[10])
      let course = (atan2(east, north) * 180 / .pi + 360).truncatingRemainder(dividingBy: 360)
      epochs.append(.init(latitude: row[1], longitude: row[2], speed: hypot(north, east), course: course))
    }
    for row in try Self.rows(of: imu) where row[0] >= begin && row[0] <= end {
      // The recording has no magnetometer. Constant values would be rejected as a fault, hence the noise.
      let noise = 0.3 * sin(37 * row[0])
      csv += String(
        format: "\n%.4f,%.4f,%.4f,%.4f,%.6f,%.6f,%.6f,%.3f,%.3f,%.3f", row[0] - begin, row[1], row[2], row[3],
        row[4], row[5], row[6], 20 + noise, noise, -42 - noise)
    }
  }

  private static func rows(of path: String) throws -> [[Double]] {
    try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").dropFirst().map { line in
      line.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) ?? 0 }
    }
  }
}
