import Foundation
import JSON
import Pipeline
import Positioning
import Sensors
import Simulation
import Spatial
import Telemetry
import TestSupport
import Testing

/// Compares the positions that a subscriber shows with the fix that a receiver would report in each second,
/// over complete drives with stops, tunnels and failing receivers. The sensors follow the demands of the
/// agent's pipeline, in exact virtual time.
@Suite struct BoundedPromiseTests {
  struct Case: CustomTestStringConvertible, Sendable {
    var seed: UInt64
    var delay: Double
    var hasAccelerometer: Bool
    var accuracy = DesiredAccuracy.best
    /// Error bound in m.
    var error = 20.0
    /// True if the receiver is inaccurate for half of each 90 s, so that better positions at rest are reported.
    var isNoisy = false

    var testDescription: String {
      "seed \(seed), delay \(delay) s, \(hasAccelerometer ? "accelerometer" : "receiver only"), \(accuracy), \(error) m"
    }
  }

  private static let paused: [Case] = (1...12).map { (seed: Int) -> Case in
    Case(seed: UInt64(seed), delay: [5.0, 2, 0][seed % 3], hasAccelerometer: false)
  }
  private static let felt: [Case] = (1...4).map { (seed: Int) -> Case in
    Case(seed: UInt64(seed), delay: seed % 2 == 0 ? 0 : 5, hasAccelerometer: true)
  }
  private static let tunnels: [Case] = (1...6).map { (seed: Int) -> Case in
    Case(seed: UInt64(seed), delay: seed % 2 == 0 ? 2 : 5, hasAccelerometer: false)
  }
  private static let coarse: [(seed: UInt64, accuracy: DesiredAccuracy, error: Double)] = [
    (7, .hundredMeters, 200), (8, .hundredMeters, 50), (9, .kilometer, 500),
  ]
  private static let unseen: [Case] =
    tunnels
    + coarse.map { (seed, accuracy, error) -> Case in
      Case(seed: seed, delay: 5, hasAccelerometer: false, accuracy: accuracy, error: error)
    }
  private static let few: [Case] = (1...3).map { (seed: Int) -> Case in
    Case(seed: UInt64(seed), delay: 5, hasAccelerometer: false)
  }

  /// A car drives off after 1 to 20 min at rest, in any phase of the receiver's sleep.
  @Test(arguments: Self.paused)
  func pauseNeverViolatesTheErrorBound(_ drive: Case) throws {
    var run = try PromiseRun(drive, tunnels: false)
    try run.drive()
    expectKept(run, drive)
    // Positions in motion are bounded. Pauses without an accelerometer are not, nor are their ends until the
    // next wakeup of the receiver.
    let unseen = 4 * (PowerPlanner.blindSleep + 15)
    #expect(run.promisedMoving > 0.97 * run.moving - unseen, "\(run.promisedMoving) of \(run.moving) s")
    #expect(run.promisedAtRest < 0.9 * run.atRest)
  }

  @Test(arguments: Self.felt)
  func accelerometerMonitorsRest(_ drive: Case) throws {
    var run = try PromiseRun(drive, tunnels: false)
    try run.drive()
    expectKept(run, drive)
    #expect(run.promisedMoving > 0.9 * run.moving, "\(run.promisedMoving) of \(run.moving) s")
    // Without a delay, driving off cannot be reported in time, and positions at rest have no error bound.
    if drive.delay >= 5 { #expect(run.promisedAtRest > 0.95 * run.atRest) }
  }

  @Test(arguments: Self.unseen)
  func tunnelsAndSleepEndTheErrorBound(_ drive: Case) throws {
    var run = try PromiseRun(drive, tunnels: true)
    try run.drive()
    expectKept(run, drive)
    #expect(run.promisedMoving > 0.4 * run.moving, "\(run.promisedMoving) of \(run.moving) s")
  }

  /// Reports of more accurate positions at rest preserve the bound.
  @Test(arguments: few)
  func moreAccuratePositionsPreserveTheErrorBound(_ drive: Case) throws {
    var noisy = drive
    noisy.isNoisy = true
    var run = try PromiseRun(noisy, tunnels: false)
    try run.drive()
    expectKept(run, noisy)
    #expect(run.promisedMoving > 0 && run.refinements > 0, "\(run.refinements)")
  }

  /// The receiver fails during the drive without a report of the failure.
  @Test(arguments: Self.few)
  func failedReceiverEndsTheErrorBound(_ drive: Case) throws {
    var run = try PromiseRun(drive, tunnels: false)
    run.receiverEnd = 200
    try run.drive(until: 800)
    expectKept(run, drive)
    #expect(run.lastPromised < 225)
  }

  /// The link or the agent fails. No message reports it, but each bound expires after its validity.
  @Test(arguments: Self.few)
  func lostLinkEndsTheErrorBound(_ drive: Case) throws {
    var run = try PromiseRun(drive, tunnels: false)
    run.linkEnd = 150
    try run.drive(until: 900)
    #expect(run.lastPromised > 140 && run.lastPromised <= 150 + BoundedReporter.lease)
  }

  /// A regular stop withdraws the bound.
  @Test(arguments: Self.few)
  func cleanStopEndsTheErrorBound(_ drive: Case) throws {
    var run = try PromiseRun(drive, tunnels: false)
    try run.drive(until: 170)
    run.finish()
    run.isAgentThere = false
    try run.drive(until: 600)
    expectKept(run, drive)
    #expect(run.lastPromised > 150 && run.lastPromised < 180)
  }

  private func expectKept(_ run: PromiseRun, _ drive: Case) {
    #expect(run.broken.isEmpty, "\(drive.testDescription): \(run.broken.prefix(5))")
  }
}

/// A drive with stops, in steps of one second.
private struct SeededDrive {
  struct Second {
    var position: SIMD2<Double>
    var speed: Double
    var course: Double
    var isInTunnel: Bool
  }

