import Foundation
import Navigation
import Sensors
import Simulation
import Spatial

/// Precision, recall and F1 of harsh manoeuvres on recorded drives with random mountings, compared with those from a receiver alone.
enum EventScore {
  static let thresholds = [1.5, 2.0, 2.5, 3.0]
  private static let seeds: ClosedRange<UInt64> = 1...10
  /// Largest time difference in s between a detected and a true event.
  private static let tolerance = 1.0

  struct Count {
    var (hits, told, real) = (0, 0, 0)

    var text: String {
      let (precision, recall) = (Double(hits) / Double(max(1, told)), Double(hits) / Double(max(1, real)))
      let score = hits == 0 ? 0 : 2 * precision * recall / (precision + recall)
      return "\(real),\(told),\(hits),"
        + String(format: "%.3f,%.3f,%.3f", precision, recall, score)
    }

    static func += (a: inout Count, b: Count) {
      a.hits += b.hits
      a.told += b.told
      a.real += b.real
    }
  }

  static func print(_ drives: [Drive]) {
    Swift.print("drive,source,limit,real,told,hits,precision,recall,F1")
    var sums: [String: Count] = [:]
    for drive in drives {
      let truth = EventTruth.samples(drive)
      for limit in thresholds {
        let limits = limits(limit)
        let real = EventTruth.events(truth, limits)
        func row(_ source: String, _ count: Count) {
          Swift.print("\"\(drive.name)\",\"\(source)\",\(limit),\(count.text)")
          if limit >= 2 { sums[source, default: Count()] += count }
        }
        var (inertial, wheels) = (Count(), Count())
        var peer = Count()
        let differenced = EventTruth.events(EventTruth.differenced(drive.fixes, rate: 1), limits)
        for seed in seeds {
          let played = play(drive, limits, seed: seed, wheels: [])
          inertial += count(real, played.events, since: played.known)
          peer += count(real, differenced, since: played.known)
          if ProcessInfo.processInfo.environment["EVENTS_EACH"] != nil, seed == 1 {
            explain(real, played.events, since: played.known)
          }
          guard !drive.speeds.isEmpty else { continue }
          let withWheels = play(drive, limits, seed: seed, wheels: drive.speeds)
          wheels += count(real, withWheels.events, since: withWheels.known)
        }
        row("navigation", inertial)
        if !drive.speeds.isEmpty { row("navigation and OBD", wheels) }
        row("receiver, differenced at 1 Hz", peer)
      }
    }
    for (source, count) in sums.sorted(by: { $0.key < $1.key }) {
      Swift.print("\"all, 2 to 3 m/s²\",\"\(source)\",,\(count.text)")
    }
  }

  /// Prints all other events by the limits of a car, with one mounting: those of the road and of the receiver.
  static func printOthers(_ drives: [Drive]) {
    Swift.print("drive,event,start_s,duration_s,peak,limit,confidence,fix_error_m")
    let kinds = Set(DrivingEvent.Kind.allCases).subtracting([.braking, .acceleration, .cornering])
    for drive in drives {
      let events = play(drive, DrivingEventLimits(), seed: 1, wheels: drive.speeds, kinds: kinds).events
      for event in events where !event.isOngoing {
        // Largest error of the receiver during the event.
        let errors = drive.fixes.compactMap { fix -> Double? in
          let since = fix.timestamp.seconds(since: event.start)
          guard since > -1, since < event.duration + 1, let place = fix.coordinate,
            let truth = drive.truth.min(by: {
              abs($0.timestamp.seconds(since: fix.timestamp))
                < abs($1.timestamp.seconds(since: fix.timestamp))
            })
          else { return nil }
          return truth.coordinate.distance(to: place)
        }
        Swift.print(
          "\"\(drive.name)\",\(event.kind),"
            + String(
              format: "%.1f,%.1f,%.1f,%.1f,%.2f,%.0f", event.start.seconds, event.duration, event.peak,
              event.limit, event.confidence, errors.max() ?? .nan))
      }
    }
  }

  /// Limits with one value for all manoeuvres; the recorded drives have no swerves.
  static func limits(_ limit: Double) -> DrivingEventLimits {
    var limits = DrivingEventLimits()
    (limits.braking, limits.acceleration, limits.cornering) = (limit, limit, limit)
    return limits
  }

