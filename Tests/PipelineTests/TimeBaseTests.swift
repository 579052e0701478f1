import JSON
import Pipeline
import Positioning
import Sensors
import Simulation
import Spatial
import Telemetry
import TestSupport
import Testing

/// Selection of the clock for civil time, which never goes back within an epoch.
@Suite struct TimeBaseTests {
  /// Correct time at 0 s.
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)
  private static let year = 31_536_000.0

  private func right(_ seconds: Double) -> UTCTime { Self.start.advanced(bySeconds: seconds) }

  private func at(_ seconds: Double) -> Timestamp { Timestamp(seconds: seconds) }

  private func wrong(by error: Double, isSynchronized: Bool = false) -> TimeBase {
    TimeBase(
      timestamp: at(0), system: SystemTime(time: right(error), isSynchronized: isSynchronized),
      isVirtual: false)
  }

  /// Returns the error of the time base in seconds.
  private func error(_ base: TimeBase, _ seconds: Double) -> Double {
    base.utc(at: at(seconds)).seconds(since: right(seconds))
  }

  @Test(arguments: [-year, -60, 60, year, -56 * year])
  func wrongClockIsReplacedByTheReceiverTime(by wrong: Double) {
    var base = self.wrong(by: wrong)
    #expect(base.clock == .unsynchronized)
    #expect(abs(error(base, 5) - wrong) < 1e-6)
    base.observe(right(9.8), at: at(10), hasFix: true)
    #expect(base.clock == .receiver)
    #expect(abs(error(base, 10) + 0.2) < 1e-6)
    #expect(abs((base.lastStep ?? 0) + wrong + 0.2) < 1e-6)
    #expect(base.regressions == (wrong > 0 ? 1 : 0))
  }

  @Test func synchronizedClockIsNotReplaced() {
    var base = wrong(by: 0.5, isSynchronized: true)
    #expect(base.clock == .system)
    base.observe(right(10), at: at(10), hasFix: true)
    #expect(base.clock == .system && base.lastStep == nil)
    #expect(abs(error(base, 10) - 0.5) < 1e-6)
    // The clock loses synchronization. Time runs at half speed until the receiver's time, 0.5 s behind, has caught up.
    base.observe(SystemTime(time: right(20.5), isSynchronized: false), at: at(20))
    #expect(base.clock == .receiver && base.regressions == 0)
    #expect(abs(error(base, 20) - 0.5) < 1e-6 && abs(error(base, 20.5) - 0.25) < 1e-6)
    #expect(abs(error(base, 22)) < 2e-3)
  }

  @Test func clockStepIsFollowed() {
    var base = wrong(by: -Self.year)
    base.observe(SystemTime(time: right(5 - Self.year), isSynchronized: false), at: at(5))
    #expect(base.clock == .unsynchronized)
    base.observe(SystemTime(time: right(6), isSynchronized: false), at: at(6))
    #expect(base.clock == .system && abs(error(base, 6)) < 1e-6)
    // The receiver takes precedence over a manually set clock, and a synchronized clock over the receiver.
    base.observe(right(6.7), at: at(7), hasFix: true)
    #expect(base.clock == .receiver)
    base.observe(SystemTime(time: right(8), isSynchronized: true), at: at(8))
    #expect(base.clock == .system && abs(error(base, 8)) < 1e-6)
  }

  @Test func implausibleClockIsUnsynchronizedDespiteTheKernel() {
    var base = TimeBase(
      timestamp: at(0), system: SystemTime(time: UTCTime(nanoseconds: 0), isSynchronized: true),
      isVirtual: false)
    #expect(base.clock == .unsynchronized && base.knownOffset(at: at(0)) == nil)
    #expect(base.machineTime(at: at(0)) == nil)
    // A receiver's time without a position is better than none.
    base.observe(right(1), at: at(1), hasFix: false)
    #expect(base.clock == .receiver && base.knownOffset(at: at(1)) != nil)
  }

  @Test func receiverTimeWithoutPositionDoesNotOverrideTheClock() {
    var base = wrong(by: 60)
    base.observe(right(1), at: at(1), hasFix: false)
    #expect(base.clock == .unsynchronized)
  }

  /// Reports have varying delays. The time base follows the fastest ones, and compensates the drift of the
  /// machine's clock.
  @Test func receiverTimeIsSmooth() {
    var base = wrong(by: -Self.year)
    var random = SplitMix(seed: 7)
    for second in 1...3600 {
      // The machine's clock runs 20 ppm fast.
      let time = Double(second) * (1 + 20e-6)
      let delay = 0.1 + Double.random(in: 0...0.4, using: &random)
      base.observe(right(Double(second)), at: at(time + delay), hasFix: true)
    }
    let end = 3600 * (1 + 20e-6)
    #expect(abs(base.utc(at: at(end)).seconds(since: right(3600)) + 0.1) < 0.05)
    #expect(base.regressions == 0)
  }

  /// For any behaviour of the clocks, time goes back only at the start of a new epoch.
  @Test(arguments: 0..<200) func timeIsMonotonicWithinAnEpoch(seed: UInt64) {
    var random = SplitMix(seed: seed)
    var base = wrong(by: Double.random(in: -10...10, using: &random))
    var last = base.utc(at: at(0))
    var regressions = 0
    for tenth in 1...2000 {
      let now = Double(tenth) / 10
      let errors = [0, 0.3, -0.3, 1.5, -1.5, 40, -40, Self.year]
      let off = errors[Int.random(in: 0..<errors.count, using: &random)]
      switch Int.random(in: 0..<20, using: &random) {
      case 0: base.observe(right(now + off), at: at(now), hasFix: true)
      case 1: base.observe(SystemTime(time: right(now + off), isSynchronized: false), at: at(now))
      case 2: base.observe(SystemTime(time: right(now + off), isSynchronized: true), at: at(now))
      default: break
      }
      let time = base.utc(at: at(now))
      if base.regressions == regressions { #expect(time >= last, "seed \(seed) at \(now) s") }
      (last, regressions) = (time, base.regressions)
    }
  }

  /// The complete pipeline on hardware: `status` uses the time of the fix immediately and reports the clock step.
  @Test func statusUsesTheBetterClock() throws {
    let configuration = PipelineConfiguration([], isVirtual: false)
    var pipeline = AgentPipeline(
      configuration: configuration, start: at(0), time: right(Self.year),
      isClockSynchronized: false,
      version: "1")
    var messages: [VehicleMessage] = []
    for second in 0...20 {
      var fix = PositionFix(
        timestamp: at(Double(second)), time: second < 10 ? nil : right(Double(second)),
        mode: .threeDimensional,
        coordinate: Coordinate(latitude: 48, longitude: 11 + Double(second) * 1e-4))
      fix.speed = 7
      if second >= 5 { pipeline.process(.position([fix])) { messages.append($0) } }
      pipeline.advance(to: at(Double(second) + 0.9)) { messages.append($0) }
    }
    let statuses = messages.compactMap { message -> StatusMessage? in
      if case .status(let status) = message { status } else { nil }
    }
    #expect(statuses.first?.clock == .unsynchronized)
    let last = try #require(statuses.last)
    #expect(last.clock == .receiver && abs((last.clockStep ?? 0) + Self.year) < 1)
    #expect(abs(last.time.seconds(since: right(last.uptime ?? 0))) < 0.5)
    #expect(last.uptime ?? 60 < 20, "published immediately")
    #expect(pipeline.timeRegressions == 1)
    let read = try StatusMessage(json: JSONValue(parsing: last.payload))
    #expect(read.clock == .receiver && read.clockStep == last.clockStep.map { ($0 * 1000).rounded() / 1000 })
  }
}
