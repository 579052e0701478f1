import AgentCore
import Pipeline
import Positioning
import Sensors
import Simulation
import Spatial
import Telemetry
import TestSupport
import Testing

/// Error bound during outages of the receiver that inertial navigation bridges: the agent's pipeline over
/// simulated and recorded drives, and a subscriber.
@Suite struct OutagePromiseTests {
  private static let bound = 20.0
  private static let outage = 60.0
  /// Seconds between the starts of two outages, and before the first one.
  private static let period = 140.0

  /// An agent whose receiver has outages, and a subscriber that shows its positions.
  private struct Run {
    private let delay: Double
    private var pipeline: AgentPipeline
    /// The same agent with all positions published.
    private var everyPosition: AgentPipeline
    private var reports: [(decided: Timestamp, predictor: ReportPredictor)] = []
    private var positions: [(time: Timestamp, location: Location)] = []
    /// Offset from the device's time to civil time in ns.
    private let offset: Int64
    private var total = Total()
    private var moments: [(time: Timestamp, coordinate: Coordinate)] = []

    /// - Parameter time: civil time at the device's time `start`.
    init(delay: Double, start: Timestamp, time: UTCTime) throws {
      func pipeline(_ settings: [String]) throws -> AgentPipeline {
        let assignments = ["vehicle.id=v", "input.mode=simulation"] + settings
        let configuration = try AgentConfiguration(settings: assignments)
        return AgentPipeline(
          configuration: configuration.pipeline, start: start, time: time, version: "1")
      }
      self.pipeline = try pipeline([
        "location.reporting=bounded", "location.delay_bound=\(delay)", "location.error_bound=\(bound)",
      ])
      everyPosition = try pipeline(["location.reporting=distance", "location.distance_filter=0"])
      offset = time.nanoseconds &- start.nanoseconds
      self.delay = delay
    }

    mutating func process(_ event: SensorEvent) throws {
      var messages: [VehicleMessage] = []
      pipeline.process(event) { messages.append($0) }
      for case .location(let message) in messages {
        guard let report = message.predictor else { continue }
        reports.append((pipeline.now, report))
      }
      everyPosition.process(event) { message in
        guard case .location(let message) = message else { return }
        positions.append((Timestamp(nanoseconds: message.time.nanoseconds), message.location))
      }
    }

    /// Adds a moment in an outage with the position at that time.
    mutating func observe(_ time: Timestamp, _ coordinate: Coordinate) { moments.append((time, coordinate)) }

    /// Compares the shown positions with the observed moments.
    mutating func finish() -> Total {
      for (time, coordinate) in moments {
        total.seconds += 1
        let civil = Timestamp(nanoseconds: time.nanoseconds &+ offset)
        let due = time.advanced(bySeconds: delay)
        var shown: ReportPredictor?
        for (decided, report) in reports where decided <= due && report.moment <= civil {
          if report.moment >= shown?.moment ?? report.moment { shown = report }
        }
        guard let shown, shown.isPromised(at: civil) else { continue }
        total.promised += 1
        let error = shown.error(of: coordinate, at: civil)
        if isHonest(civil, coordinate) {
          total.worst = max(total.worst, error)
          if error > bound { total.broken.append((time.seconds, error)) }
        } else {
          total.dishonest += 1
        }
      }
      total.reports = reports.count
      return total
    }

    /// Returns whether the agent's own position at a time is within two radii of the truth.
    private func isHonest(_ time: Timestamp, _ truth: Coordinate) -> Bool {
      guard let next = positions.firstIndex(where: { $0.time >= time }), next > 0 else { return true }
      let (a, b) = (positions[next - 1], positions[next])
      let share = time.seconds(since: a.time) / b.time.seconds(since: a.time)
      let frame = LocalFrame(origin: a.location.coordinate)
      let distance = (share * frame.offset(of: b.location.coordinate) - frame.offset(of: truth))
      let radius = max(a.location.horizontalAccuracy ?? 0, b.location.horizontalAccuracy ?? 0)
      return (distance * distance).sum().squareRoot() <= 2 * radius
    }
  }

  private struct Total {
    var seconds = 0
    var promised = 0
    var worst = 0.0
    var reports = 0
    /// Guaranteed seconds in which the agent's position is farther than two radii from the truth.
    var dishonest = 0
    var broken: [(second: Double, error: Double)] = []
  }

