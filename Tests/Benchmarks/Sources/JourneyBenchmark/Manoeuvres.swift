import Foundation
import Navigation
import Sensors
import Simulation
import Spatial

/// Simulated drives with labelled manoeuvres: the detector compared with a plain rule, both with the same limits.
enum Manoeuvres {
  private static let seeds: ClosedRange<UInt64> = 1...10
  /// Seconds of a drive, and of its first part without harsh manoeuvres, in which the mounting is estimated.
  private static let (length, calm) = (2400.0, 240.0)
  /// Peaks of harsh and of ordinary manoeuvres, m/s².
  private static let (harsh, ordinary) = (3.2...6.0, 0.8...2.6)
  /// Uninterrupted time in s above the limit that is an event by the plain rule.
  private static let plainTime = 0.5

  static func print() {
    Swift.print("limits,rule,real,told,hits,precision,recall,F1")
    let drives = seeds.map { LabelledDrive(seed: $0, length: length, calm: calm, harsh, ordinary) }
    let plain = [2.5, 3.0, 3.5].map { ("\($0) m/s²", EventScore.limits($0)) }
    for limits in plain + [("car", DrivingEventLimits())] {
      var (own, peer, raw) = (EventScore.Count(), EventScore.Count(), EventScore.Count())
      for drive in drives {
        let result = play(drive, limits.1)
        own += EventScore.count(drive.labels, result.own, since: result.known)
        peer += EventScore.count(drive.labels, result.peer, since: result.known)
        raw += EventScore.count(drive.labels, result.raw, since: result.known)
      }
      Swift.print("\"\(limits.0)\",\"detector\",\(own.text)")
      Swift.print("\"\(limits.0)\",\"0.5 s above the limit, navigation's acceleration\",\(peer.text)")
      Swift.print("\"\(limits.0)\",\"0.5 s above the limit, accelerometer, known mounting\",\(raw.text)")
    }
  }

  private static func play(
    _ drive: LabelledDrive, _ limits: DrivingEventLimits
  ) -> (
    own: [EventScore.Interval], peer: [EventScore.Interval], raw: [EventScore.Interval], known: Timestamp?
  ) {
    var (filter, detector) = (
      NavigationFilter(), DrivingEventDetector(limits: limits, kinds: [.braking, .acceleration, .cornering])
    )
    var (peer, raw) = (PlainRule(limits, seconds: plainTime), PlainRule(limits, seconds: plainTime))
    var fixes = drive.fixes[...]
    var own: [DrivingEvent] = []
    var known: Timestamp?
    var mean = (force: Vector3.zero, count: 0.0)
    for (index, scan) in drive.scans.enumerated() {
      while let fix = fixes.first, fix.timestamp <= scan.timestamp {
        own += detector.process(fix, filter.estimate)
        filter.process(fix)
        fixes.removeFirst()
      }
      filter.process(scan)
      own += detector.process(scan, filter.estimate)
      if known == nil, detector.isMountingKnown { known = scan.timestamp }
      mean = (mean.force + drive.mounting.conjugate.rotate(scan.specificForce ?? .zero), mean.count + 1)
      guard index % 5 == 4 else { continue }
      let force = mean.force / mean.count
      mean = (.zero, 0)
      raw.process(forward: force.y, right: force.x, at: scan.timestamp)
      guard let estimate = filter.estimate else { continue }
      let acceleration = (estimate.vehicleAttitude.conjugate).rotate(estimate.acceleration)
      peer.process(forward: acceleration.y, right: acceleration.x, at: scan.timestamp)
    }
    return (own.map(\.interval), peer.events, raw.events, known)
  }
}

/// The plain rule: an event is an acceleration that exceeds its limit for some time.
private struct PlainRule {
  private let limits: [(kind: DrivingEvent.Kind, limit: Double)]
  private let seconds: Double
  private var since = [Timestamp?](repeating: nil, count: 4)
  private(set) var events: [EventScore.Interval] = []
  private var newest: Timestamp?

  init(_ limits: DrivingEventLimits, seconds: Double) {
    self.limits = [
      (.braking, limits.braking), (.acceleration, limits.acceleration), (.cornering, limits.cornering),
      (.cornering, limits.cornering),
    ]
    self.seconds = seconds
  }

  mutating func process(forward: Double, right: Double, at time: Timestamp) {
    defer { newest = time }
    for (index, value) in [-forward, forward, right, -right].enumerated() {
      if value >= limits[index].limit {
        since[index] = since[index] ?? time
      } else if let start = since[index] {
        since[index] = nil
        let duration = (newest ?? start).seconds(since: start)
        guard duration >= seconds - 0.026 else { continue }
        events.append(
          EventScore.Interval(kind: limits[index].kind, start: start, duration: duration))
      }
    }
  }
}