  private static func play(
    _ drive: Drive, _ limits: DrivingEventLimits, seed: UInt64, wheels: [WheelSpeed],
    kinds: Set<DrivingEvent.Kind> = [.braking, .acceleration, .cornering]
  ) -> (events: [DrivingEvent], known: Timestamp?) {
    let turn = Mounting.random(seed: seed)
    var (filter, detector) = (
      NavigationFilter(), DrivingEventDetector(limits: limits, kinds: kinds)
    )
    var (fixes, speeds) = (drive.fixes[...], wheels[...])
    var events: [DrivingEvent] = []
    var known: Timestamp?
    for original in drive.scans {
      var scan = original
      scan.specificForce = original.specificForce.map { turn.rotate($0) }
      scan.rotationRate = original.rotationRate.map { turn.rotate($0) }
      while let fix = fixes.first, fix.timestamp <= scan.timestamp {
        events += detector.process(fix, filter.estimate)
        filter.process(fix)
        fixes.removeFirst()
      }
      while let speed = speeds.first, speed.timestamp <= scan.timestamp {
        events += detector.process(speed)
        filter.process(speed)
        speeds.removeFirst()
      }
      filter.process(scan)
      events += detector.process(scan, filter.estimate)
      if known == nil, detector.isMountingKnown { known = scan.timestamp }
    }
    if let last = drive.scans.last { events += detector.advance(to: last.timestamp.advanced(bySeconds: 5)) }
    return (events, known)
  }

  /// Kind and time of an event.
  struct Interval {
    var kind: DrivingEvent.Kind
    var start: Timestamp
    var duration: Double
  }

  static func count(_ real: [DrivingEvent], _ told: [DrivingEvent], since known: Timestamp?) -> Count {
    count(real.map(\.interval), told.map(\.interval), since: known)
  }

  /// Counts true and detected events after the mounting has become known.
  static func count(_ real: [Interval], _ told: [Interval], since known: Timestamp?) -> Count {
    guard let known else { return Count(hits: 0, told: told.count, real: real.count) }
    let asked = real.filter { $0.start >= known }
    var left = told.filter { $0.start.seconds(since: known) >= -1 }
    var hits = 0
    for event in asked {
      guard let index = left.firstIndex(where: { matches($0, event) }) else { continue }
      left.remove(at: index)
      hits += 1
    }
    // A detected event that started before the mounting was known is not a false one.
    let early = real.filter { $0.start < known }
    let excused = left.count { found in early.contains { matches(found, $0) } }
    return Count(hits: hits, told: hits + left.count - excused, real: asked.count)
  }

  private static func matches(_ a: DrivingEvent, _ b: DrivingEvent) -> Bool {
    matches(a.interval, b.interval)
  }

  private static func matches(_ a: Interval, _ b: Interval) -> Bool {
    a.kind == b.kind && a.start.seconds(since: b.start) <= b.duration + tolerance
      && b.start.seconds(since: a.start) <= a.duration + tolerance
  }

  private static func explain(_ real: [DrivingEvent], _ told: [DrivingEvent], since known: Timestamp?) {
    for event in real where known.map({ event.start >= $0 }) ?? false {
      let match = told.first { matches($0, event) }
      FileHandle.standardError.write(
        Data(
          String(
            format: "%@ real %@ %.1f peak %.2f for %.1f; told %@\n", match == nil ? "MISSED" : "found",
            event.kind.rawValue, event.start.seconds, event.peak, event.duration,
            match.map { String(format: "peak %.2f confidence %.2f", $0.peak, $0.confidence) } ?? ""
          ).utf8))
    }
    for event in told where !real.contains(where: { matches($0, event) }) {
      FileHandle.standardError.write(
        Data(
          String(
            format: "FALSE %@ %.1f peak %.2f for %.1f confidence %.2f\n", event.kind.rawValue,
            event.start.seconds, event.peak, event.duration, event.confidence
          ).utf8))
    }
  }
}

/// Mounting of a device in a vehicle.
enum Mounting {
  /// Random rotation from the vehicle to the device, uniformly distributed (K. Shoemake, "Uniform random rotations", 1992).
  static func random(seed: UInt64) -> Quaternion {
    var random = SeededGenerator(seed: seed)
    let (u, a, b) = (
      random.nextUniform(), 2 * Double.pi * random.nextUniform(), 2 * Double.pi * random.nextUniform()
    )
    let (s, c) = ((1 - u).squareRoot(), u.squareRoot())
    return Quaternion(w: s * sin(a), x: s * cos(a), y: c * sin(b), z: c * cos(b))
  }
}

extension DrivingEvent {
  var interval: EventScore.Interval { .init(kind: kind, start: start, duration: duration) }
}
