import Positioning
import Sensors
import Spatial
import TestSupport
import Testing

/// Complete recorded drives through the planner, with a receiver that has fixes only while it is on.
@Suite struct PowerReplayTests {
  /// The receiver's time to a fix, and the available sensors.
  struct Model: Sendable, CustomStringConvertible {
    /// Seconds from power-on to the first fix; later fixes have the times of the recording.
    var timeToFix: Double
    var hasAccelerometer: Bool
    var description: String { "\(timeToFix) s to a fix, \(hasAccelerometer ? "with" : "no") accelerometer" }
  }

  @Test(.needs(.recordings("tracks")), arguments: ["mtv_ublox_f9k_slim2025.nmea", "munich_2025.nmea"])
  func receiverOnAThirdOfTheTimeStaysWithin100Metres(_ name: String) throws {
    let track = try PlaneTrack.recorded(name)
    for model in [
      Model(timeToFix: 1, hasAccelerometer: true), Model(timeToFix: 2, hasAccelerometer: true),
      Model(timeToFix: 1, hasAccelerometer: false),
    ] {
      let run = PoweredRun(track, model: model, mobility: .vehicle)
      print("power-replay \(name): \(model): \(run)")
      // A receiver that needs two seconds after each sleep cannot sleep as much.
      #expect(run.onShare <= (model.timeToFix > 1 ? 0.4 : 1 / 3.0), "\(model)")
      #expect(run.largestError <= 100, "\(model): at \(run.momentOfLargestError)")
    }
  }
}

/// A drive in steps of 0.1 s.
private struct PoweredRun: CustomStringConvertible {
  private(set) var onShare = 0.0
  private(set) var fixes = 0
  private(set) var wakes = 0
  private(set) var largestError = 0.0
  private(set) var momentOfLargestError = 0.0
  /// Seconds from an impossible jump in the recording to the next fix that was used.
  private(set) var impossible = 0
  private var errors: [Double] = []

  private static let step = 0.1
  /// Delay in s of the detection of rest and motion, including the latency of a block.
  private static let decision = (rest: 1.5 + 2, motion: 0.8 + 2)

  var description: String {
    let sorted = errors.sorted()
    let middle = sorted.isEmpty ? 0 : sorted[sorted.count / 2]
    func tenths(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
    return "receiver on \(tenths(onShare * 100)) %, woken \(wakes) times, \(fixes) fixes of \(errors.count), "
      + "error median \(tenths(middle)) m, largest \(tenths(largestError)) m, after a jump \(impossible) s"
  }

  init(_ track: [Location], model: PowerReplayTests.Model, mobility: Mobility) {
    guard let first = track.first, let end = track.last?.timestamp else { return }
    var planner = PowerPlanner(mobility: mobility)
    var rest = RestModel()
    var needs = PowerNeeds(location: LocationNeeds(isWanted: true, desiredAccuracy: .hundredMeters))
    var shown: Location?
    var jumpedAt: Timestamp?
    var onSince: Timestamp?
    var onTime = 0.0
    var index = 0
    var time = first.timestamp
    while time <= end {
      while index < track.count, track[index].timestamp <= time {
        let fix = track[index]
        if index > 0, Self.isJump(from: track[index - 1], to: fix, mobility) { jumpedAt = fix.timestamp }
        index += 1
        if model.hasAccelerometer, let change = rest.process(fix) {
          planner.observe(isAtRest: change.isAtRest, since: change.since)
        }
        // The Munich speeds are derived from positions, some of which were repeated: they drop to zero and double within seconds, unlike
        // measured speeds.
        let isLeap = index > 1 && Self.isLeap(from: track[index - 2], to: fix, mobility)
        if let onSince, fix.timestamp.seconds(since: onSince) >= model.timeToFix, !isLeap {
          shown = fix
          fixes += 1
          needs.location.take(fix)
        }
        if let shown, let jumpedAt, shown.timestamp <= jumpedAt {
          impossible += 1
        } else if let shown {
          judge(fix, shown: shown)
        }
      }
      let isOn = planner.demands(for: needs, at: time)[.positioning] != .off
      if isOn, onSince == nil {
        onSince = time
        wakes += 1
      }
      if !isOn { onSince = nil }
      if isOn { onTime += Self.step }
      time = time.advanced(bySeconds: Self.step)
    }
    onShare = onTime / end.seconds(since: first.timestamp)
  }

  /// True if the distance between two recorded fixes is impossible for a vehicle.
  private static func isJump(from a: Location, to b: Location, _ mobility: Mobility) -> Bool {
    let elapsed = b.timestamp.seconds(since: a.timestamp)
    return a.coordinate.distance(to: b.coordinate) > mobility.topSpeed * max(1, elapsed)
  }

  /// True if the recorded speed changes faster than brakes or engine allow.
  private static func isLeap(from a: Location, to b: Location, _ mobility: Mobility) -> Bool {
    let elapsed = max(1, b.timestamp.seconds(since: a.timestamp))
    guard let before = a.speed, let after = b.speed else { return false }
    return after > mobility.topSpeed || abs(after - before) > 10 * elapsed
  }

  private mutating func judge(_ fix: Location, shown: Location) {
    let elapsed = fix.timestamp.seconds(since: shown.timestamp)
    // The position shown by a subscriber: the last location, extrapolated with its speed and course.
    let place =
      if let speed = shown.speed, let course = shown.course {
        shown.coordinate.destination(distance: speed * elapsed, bearing: course)
      } else {
        shown.coordinate
      }
    let error = place.distance(to: fix.coordinate)
    errors.append(error)
    if error > largestError { (largestError, momentOfLargestError) = (error, fix.timestamp.seconds) }
  }

  /// A model of the detector in `Motion`, delayed by its settling time and the latency of a block.
  private struct RestModel {
    private var told = false
    private var candidate: (isAtRest: Bool, since: Timestamp)?

    mutating func process(_ fix: Location) -> (isAtRest: Bool, since: Timestamp)? {
      let isAtRest = (fix.speed ?? 0) < 0.4
      guard isAtRest != told else {
        candidate = nil
        return nil
      }
      if candidate == nil { candidate = (isAtRest, fix.timestamp) }
      guard let candidate else { return nil }
      let needed = isAtRest ? PoweredRun.decision.rest : PoweredRun.decision.motion
      guard fix.timestamp.seconds(since: candidate.since) >= needed else { return nil }
      told = isAtRest
      self.candidate = nil
      return candidate
    }
  }
}

extension LocationNeeds {
  fileprivate mutating func take(_ fix: Location) {
    timestamp = fix.timestamp
    speed = fix.speed
    speedAccuracy = fix.speedAccuracy
    horizontalAccuracy = fix.horizontalAccuracy
  }
}