  /// Returns true if a time in seconds since the start of the drive is in an outage.
  private static func isUnseen(_ time: Double) -> Bool {
    time >= period && time.truncatingRemainder(dividingBy: period) < outage
  }

  /// Reports of a receiver without satellites: no position, or a repetition of the last one.
  enum Loss: String, CaseIterable { case silence, repetition }

  @Test(arguments: Loss.allCases) func simulatedOutagesAreWithinTheBound(_ loss: Loss) throws {
    let drives: UInt64 = Shared.isFullRun ? 50 : 10
    var sum = Total()
    for seed in 1...drives {
      var generator = SeededGenerator(seed: seed)
      let samples = SyntheticDrive(length: 300, mounting: generator.nextRotation()).samples(&generator)
      var run = try Run(delay: 5, start: Timestamp(seconds: 100), time: PublicDrive.start)
      let frame = LocalFrame(origin: SyntheticDrive.origin, altitude: SyntheticDrive.altitude)
      var seen: PositionFix?
      for sample in samples {
        let (truth, time) = (sample.truth, sample.truth.time)
        if var fix = sample.fix, time == time.rounded() {
          fix.time = PublicDrive.start.advanced(bySeconds: time)
          if Self.isUnseen(time) {
            run.observe(
              fix.timestamp, frame.coordinate(at: SIMD2(truth.position.x, truth.position.y)))
            switch loss {
            case .silence: fix = PositionFix(timestamp: fix.timestamp, time: fix.time, mode: .noFix)
            case .repetition:
              (fix.coordinate, fix.speed, fix.course) = (seen?.coordinate, seen?.speed, seen?.course)
            }
          } else {
            seen = fix
          }
          try run.process(.position([fix]))
        }
        try run.process(.inertial([sample.scan]))
      }
      let total = run.finish()
      #expect(total.broken.isEmpty, "seed \(seed): \(total.broken.prefix(5))")
      sum.seconds += total.seconds
      sum.promised += total.promised
      sum.worst = max(sum.worst, total.worst)
      sum.broken += total.broken
      sum.dishonest += total.dishonest
    }
    print(
      "\(drives) drives, \(loss): \(sum.promised) of \(sum.seconds) s guaranteed, worst \(sum.worst) m,"
        + " \(sum.broken.count) beyond, \(sum.dishonest) with a wrong radius")
    #expect(sum.promised * 2 > sum.seconds)
    #expect(sum.dishonest * 50 < sum.promised)
  }

  @Test(
    .needs(.recordings("kingston-2008")), .needs(.recordings("gnss-imu-drive")),
    arguments: PublicDrive.recorded.suffix(3))
  func recordedOutagesAreWithinTheBound(_ drive: PublicDrive) throws {
    for delay in [0.0, 5] {
      var recording = try drive.recording()
      let truth = drive.truth()
      let start = Timestamp(seconds: 1000)
      var run = try Run(delay: delay, start: start, time: PublicDrive.start)
      while let event = try recording.next() {
        guard case .position(let fixes) = event, let fix = fixes.first else {
          try run.process(event)
          continue
        }
        let time = fix.timestamp.seconds(since: start)
        guard Self.isUnseen(time), let coordinate = fix.coordinate else {
          try run.process(event)
          continue
        }
        // Until the first inertial position, two seconds after the last fix, the bound refers only to fixes.
        if Self.isUnseen(time - 2) {
          run.observe(fix.timestamp, truth?.coordinate(at: fix.timestamp) ?? coordinate)
        }
        try run.process(.position([PositionFix(timestamp: fix.timestamp, time: fix.time, mode: .noFix)]))
      }
      let total = run.finish()
      print(
        "\(drive), delay \(delay) s: \(total.promised) of \(total.seconds) fixes in outages guaranteed,"
          + " worst \(total.worst) m, \(total.reports) reports, \(total.dishonest) with a wrong radius, beyond:"
          + " \(total.broken)")
      #expect(total.broken.isEmpty, "\(drive), delay \(delay): \(total.broken.prefix(5))")
      #expect(total.promised * 4 > total.seconds)
      #expect(total.dishonest * 25 < total.promised)
    }
  }
}