  var seconds: [Second] = []

  init(seed: UInt64, tunnels: Bool) {
    var random = SeededGenerator(seed: seed)
    var (position, speed, course) = (SIMD2(0.0, 0.0), 0.0, random.nextUniform() * 360)
    var wander = SIMD2(0.0, 0)
    var tunnelLeft = 0.0
    func step(_ seconds: Double, _ acceleration: Double, _ turn: Double) {
      let part = 0.1
      for _ in 0..<Int((seconds / part).rounded()) {
        speed = min(35, max(0, speed + acceleration * part))
        if speed > 0.5 { course = normalizedDegrees(course + turn * part) }
        position += speed * part * SIMD2(sin(course.radians), cos(course.radians))
      }
      // The error of the receiver drifts slowly.
      wander = 0.98 * wander + 0.2 * 1.2 * SIMD2(random.nextNormal(), random.nextNormal())
      tunnelLeft -= seconds
      if tunnels, speed > 8, tunnelLeft < -120, random.nextUniform() < 0.01 {
        tunnelLeft = 15 + 60 * random.nextUniform()
      }
      self.seconds.append(
        Second(position: position + wander, speed: speed, course: course, isInTunnel: tunnelLeft > 0))
    }
    for _ in 0..<4 {
      let target = 8 + 22 * random.nextUniform()
      for _ in 0..<Int(60 + 120 * random.nextUniform()) {
        // Lateral acceleration in a bend is at most 3 m/s².
        let turn =
          random.nextUniform() < 0.3 ? (random.nextUniform() - 0.5) * 2 * min(25, 170 / max(speed, 1)) : 0
        step(1, max(-3, min(3.2, target - speed)) + 0.3 * random.nextNormal(), turn)
      }
      while speed > 0 { step(1, -3.5, 0) }
      let rest = 60 + 1140 * random.nextUniform()
      for _ in 0..<Int(rest) { step(1, -1, 0) }
    }
    for _ in 0..<60 { step(1, 2.5, 0) }
  }
}

extension Double { fileprivate var radians: Double { self * .pi / 180 } }

/// The agent, its sensors, and a subscriber.
private struct PromiseRun {
  static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)
  private static let frame = LocalFrame(origin: Coordinate(latitude: 48, longitude: 11))
  /// Delay in seconds between the time of a fix and its arrival.
  private static let latency = 0.2

  var receiverEnd = Double.infinity
  var linkEnd = Double.infinity
  var isAgentThere = true
  /// Seconds in which the shown position exceeded its error bound.
  var broken: [(moment: Double, error: Double, bound: Double)] = []
  var moving = 0.0
  var promisedMoving = 0.0
  var atRest = 0.0
  var promisedAtRest = 0.0
  var lastPromised = 0.0
  /// Number of messages at rest with an accuracy of at most half of that of the message before.
  var refinements = 0

  private let truth: SeededDrive
  private let delay: Double
  private let hasAccelerometer: Bool
  private let isNoisy: Bool
  private var lastAccuracy = 0.0
  private var pipeline: AgentPipeline
  private var follower = ReportFollower()
  private var second = 1
  private var shown = 1
  private var now = 0.0
  private var receiverOnSince: Double?
  private var receiverOffSince = 0.0
  private var scans: [InertialScan] = []

  init(_ drive: BoundedPromiseTests.Case, tunnels: Bool) throws {
    truth = SeededDrive(seed: drive.seed, tunnels: tunnels)
    delay = drive.delay
    hasAccelerometer = drive.hasAccelerometer
    isNoisy = drive.isNoisy
    let settings: [Setting] = [
      { $0.location.setBounds(error: drive.error, delay: drive.delay) },
      { $0.location.desiredAccuracy = drive.accuracy },
      { $0.heading.isEnabled = false }, { $0.attitude.isEnabled = false },
      { $0.motion.events = [] },
    ]
    let configuration = PipelineConfiguration(settings, isVirtual: false)
    pipeline = AgentPipeline(
      configuration: configuration, start: Timestamp(seconds: 0), time: Self.start, version: "1")
    obey()
  }

