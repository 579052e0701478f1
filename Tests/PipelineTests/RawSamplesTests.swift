import JSON
import Pipeline
import Sensors
import Spatial
import Telemetry
import Testing

/// The command `samples` in exact virtual time.
@Suite struct RawSamplesTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)
  private let zero = Timestamp(nanoseconds: 0)

  private func sender(_ id: String) -> PendingCommands.Sender {
    var sender = PendingCommands.Sender(
      command: "samples", request: RemoteRequest(subject: .command("samples"), payload: []))
    sender.id = id
    return sender
  }

  private func utc(_ timestamp: Timestamp) -> UTCTime { Self.start.advanced(bySeconds: timestamp.seconds) }

  private func scan(_ seconds: Double, _ content: Set<SensorKind> = [.accelerometer]) -> SensorEvent {
    var scan = InertialScan(timestamp: Timestamp(seconds: seconds))
    if content.contains(.accelerometer) { scan.specificForce = Vector3(seconds, 0, 9.81) }
    if content.contains(.gyroscope) { scan.rotationRate = Vector3(0, seconds, 0) }
    if content.contains(.magnetometer) { scan.magneticField = Vector3(0, 0, seconds) }
    return .inertial([scan])
  }

  private func run(
    _ request: RawSamples.Request, _ events: [SensorEvent]
  ) -> (parts: [RawSamples.Part], samples: RawSamples) {
    var samples = RawSamples()
    let hasBegun = samples.begin(request, sender("a"), at: zero)
    #expect(hasBegun)
    var parts: [RawSamples.Part] = []
    for event in events {
      samples.process(event, utc: utc)
      parts += samples.drain(at: zero)
    }
    return (parts, samples)
  }

  @Test(arguments: [10.0, 25, 50, 100, 1000]) func rateAndDurationAreObserved(rate: Double) {
    // A sensor of 100 Hz with jitter.
    let events = (0...1000).map { scan(Double($0) * 0.01 + Double($0 % 3) * 0.0004) }
    let (parts, left) = run(RawSamples.Request(seconds: 4, rate: rate, kinds: [.accelerometer]), events)
    let count = parts.reduce(0) { $0 + $1.piece.count }
    let expected = 4 * min(rate, 100)
    #expect((expected - 2...expected + 2).contains(Double(count)), "\(count) at \(rate) Hz")
    #expect(parts.map(\.number) == Array(0..<parts.count) && parts.last?.hasMore == false)
    #expect(parts.dropLast().allSatisfy(\.hasMore) && (4...6).contains(parts.count))
    #expect(left.rates.isEmpty && left.nextDeadline == nil)
    let times = parts.flatMap { part in
      part.piece.series.flatMap { $0.times.map { part.piece.start.nanoseconds / 1000 + $0 } }
    }
    #expect(times == times.sorted() && Set(times).count == times.count)
    #expect(times.first == Self.start.nanoseconds / 1000)
  }

  @Test func onlyRequestedKindsAreSent() {
    let events = (0...300).flatMap {
      [scan(Double($0) * 0.01, [.accelerometer, .gyroscope, .magnetometer])]
        + [.barometer([PressureData(timestamp: Timestamp(seconds: Double($0) * 0.01), pressure: 1e5)])]
    }
    let (parts, _) = run(RawSamples.Request(seconds: 2, rate: 50, kinds: [.gyroscope, .barometer]), events)
    #expect(Set(parts.flatMap { $0.piece.series.map(\.kind) }) == [.gyroscope, .barometer])
    #expect(parts.allSatisfy { $0.kinds == [.gyroscope, .barometer] })
  }

  /// Sensors of 100 Hz and 50 Hz at a requested rate of 10 Hz: samples of both kinds share the same times.
  @Test func kindsShareOneGrid() {
    let events = (0...200).map {
      scan(Double($0) * 0.01, $0 % 2 == 1 ? [.accelerometer, .magnetometer] : [.accelerometer])
    }
    let (parts, _) = run(
      RawSamples.Request(seconds: 1, rate: 10, kinds: [.accelerometer, .magnetometer]), events)
    let counts = parts.flatMap(\.piece.series).reduce(into: [:]) { $0[$1.kind, default: 0] += $1.times.count }
    #expect((10...11).contains(counts[.accelerometer] ?? 0) && (10...11).contains(counts[.magnetometer] ?? 0))
  }

  @Test func silentSensorEndsAtTheDeadline() {
    var samples = RawSamples()
    let hasBegun = samples.begin(.init(seconds: 2, rate: 10, kinds: [.barometer]), sender("a"), at: zero)
    #expect(hasBegun && samples.nextDeadline == Timestamp(seconds: 12))
    let early = samples.drain(at: Timestamp(seconds: 11))
    #expect(early.isEmpty)
    let parts = samples.drain(at: Timestamp(seconds: 12))
    #expect(parts.count == 1 && parts[0].piece.count == 0 && parts[0].number == 0 && !parts[0].hasMore)
    #expect(samples.nextDeadline == nil)
  }

  @Test func fourRecordingsRunSimultaneously() {
    var samples = RawSamples()
    for index in 0..<5 {
      let request = RawSamples.Request(seconds: 2, rate: Double(index + 1), kinds: [.accelerometer])
      let hasBegun = samples.begin(request, sender("\(index)"), at: zero)
      #expect(hasBegun == (index < 4))
    }
    #expect(samples.rates == [.accelerometer: 4])
  }

  /// The sensors run at the requested rate only during the recording, even if they are otherwise off.
  @Test func sensorsAreDemandedDuringTheRecording() throws {
    let configuration = PipelineConfiguration([
      { $0.inertial.rate = 20 }, { $0.heading.isEnabled = false },
      { $0.attitude.isEnabled = false }, { $0.motion.events = [] },
      { $0.location.isEnabled = false },
    ])
    var pipeline = AgentPipeline(
      configuration: configuration, start: zero, time: Self.start, version: "1")
    #expect(pipeline.demands.values.allSatisfy { $0 == .off })
    let isNew = pipeline.requestSamples([.gyroscope: 100, .barometer: 5])
    let isNewAgain = pipeline.requestSamples([.gyroscope: 100, .barometer: 5])
    #expect(isNew && !isNewAgain)
    for (kind, rate) in [(SensorKind.gyroscope, 100.0), (.barometer, 5)] {
      let hertz: Double? = if case .rate(let hertz, _)? = pipeline.demands[kind] { hertz } else { nil }
      #expect(hertz == rate, "\(kind)")
    }
    #expect(pipeline.demands[.accelerometer] == .off)
    let isOver = pipeline.requestSamples([:])
    #expect(isOver && pipeline.demands.values.allSatisfy { $0 == .off })
  }

  @Test(arguments: [
    ("samples", "{}", ""), ("samples", #"{"seconds":3,"rate":25,"kinds":["gyroscope"]}"#, ""),
    ("samples", #"{"seconds":0}"#, "key \"seconds\": not a number from 0.1 to 86400"),
    ("samples", #"{"rate":"fast"}"#, "key \"rate\""),
    ("samples", #"{"kinds":["nose"]}"#, "key \"kinds\": not an array of accelerometer, gyroscope"),
    ("samples", #"{"kinds":[]}"#, "key \"kinds\""), ("history", "{}", "key \"from\": missing"),
    ("history", #"{"from":"2026-11-21T09:00:00Z","to":"2026-11-21T08:00:00Z"}"#, "before \"from\""),
    ("history", #"{"from":"2026-11-21T08:00:00Z"}"#, ""),
  ])
  func requestsAreChecked(name: String, arguments: String, problem: String) throws {
    do {
      let json = try RemoteCommand.arguments(Array(arguments.utf8))
      _ = try RemoteCommand(name: name, arguments: json)
      #expect(problem.isEmpty)
    } catch { #expect(!problem.isEmpty && "\(error)".contains(problem), "\(error)") }
  }
}
