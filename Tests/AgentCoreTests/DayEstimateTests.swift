import Foundation
import Pipeline
import Positioning
import Sensors
import Settings
import Simulation
import Spatial
import Telemetry
import TestSupport
import Testing

@testable import AgentCore

/// `odographd check --estimate`: agreement with the comments of the presets, and extrapolation of repeated sections.
@Suite struct DayEstimateTests {
  private static func configuration(_ preset: Preset, _ settings: [String] = []) throws -> AgentConfiguration
  {
    try AgentConfiguration(settings: ["vehicle.id=v", "preset=\(preset.rawValue)"] + settings)
  }

  /// Hours of driving in the command of the head comment.
  private static func hours(_ preset: Preset) throws -> Double {
    let words = preset.text.split(separator: " ")
    let index = try #require(words.firstIndex(of: "--driving-hours"))
    return try #require(Double(words[index + 1]))
  }

  @Test(arguments: Preset.allCases) func presetHeadCommentsMatchTheEstimate(preset: Preset) throws {
    let text = preset.text
    let hours = try Self.hours(preset)
    #expect(text.contains("--set preset=\(preset.rawValue) --set vehicle.id="))
    #expect(text.contains("odographd check --estimate --driving-hours"))
    let lines = try DayEstimate(Self.configuration(preset), drivingHours: hours).lines
    let comment = text.split(separator: "\n").prefix { $0.hasPrefix("#") }
      .map { $0.dropFirst(4) }.filter { line in
        line.hasPrefix("a day with") || line.hasPrefix("  ")
      }.map(String.init)
    #expect(comment == lines, "write:\n\(lines.map { "#   \($0)" }.joined(separator: "\n"))")
  }

  /// Without settings, the estimate is that of a car, not of a test bench.
  @Test func defaultsUseLittleDataAndEnergy() throws {
    let plain = try AgentConfiguration(settings: ["vehicle.id=v"])
    #expect(try plain == Self.configuration(.car))
    let day = try SimulatedDay.use(plain, drivingHours: 2)
    #expect(day.bytes < 1_200_000 && day.total < 10_000, "\(day.bytes) bytes, \(day.total) J")
    let bench = try Self.use(.testBench, ["energy.radio_mw=1060", "energy.radio_tail=11.6"], hours: 2)
    #expect(bench.bytes > 10 * day.bytes && bench.total > 5 * day.total)
  }

  private static func use(
    _ preset: Preset, _ settings: [String] = [], hours: Double
  ) throws -> SimulatedDay.Use {
    try SimulatedDay.use(configuration(preset, settings), drivingHours: hours)
  }

  @Test func theEstimateStatesThatRegionsAreNotSimulated() throws {
    let note = "  regions are not simulated: near their boundaries the receiver uses more energy"
    for (settings, isNoted) in [([], false), (["regions.path=/etc/odographd/regions.geojson"], true)] {
      let lines = try DayEstimate(Self.configuration(.assetTracker, settings), drivingHours: 0).lines
      #expect(lines.contains(note) == isNoted)
    }
  }

  /// Positions in cells of a kilometre are not accurate to 20 m.
  @Test(arguments: [
    (
      ["privacy.accuracy=1000"], "860 m: positions are the centres of cells of 1000 m",
      "within 860 m + 1 s of driving"
    ),
    (
      ["location.desired_accuracy=reduced"],
      "4300 m: positions are the centres of cells of 5000 m; plus 3600 m", "within 4300 m + "
    ),
    (
      ["privacy.accuracy=1000", "location.reporting=distance", "location.distance_filter=50"],
      "50 m; plus 860 m: positions are the centres of cells of 1000 m", "within 910 m + 1 s of driving"
    ),
    (["privacy.accuracy=0"], "20 m from the position 5 s ago", "within 70 m + 2 s of driving"),
  ])
  func theErrorIncludesPrivacy(settings: [String], error: String, plain: String) throws {
    let lines = try DayEstimate(Self.configuration(.car, settings), drivingHours: 0).lines
    #expect(lines.contains("  error   \(error)"), "\(lines)")
    #expect(lines.contains { $0.hasPrefix("  last position shown without prediction (native): \(plain)") })
  }

