import Foundation
import Positioning
import Recordings
import Sensors
import Spatial
import Telemetry
import Testing

@testable import AgentCore

/// What `odographd check` estimates, held against measurements, the profiles' own words and a simulated day.
@Suite struct DayEstimateTests {
  static let profiles = ["car", "truck", "asset-tracker", "person", "test-bench"]
  /// How far the estimate may be off a simulated day, either way.
  static let factor = 2.0

  private static func text(_ profile: String) throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    return try String(
      contentsOf: root.appending(path: "Config/profiles/\(profile).toml"), encoding: .utf8)
  }

  private static func configuration(_ profile: String, _ settings: [String] = []) throws -> AgentConfiguration
  {
    try AgentConfiguration(
      layers: [
        ConfigurationLayer(assignments: settings), ConfigurationLayer(toml: text(profile), name: profile),
      ], file: nil)
  }

  /// The hours that the head comment's command names.
  private static func hours(_ profile: String) throws -> Double {
    let words = try text(profile).split(separator: " ")
    let index = try #require(words.firstIndex(of: "--driving-hours"))
    return try #require(Double(words[index + 1]))
  }

  @Test(arguments: profiles) func theHeadCommentIsWhatTheCheckPrints(profile: String) throws {
    let text = try Self.text(profile)
    let hours = try Self.hours(profile)
    #expect(text.contains("odographd check --estimate --driving-hours"))
    let lines = DayEstimate.lines(try Self.configuration(profile), drivingHours: hours)
    let comment = text.split(separator: "\n").prefix { $0.hasPrefix("#") }
      .map { $0.dropFirst(4) }.filter { line in
        line.hasPrefix("a day with") || line.hasPrefix("  ")
      }.map(String.init)
    #expect(comment == lines, "write:\n\(lines.map { "#   \($0)" }.joined(separator: "\n"))")
  }

  /// Reports an hour on nine recorded drives, by a distance filter.
  @Test(arguments: [(20, 1810), (50, 819), (75, 566), (100, 433)] as [(Double, Double)])
  func distanceFiltersAsMeasured(filter: Double, perHour: Double) throws {
    var settings = try Self.configuration("car").location
    settings.policy = .distance(filter)
    #expect(abs(ReportRate.moving(settings) * 3600 / perHour - 1) < 0.1)
  }

  /// Reports on two recorded drives of 2848 s, by the bounded policy.
  @Test(
    arguments: [
      (10, 0, 285), (10, 5, 168), (10, 10, 139), (20, 0, 209), (20, 5, 137), (20, 10, 104), (50, 0, 115),
      (50, 5, 94), (50, 10, 79),
    ] as [(Double, Double, Double)])
  func boundedReportsAsMeasured(error: Double, delay: Double, reports: Double) throws {
    var settings = try Self.configuration("car").location
    settings.policy = .bounded(error: error, delay: delay)
    #expect(abs(ReportRate.moving(settings) * 2848 - reports) < 0.001)
  }

  @Test func aRadioThatIsNeverAskedSleeps() throws {
    let configuration = try Self.configuration("asset-tracker", ["mqtt.burst_interval=86400"])
    let frequent = try Self.configuration("asset-tracker")
    let (a, b) = (
      DayEstimate(configuration, drivingHours: 0), DayEstimate(frequent, drivingHours: 0)
    )
    #expect(try #require(a.energy[.radio]) * 20 < (try #require(b.energy[.radio])))
    // More on the way costs more.
    let car = try Self.configuration("car")
    #expect(DayEstimate(car, drivingHours: 8).joules > DayEstimate(car, drivingHours: 1).joules)
    #expect(DayEstimate(car, drivingHours: -5).joules == DayEstimate(car, drivingHours: 0).joules)
  }

  // MARK: A simulated day

  /// What a part of a simulated day used.
  private struct Use {
    /// Joules of receiver and sensors.
    var joules = 0.0
    /// Bytes of messages.
    var bytes = 0.0
  }

  /// Nobody walks in the simulation: it takes the person along in a car.
  private static func settings(_ profile: String) -> [String] {
    profile == "person" ? ["location.activity=automotive"] : []
  }

  /// Runs the agent's pipeline over a simulation, with its sensors as it demands them; counts from `start` on, per second.
  private static func simulate(
    _ profile: String, _ scenario: String, from start: Double, to end: Double
  ) throws -> Use {
    let configuration = try configuration(
      profile,
      settings(profile) + [
        "input.mode=simulation", "input.speed=0", "simulation.scenario=\(scenario)",
        "simulation.duration=\(end)", "simulation.start=2026-11-21T00:00:00Z",
      ])
    guard case .recorded(var recording) = try SensorFeed(configuration) else {
      throw RecordingError(file: scenario, problem: "is not played as a recording", remedy: "")
    }
    var pipeline = AgentPipeline(
      configuration: configuration, start: Timestamp(nanoseconds: 0),
      time: try #require(UTCTime(rfc3339: "2026-11-21T00:00:00Z")), version: "1")
    var use = Use()
    var asleep = DemandFilter()
    for kind in recording.kinds { recording.setDemand(pipeline.fullDemands[kind] ?? .off, for: kind) }
    pipeline.process(
      .status(
        SourceStatus(
          timestamp: Timestamp(nanoseconds: 0), source: "simulation", kinds: recording.kinds,
          state: .active(rates: [:])))
    ) { _ in }
    func joules(at seconds: Double) -> Double {
      pipeline.power.accounts(at: Timestamp(seconds: seconds)).values.reduce(0) { $0 + $1.joules }
    }
    var before: Double?
    while let event = try recording.next() {
      guard let time = event.timestamp else { continue }
      if time.seconds >= start, before == nil { before = joules(at: start) }
      pipeline.planPower(at: time)
      if let changed = pipeline.takeChangedDemands() {
        for kind in SensorKind.allCases { asleep.setDemand(changed[kind] ?? .off, for: kind) }
      }
      guard let rest = asleep.admit(event) else { continue }
      pipeline.process(rest) { draft in
        guard time.seconds >= start, draft.kind != .status || configuration.statusInterval < 600 else {
          return
        }
        use.bytes +=
          Double(draft.encode(identity: MessageIdentity(epoch: "0123456789", seq: 12_345)).count)
          + DayEstimate.overhead
      }
    }
    use.joules = (joules(at: end) - (before ?? 0)) / (end - start)
    use.bytes /= end - start
    return use
  }

  @Test(.timeLimit(.minutes(10)), arguments: profiles) func aSimulatedDayAgrees(profile: String) throws {
    let driving = try Self.simulate(profile, "drive", from: 0, to: 900)
    let parked = try Self.simulate(profile, "parked", from: 600, to: 1200)
    let hours = try Self.hours(profile)
    let (way, rest) = (hours * 3600, (24 - hours) * 3600)
    var estimate = DayEstimate(
      try Self.configuration(profile, Self.settings(profile)), drivingHours: hours)
    // What comes once in hours says nothing in minutes; how often it comes is set.
    if try Self.configuration(profile).statusInterval >= 600 { estimate.messages["status"] = nil }
    let sensors = estimate.energy.filter { $0.key != .radio && $0.key != .processor }.values.reduce(0, +)
    let joules = driving.joules * way + parked.joules * rest
    let bytes = driving.bytes * way + parked.bytes * rest
    print(
      "\(profile): sensors estimated \(sensors) J, simulated \(joules) J; "
        + "messages estimated \(estimate.bytes - estimate.linkBytes) bytes, simulated \(bytes)")
    #expect(joules <= sensors * Self.factor && sensors <= joules * Self.factor)
    let messages = estimate.bytes - estimate.linkBytes
    #expect(bytes <= messages * Self.factor && messages <= bytes * Self.factor)
  }
}
