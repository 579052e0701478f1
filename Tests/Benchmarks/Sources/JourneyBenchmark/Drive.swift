import Foundation
import Navigation
import Positioning
import Recordings
import Sensors
import Spatial

/// A recorded drive: samples of the receiver and of the other sensors, and the true distance in the same time.
struct Drive {
  var name: String
  /// Fixes of the receiver, in order.
  var fixes: [PositionFix] = []
  var scans: [InertialScan] = []
  var speeds: [WheelSpeed] = []
  /// True positions, in order; empty if unknown.
  var truth: [(timestamp: Timestamp, coordinate: Coordinate)] = []
  /// True velocities in m/s east and north, in order; empty if unknown.
  var trueVelocities: [(timestamp: Timestamp, velocity: SIMD2<Double>)] = []
  /// Integral of the true speed in m; nil if unknown.
  var trueIntegral: Double?

  /// Metres between the true positions while the receiver has fixes.
  var trueDistance: Double? {
    guard let first = fixes.first?.timestamp, let last = fixes.last?.timestamp, truth.count > 1 else {
      return nil
    }
    return truth.filter { $0.timestamp >= first && $0.timestamp <= last }.map(\.coordinate).way
  }

  /// Locations that the agent accepts from the fixes.
  var locations: [Location] {
    var screen = FixScreen()
    return fixes.flatMap { screen.process($0) }
  }

  /// Timestamps start well after zero, as some recordings have negative times.
  private static let start = 1000.0

  // MARK: NMEA

  /// Reads a receiver's log and the log of its reference. Both are timed from midnight.
  init(name: String, log: String, truth: String? = nil) throws {
    self.name = name
    fixes = try Self.fixes(of: log)
    guard let truth else { return }
    self.truth = try Self.fixes(of: truth).compactMap { fix in fix.coordinate.map { (fix.timestamp, $0) } }
  }

  private static func fixes(of path: String) throws -> [PositionFix] {
    // The date is arbitrary, since only the time of day counts.
    var recording = try NMEARecording(
      path: path, startDate: UTCTime(nanoseconds: 0), toleratingBrokenSentences: true)
    recording.setDemand(.rate(hertz: 10, latency: .zero), for: .positioning)
    var fixes: [PositionFix] = []
    while let event = try recording.next() {
      guard case .position(let block) = event else { continue }
      fixes += block
    }
    return fixes.map { fix in
      var fix = fix
      // Logs of the same drive with different dates have the same time of day.
      if let time = fix.time {
        fix.timestamp = Timestamp(nanoseconds: time.nanoseconds % 86_400_000_000_000)
      }
      return fix
    }
  }

  // MARK: CSV

  /// Reads a folder with gnss.csv and imu.csv, and truth.csv and speed.csv if they exist.
  init(name: String, folder: String, inertial: String) throws {
    self.name = name
    func time(_ row: [Double]) -> Timestamp { Timestamp(seconds: row[0] + Self.start) }
    fixes = try Self.rows(folder + "/gnss.csv").map { row in
      var fix = PositionFix(timestamp: time(row), mode: .threeDimensional)
      if row[1].isFinite { fix.coordinate = Coordinate(latitude: row[1], longitude: row[2]) }
      fix.altitudeEllipsoidal = row[3].isFinite ? row[3] : nil
      // Receivers report 95 %: a radius in the plane, an interval in height.
      fix.horizontalError = 2.4477 * ((row[6] * row[6] + row[7] * row[7]) / 2).squareRoot()
      fix.verticalError = 1.96 * row[8]
      if row[9].isFinite {
        fix.speed = hypot(row[9], row[10])
        fix.course = normalizedDegrees(atan2(row[10], row[9]) * 180 / .pi)
        fix.climb = row[11]
      }
      return fix
    }
    scans = try Self.rows(folder + "/" + inertial).map { row in
      InertialScan(
        timestamp: time(row), specificForce: Vector3(row[1], row[2], row[3]),
        rotationRate: Vector3(row[4], row[5], row[6]))
    }
    if FileManager.default.fileExists(atPath: folder + "/truth.csv") {
      let rows = try Self.rows(folder + "/truth.csv")
      truth = rows.map { (time($0), Coordinate(latitude: $0[1], longitude: $0[2])) }
      trueVelocities = rows.map { (time($0), SIMD2($0[5], $0[4])) }
      trueIntegral = zip(rows, rows.dropFirst()).reduce(0) { sum, pair in
        let (a, b) = pair
        return sum + (hypot(a[4], a[5]) + hypot(b[4], b[5])) / 2 * (b[0] - a[0])
      }
    } else {
      truth = fixes.compactMap { fix in fix.coordinate.map { (fix.timestamp, $0) } }
      trueVelocities = try Self.rows(folder + "/gnss.csv").filter { $0[9].isFinite && $0[10].isFinite }
        .map { (time($0), SIMD2($0[10], $0[9])) }
    }
    if FileManager.default.fileExists(atPath: folder + "/speed.csv") {
      // OBD speeds are late and whole km/h.
      speeds = try Self.rows(folder + "/speed.csv").map {
        WheelSpeed(timestamp: time($0), speed: $0[1], deviation: 0.6)
      }
    }
    // The reference starts a second later than the receiver.
    if let first = truth.first?.timestamp, let last = truth.last?.timestamp {
      fixes = fixes.filter { $0.timestamp >= first && $0.timestamp <= last }
    }
  }

  private static func rows(_ path: String) throws -> [[Double]] {
    try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").dropFirst().map { line in
      line.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) ?? .nan }
    }
  }
}

extension [Coordinate] {
  /// Length in m of the path along the coordinates.
  var way: Double { zip(self, dropFirst()).reduce(0) { $0 + $1.0.distance(to: $1.1) } }

  /// Length in m of the path along coordinates that are at least the given distance apart, as obtained from reports.
  func way(every distance: Double) -> Double {
    var (sum, last) = (0.0, first)
    for place in self {
      guard let before = last else { continue }
      let step = before.distance(to: place)
      guard step >= distance else { continue }
      sum += step
      last = place
    }
    return sum
  }
}