  mutating func drive(until end: Double = .infinity) throws {
    while second < truth.seconds.count, Double(second) <= end {
      try inertial()
      if canFix, isAgentThere {
        try pass(to: Double(second) + Self.latency)
        var messages: [VehicleMessage] = []
        pipeline.process(.position([fix])) { messages.append($0) }
        try take(messages)
      } else {
        try pass(to: Double(second) + Self.latency)
      }
      second += 1
    }
  }

  mutating func finish() {
    var messages: [VehicleMessage] = []
    pipeline.finish { messages.append($0) }
    try? take(messages)
  }

  // MARK: Sensors

  private var canFix: Bool {
    guard let receiverOnSince, Double(second) < receiverEnd, !truth.seconds[second].isInTunnel else {
      return false
    }
    // After a long sleep, the receiver has to search for satellites.
    let search = receiverOnSince - receiverOffSince < 60 ? 1.8 : 6.0
    return Double(second) >= receiverOnSince + search
  }

  private var fix: PositionFix {
    let now = truth.seconds[second]
    var fix = PositionFix(
      timestamp: Timestamp(seconds: Double(second) + Self.latency), mode: .threeDimensional,
      coordinate: Self.frame.coordinate(at: now.position))
    fix.time = Self.start.advanced(bySeconds: Double(second))
    (fix.speed, fix.course, fix.horizontalError) = (
      now.speed, now.course, isNoisy && second % 90 < 45 ? 300 : 5
    )
    return fix
  }

  /// Plays one second of the accelerometer at its watch rate, in blocks of the demanded latency.
  private mutating func inertial() throws {
    guard hasAccelerometer, isAgentThere, case .rate(_, let latency)? = pipeline.demands[.accelerometer]
    else { return }
    let state = truth.seconds[second]
    let before = truth.seconds[second - 1]
    for step in 0..<13 {
      let time = Double(second - 1) + Double(step) / 13
      let shake =
        state.speed > 0.3 || before.speed > 0.3 ? 0.05 * (step % 6 < 3 ? 1.0 : -1) : 0.0005 * Double(step % 3)
      scans.append(
        InertialScan(
          timestamp: Timestamp(seconds: time),
          acceleration: Vector3(shake, (state.speed - before.speed) / 9.81, -1)))
    }
    let wait = latency / .seconds(1)
    guard let first = scans.first, Double(second) - first.timestamp.seconds >= wait - 0.1 else { return }
    try pass(to: Double(second))
    let block = scans
    scans = []
    var messages: [VehicleMessage] = []
    pipeline.process(.inertial(block)) { messages.append($0) }
    pipeline.advance(to: Timestamp(seconds: now)) { messages.append($0) }
    try take(messages)
  }

  private mutating func obey() {
    guard let demands = pipeline.drainDemands() else { return }
    if demands[.positioning] != .off {
      receiverOnSince = receiverOnSince ?? now
    } else if receiverOnSince != nil {
      receiverOnSince = nil
      receiverOffSince = now
    }
  }

  // MARK: Time

  /// Advances time through the agent's deadlines and checks the shown positions.
  private mutating func pass(to time: Double) throws {
    while isAgentThere, let deadline = pipeline.nextDeadline, deadline.seconds < time {
      look(before: deadline.seconds)
      now = max(now, deadline.seconds)
      var messages: [VehicleMessage] = []
      pipeline.advance(to: deadline) { messages.append($0) }
      try take(messages)
    }
    look(before: time)
    now = time
  }

  // MARK: The subscriber

  private mutating func take(_ messages: [VehicleMessage]) throws {
    obey()
    guard now < linkEnd else { return }
    for case .location(let message) in messages {
      let read = try LocationMessage(json: JSONValue(parsing: message.payload))
      let accuracy = read.location.horizontalAccuracy ?? 0
      if truth.seconds[min(second, truth.seconds.count - 1)].speed == 0, accuracy <= lastAccuracy / 2 {
        refinements += 1
      }
      lastAccuracy = accuracy
      if let report = read.predictor { follower.receive(report) }
    }
  }

  /// Checks the position shown for each second once its delay and the receiver's latency have passed.
  private mutating func look(before time: Double) {
    while shown < truth.seconds.count, Double(shown) + delay + Self.latency + 1e-6 < time {
      defer { shown += 1 }
      let moment = Timestamp(
        nanoseconds: Self.start.advanced(bySeconds: Double(shown)).nanoseconds)
      let state = truth.seconds[shown]
      let isMoving = state.speed > 0.3
      if isMoving { moving += 1 } else { atRest += 1 }
      guard let position = follower.position(now: moment.advanced(bySeconds: delay)) else { continue }
      let error = position.coordinate.distance(to: Self.frame.coordinate(at: state.position))
      // Positions without a guarantee have a growing radius, which must be correct, too.
      if error > position.bound { broken.append((Double(shown), error, position.bound)) }
      guard position.isPromised else { continue }
      lastPromised = Double(shown)
      if isMoving { promisedMoving += 1 } else { promisedAtRest += 1 }
    }
  }
}
