import Foundation
import Recordings
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

/// A recorded drive from the data beside the project, or a simulated drive, as input of the agent's loop.
struct PublicDrive: Sendable, CustomTestStringConvertible {
  var name: String
  fileprivate var source: Source

  fileprivate enum Source: Sendable {
    /// Log of a receiver in `data/tracks`.
    case nmea
    /// A folder in `data`, and the file with its inertial samples.
    case csv(folder: String, inertial: String)
    case simulation(seed: UInt64)
  }

  static let recorded = [
    PublicDrive(name: "mtv_ublox_f9k_slim2025.nmea", source: .nmea),
    PublicDrive(name: "munich_2025.nmea", source: .nmea),
    PublicDrive(name: "mtv_span_truth.gga", source: .nmea),
    PublicDrive(name: "gnss-imu-drive", source: .csv(folder: "gnss-imu-drive", inertial: "imu.csv")),
    PublicDrive(name: "kingston-2008", source: .csv(folder: "kingston-2008", inertial: "imu.csv")),
    PublicDrive(name: "kingston-2008 MEMS", source: .csv(folder: "kingston-2008", inertial: "imu_mems.csv")),
  ]
  static let simulated = (1...3).map {
    PublicDrive(name: "simulated, seed \($0)", source: .simulation(seed: $0))
  }

  static let start = UTCTime(nanoseconds: 1_795_219_200_000_000_000)
  /// Duration of a simulated drive in seconds.
  private static let simulatedDuration = 1800.0

  var testDescription: String { name }

  /// Opens the drive at its start.
  func recording() throws -> any SensorRecording {
    switch source {
    case .nmea: try NMEARecording(path: Shared.file("data/tracks/\(name)"), startDate: Self.start)
    case .csv(let folder, let inertial):
      EventRecording(name: name, events: try Self.events(folder: folder, inertial: inertial))
    case .simulation(let seed):
      try SimulatedDrive(
        {
          var simulation = SimulatedDrive.Configuration()
          simulation.seed = seed
          simulation.startTime = Self.start
          simulation.duration = Self.simulatedDuration
          return simulation
        }())
    }
  }

  /// Returns the true track in order of time; nil if only the receiver's positions are available.
  func truth() -> TrueTrack? {
    guard case .csv(let folder, _) = source, let text = try? Shared.text("data/\(folder)/truth.csv") else {
      return nil
    }
    return TrueTrack(
      points: text.split(separator: "\n").dropFirst().map { line in
        let row = line.split(separator: ",").prefix(3).map { Double($0) ?? .nan }
        return (Timestamp(seconds: row[0] + 1000), Coordinate(latitude: row[1], longitude: row[2]))
      })
  }

  private static func events(folder: String, inertial: String) throws -> [SensorEvent] {
    let rows = { (file: String) in
      try Shared.text("data/\(folder)/\(file)").split(separator: "\n").dropFirst().map { line in
        line.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) ?? .nan }
      }
    }
    // Some recordings have negative times.
    func time(_ row: [Double]) -> Timestamp { Timestamp(seconds: row[0] + 1000) }
    let fixes = try rows("gnss.csv").filter { $0[1].isFinite }.map { row in
      var fix = PositionFix(
        timestamp: time(row), mode: .threeDimensional,
        coordinate: Coordinate(latitude: row[1], longitude: row[2]))
      fix.time = start.advanced(bySeconds: row[0])
      // Receivers state the horizontal error at 95 %.
      fix.horizontalError = 2.4477 * ((row[6] * row[6] + row[7] * row[7]) / 2).squareRoot()
      if row[9].isFinite {
        fix.speed = hypot(row[9], row[10])
        fix.course = normalizedDegrees(atan2(row[10], row[9]) * 180 / .pi)
      }
      return SensorEvent.position([fix])
    }
    let scans = try rows(inertial).map { row in
      SensorEvent.inertial([
        InertialScan(
          timestamp: time(row), specificForce: Vector3(row[1], row[2], row[3]),
          rotationRate: Vector3(row[4], row[5], row[6]))
      ])
    }
    return (scans + fixes).sorted { ($0.timestamp?.nanoseconds ?? 0) < ($1.timestamp?.nanoseconds ?? 0) }
  }
}

/// Positions of a reference track.
struct TrueTrack {
  var points: [(time: Timestamp, coordinate: Coordinate)]

  /// Returns the interpolated position at a time; nil outside of the track.
  func coordinate(at time: Timestamp) -> Coordinate? {
    guard let next = points.firstIndex(where: { $0.time >= time }), next > 0 else { return nil }
    let (a, b) = (points[next - 1], points[next])
    let share = time.seconds(since: a.time) / b.time.seconds(since: a.time)
    return Coordinate(
      latitude: a.coordinate.latitude + share * (b.coordinate.latitude - a.coordinate.latitude),
      longitude: a.coordinate.longitude + share * (b.coordinate.longitude - a.coordinate.longitude))
  }
}

/// Events in memory. The feed itself omits samples that sleeping sensors would not deliver.
private struct EventRecording: SensorRecording {
  let name: String
  let kinds: Set<SensorKind> = [.positioning, .accelerometer, .gyroscope]
  let events: [SensorEvent]
  private var index = 0

  init(name: String, events: [SensorEvent]) {
    self.name = name
    self.events = events
  }

  mutating func next() -> SensorEvent? {
    guard index < events.count else { return nil }
    defer { index += 1 }
    return events[index]
  }

  mutating func setDemand(_ demand: SensorDemand, for kind: SensorKind) {}
}

/// A recording whose fixes are observed before delivery, including those that a sleeping receiver omits.
struct ObservedRecording: SensorRecording {
  private var base: any SensorRecording
  private let observe: @Sendable (PositionFix) -> Void

  init(_ base: any SensorRecording, observe: @escaping @Sendable (PositionFix) -> Void) {
    self.base = base
    self.observe = observe
  }

  var name: String { base.name }
  var kinds: Set<SensorKind> { base.kinds }
  var skipped: SkippedInput? { base.skipped }

  mutating func next() throws -> SensorEvent? {
    let event = try base.next()
    if case .position(let fixes)? = event { for fix in fixes { observe(fix) } }
    return event
  }

  mutating func setDemand(_ demand: SensorDemand, for kind: SensorKind) { base.setDemand(demand, for: kind) }
}