  @Test(
    arguments: [
      (Preset.person, [], false), (.person, ["trips.enabled=true"], true), (.car, [], false),
      (.car, ["location.activity=pedestrian"], true),
    ] as [(Preset, [String], Bool)])
  func tripsOfAPersonAreReported(preset: Preset, settings: [String], isReported: Bool) throws {
    let findings = EnvironmentCheck.tripFindings(try Self.configuration(preset, settings).pipeline)
    #expect(findings.map(\.subject) == (isReported ? ["trips.enabled"] : []))
  }

  /// Presets and settings that let the receiver sleep at rest require an accelerometer.
  @Test(
    arguments: [
      (Preset.assetTracker, [], true), (.person, [], true), (.car, [], false), (.truck, [], false),
      (.car, ["location.desired_accuracy=hundredMeters"], true),
      (.assetTracker, ["location.enabled=false"], false),
    ] as [(Preset, [String], Bool)])
  func aMissingAccelerometerIsReported(preset: Preset, settings: [String], isReported: Bool) throws {
    let location = try Self.configuration(preset, settings).pipeline.location
    let findings = EnvironmentCheck.restFindings(location, present: [.positioning])
    #expect(findings.map(\.subject) == (isReported ? ["location.desired_accuracy"] : []))
    #expect(findings.allSatisfy { $0.severity == .warning && $0.remedy?.contains("accelerometer") == true })
    #expect(EnvironmentCheck.restFindings(location, present: [.accelerometer, .positioning]).isEmpty)
  }

  @Test func unusedRadioSleeps() throws {
    let rare = try Self.use(.assetTracker, ["mqtt.burst_interval=86400"], hours: 0)
    let often = try Self.use(.assetTracker, hours: 0)
    // One burst at the start of the day and one at its end.
    #expect(try #require(rare.joules[.radio]) * 10 < (try #require(often.joules[.radio])))
    // A burst every hour, each with a status at its end. Only the first burst also has one at its start.
    let (few, many) = (try #require(rare.counts["status"]), try #require(often.counts["status"]))
    #expect((2...3).contains(few) && (24...27).contains(many), "\(few) \(many)")
  }

  @Test func longerDrivingCostsMoreAndHoursSumToADay() throws {
    let (one, three) = (try Self.use(.person, hours: 1), try Self.use(.person, hours: 3))
    #expect(three.total > one.total)
    #expect(three.bytes > one.bytes)
    let (none, less) = (try Self.use(.person, hours: 0), try Self.use(.person, hours: -5))
    #expect(none.joules == less.joules && none.messages == less.messages)
  }

  /// The extrapolation of repeated laps agrees with the agent's ledger of the complete drive within 3 %.
  @Test(arguments: Shared.isFullRun ? Preset.allCases : [.car, .assetTracker])
  func drivingEstimateMatchesTheLedger(preset: Preset) throws {
    let configuration = try Self.configuration(preset)
    let seconds = try Self.hours(preset) * 3600
    let estimate = try SimulatedDay.driving(configuration, seconds: seconds)
    let ledger = try SimulatedStretch(configuration, .drive).advance(to: seconds)
    func check(_ name: String, _ estimated: Double, _ booked: Double) {
      let error = 100 * (estimated / booked - 1)
      print("\(preset), \(seconds) s on the way: \(name) \(estimated), ledger \(booked): \(error) %")
      #expect(abs(error) <= 3, "\(name)")
    }
    check("joules", estimate.total, ledger.total)
    check("bytes", estimate.bytes, ledger.bytes)
    check("messages", estimate.messageCount, ledger.messageCount)
  }

  /// Repetition at rest need not be simulated: consumption is extrapolated.
  @Test(arguments: [Preset.car, .assetTracker]) func longRestNeedsNoSamples(preset: Preset) throws {
    let configuration = try Self.configuration(preset)
    let parked = try SimulatedStretch(configuration, .parked)
    let settled = try parked.advance(to: 600)
    let silent = try SimulatedStretch(configuration, .parked, silentFrom: 600)
    #expect(try silent.advance(to: 600).bytes == settled.bytes)
    let (heard, unheard) = (try parked.advance(to: 1500), try silent.advance(to: 1500))
    for (component, joules) in heard.joules {
      #expect(abs((unheard.joules[component] ?? 0) - joules) <= 0.02 * joules + 0.5, "\(component)")
    }
    #expect(heard.bytes >= settled.bytes && abs(unheard.bytes / heard.bytes - 1) < 0.1)
  }
}

extension SimulatedDay.Use {
  /// Energy in joules.
  fileprivate var total: Double { joules.values.reduce(0, +) }
  fileprivate var messageCount: Double { counts.values.reduce(0, +) }
}
