import Foundation
import Positioning
import Recordings
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

/// Fixes in a plane: metres east and north of an origin, seconds since the start.
struct PlaneTrack {
  var origin = Coordinate(latitude: 48, longitude: 11)

  func location(
    _ seconds: Double, _ east: Double, _ north: Double = 0, speed: Double? = nil, course: Double? = nil
  )
    -> Location
  {
    var location = Location(
      timestamp: Timestamp(seconds: seconds),
      coordinate: LocalFrame(origin: origin).coordinate(at: SIMD2(east, north)))
    location.speed = speed
    location.course = course
    return location
  }

  /// A drive with the features of real ones: stops, turns, noise, gaps, jumps, fixes without speed, unusual rates.
  static func random(seed: UInt64, count: Int = 400) -> [Location] {
    var random = SeededGenerator(seed: seed)
    let plane = PlaneTrack(
      origin: Coordinate(latitude: random.next(in: -84...84), longitude: random.next(in: -180...180)))
    var (time, place, speed, course) = (0.0, SIMD2(0.0, 0.0), 0.0, random.next(in: 0...360))
    var turn = 0.0
    let step = [0.1, 0.25, 1, 1, 1, 2][Int(random.next(in: 0...5.99))]
    return (0..<count).map { _ in
      if random.next(in: 0...1) < 0.03 { turn = random.next(in: -20...20) }
      if random.next(in: 0...1) < 0.05 { turn = 0 }
      speed = max(0, speed + random.next(in: -3...3) * step)
      if random.next(in: 0...1) < 0.02 { speed = 0 }
      course = normalizedDegrees(course + turn * step)
      let gap = random.next(in: 0...1) < 0.01 ? random.next(in: 0...60) : 0
      time += step + gap
      place += SIMD2(sin(course.radians), cos(course.radians)) * speed * (step + gap)
      if random.next(in: 0...1) < 0.005 {
        place += SIMD2(random.next(in: -500...500), random.next(in: -500...500))
      }
      let noise = SIMD2(random.next(in: -2...2), random.next(in: -2...2))
      let knowsSpeed = random.next(in: 0...1) < 0.9
      return plane.location(
        time, place.x + noise.x, place.y + noise.y, speed: knowsSpeed ? speed : nil,
        course: knowsSpeed ? course : nil)
    }
  }

  /// The fixes of a recorded drive in `../shared`.
  static func recorded(_ name: String) throws -> [Location] { try #require(drives[name]).get() }

  /// Each recording is read once for all tests.
  private static let drives = Dictionary(
    uniqueKeysWithValues: Place.tracks.prefix(2).map { name in (name, Result { try read(name) }) })

  private static func read(_ name: String) throws -> [Location] {
    var recording = try NMEARecording(path: Shared.file("data/tracks/\(name)"))
    var track: [Location] = []
    while let event = try recording.next() {
      guard case .position(let fixes) = event else { continue }
      for location in fixes.compactMap({ Location(fix: $0) })
      where track.last.map({ $0.timestamp < location.timestamp }) ?? true {
        track.append(location)
      }
    }
    return track
  }
}

extension SeededGenerator {
  fileprivate mutating func next(in range: ClosedRange<Double>) -> Double { .random(in: range, using: &self) }
}

/// A subscriber that receives reports as they are decided, and evaluates the moment of each fix when it is due.
struct ReportingRun {
  var reports: [ReportPredictor] = []
  /// The time at which each report was decided.
  var decidedAt: [Timestamp] = []
  /// For each fix, its distance in m from the position shown for its moment when that is due; infinite if none is shown.
  var errors: [Double] = []

  /// - Parameter isRequired: returns whether a fix must be reported; nil for none.
  init(
    _ track: [Location], epsilon: Double, delay: Double, limits: [DisplacementLimit] = [],
    isRequired: ((Location) -> Bool)? = nil
  ) {
    var reporter = BoundedReporter(epsilon: epsilon, delay: delay, limits: limits)
    for location in track {
      while let deadline = reporter.nextDeadline, deadline < location.timestamp {
        take(reporter.advance(to: deadline), at: deadline)
      }
      let isRequired = isRequired?(location) ?? false
      take(reporter.process(location, isRequired: isRequired), at: location.timestamp)
    }
    // The run ends when the last fix has been shown; reports about the silence afterwards are not part of the drive.
    let end = track.last?.timestamp.advanced(bySeconds: delay)
    while let deadline = reporter.nextDeadline, let end, deadline <= end {
      take(reporter.advance(to: deadline), at: deadline)
    }
    errors = track.map { fix in
      report(for: fix.timestamp, delay: delay)?.error(of: fix.coordinate, at: fix.timestamp) ?? .infinity
    }
  }

  /// Returns the report used for predicting a moment when it is due; nil before the first report.
  func report(for moment: Timestamp, delay: Double) -> ReportPredictor? {
    let due = moment.advanced(bySeconds: delay)
    var latest = reports.count - 1
    while latest >= 0, decidedAt[latest] > due || reports[latest].moment > moment { latest -= 1 }
    return latest < 0 ? nil : reports[latest]
  }

  private mutating func take(_ fresh: [ReportPredictor], at time: Timestamp) {
    reports += fresh
    decidedAt += fresh.map { _ in time }
  }
}