/// A drive with straights, curves, braking and acceleration on a road of class C; harsh manoeuvres are labelled.
private struct LabelledDrive {
  private(set) var scans: [InertialScan] = []
  private(set) var fixes: [PositionFix] = []
  private(set) var labels: [EventScore.Interval] = []
  /// Rotation from the vehicle to the device.
  let mounting: Quaternion

  private var random: SeededGenerator
  private var road = Road(.c)
  private var time = 0.0
  private var (speed, heading) = (0.0, 0.0)
  private var place = SIMD2(0.0, 0)
  private var lean = Vector3.zero
  private let (forceBias, rateBias): (Vector3, Vector3)
  private static let origin = Coordinate(latitude: 48, longitude: 11)
  private static let step = 0.01

  init(
    seed: UInt64, length: Double, calm: Double, _ harsh: ClosedRange<Double>, _ ordinary: ClosedRange<Double>
  ) {
    random = SeededGenerator(seed: seed, stream: 5)
    mounting = Mounting.random(seed: seed)
    (forceBias, rateBias) = (0.1 * random.nextNormalVector(), 0.005 * random.nextNormalVector())
    rest(20)
    while time < length {
      rest(uniform(4...12))
      let isHarsh = time > calm && random.nextUniform() < 0.4
      let peak = uniform(isHarsh ? harsh : ordinary)
      // A slow vehicle accelerates, a fast one brakes, others also turn.
      let kinds: [DrivingEvent.Kind] = [.braking, .acceleration, .cornering, .cornering]
      let any = kinds[Int(4 * random.nextUniform())]
      let kind = speed < 8 ? .acceleration : speed > 24 ? .braking : any
      manoeuvre(kind, peak: peak, ramp: isHarsh ? 0.4 : 0.8, isHarsh: isHarsh)
    }
  }

  private mutating func uniform(_ range: ClosedRange<Double>) -> Double {
    range.lowerBound + (range.upperBound - range.lowerBound) * random.nextUniform()
  }

  private mutating func rest(_ seconds: Double) {
    let end = time + seconds
    while time < end { advance(forward: 0, right: 0) }
  }

  private mutating func manoeuvre(_ kind: DrivingEvent.Kind, peak: Double, ramp: Double, isHarsh: Bool) {
    let side = random.nextUniform() < 0.5 ? -1.0 : 1
    var seconds = uniform(1...3) + ramp
    if kind == .braking { seconds = min(seconds, (speed - 3) / peak) }
    let start = time
    while time < start + seconds + ramp {
      let part = min(1, (time - start) / ramp, (start + seconds + ramp - time) / ramp)
      let value = peak * max(0, part)
      switch kind {
      case .braking: advance(forward: -value, right: 0)
      case .acceleration: advance(forward: value, right: 0)
      default: advance(forward: 0, right: side * value)
      }
    }
    guard isHarsh else { return }
    labels.append(
      EventScore.Interval(kind: kind, start: Timestamp(seconds: start), duration: time - start))
  }

  private mutating func advance(forward: Double, right: Double) {
    let seconds = Self.step
    let turn = speed > 1 ? right / speed : 0
    time += seconds
    speed = max(0, speed + forward * seconds)
    heading += turn * seconds
    place += speed * seconds * SIMD2(sin(heading), cos(heading))
    let body = road.advance(speed: speed, random: &random)
    // The body pitches and rolls on its springs by half a degree per 1 m/s².
    let target = Vector3(0.009 * forward, -0.009 * right, 0)
    let change = (target - lean) / 0.2
    lean += change * seconds
    let attitude = Quaternion(rotationVector: lean + body.lean)
    let force = attitude.conjugate.rotate(Vector3(right, forward, standardGravity)) + body.force
    let rate = change + body.rate + Vector3(0, 0, -turn)
    let timestamp = Timestamp(seconds: time)
    scans.append(
      InertialScan(
        timestamp: timestamp,
        specificForce: mounting.rotate(force + 0.03 * random.nextNormalVector()) + forceBias,
        rotationRate: mounting.rotate(rate + 0.002 * random.nextNormalVector()) + rateBias))
    guard scans.count % 100 == 0 else { return }
    let shown = place + 1.0 * SIMD2(random.nextNormal(), random.nextNormal())
    var fix = PositionFix(
      timestamp: timestamp, mode: .threeDimensional,
      coordinate: LocalFrame(origin: Self.origin).coordinate(at: shown))
    fix.horizontalError = 5
    fix.speed = max(0, speed + 0.05 * random.nextNormal())
    fix.course = normalizedDegrees((heading + 0.05 / max(1, speed) * random.nextNormal()) * 180 / .pi)
    fixes.append(fix)
  }
}
