import Foundation
import Positioning
import Sensors
import Simulation
import Spatial
import Telemetry
import Testing

@testable import AgentCore
@testable import Pipeline

/// What `odographd check` estimates: the profiles' own words, and what is repeated instead of simulated.
@Suite struct DayEstimateTests {
  static let profiles = ["car", "truck", "asset-tracker", "person", "test-bench"]
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
    let lines = try DayEstimate(Self.configuration(profile), drivingHours: hours).lines
    let comment = text.split(separator: "\n").prefix { $0.hasPrefix("#") }
      .map { $0.dropFirst(4) }.filter { line in
        line.hasPrefix("a day with") || line.hasPrefix("  ")
      }.map(String.init)
    #expect(comment == lines, "write:\n\(lines.map { "#   \($0)" }.joined(separator: "\n"))")
  }

  private static func use(_ profile: String, _ settings: [String] = [], hours: Double) throws
    -> SimulatedDay.Use
  {
    try SimulatedDay.use(configuration(profile, settings), drivingHours: hours)
  }

  @Test func aRadioThatIsNeverAskedSleeps() throws {
    let rare = try Self.use("asset-tracker", ["mqtt.burst_interval=86400"], hours: 0)
    let often = try Self.use("asset-tracker", hours: 0)
    #expect(try #require(rare.joules[.radio]) * 20 < (try #require(often.joules[.radio])))
    // Every hour a burst, each with a status at its beginning and one at its end.
    #expect(try #require(often.messages["status"]) > 20 * (try #require(rare.messages["status"])) / 3)
  }

  @Test func moreOnTheWayCostsMoreAndTheHoursAreThoseOfADay() throws {
    let (one, three) = (try Self.use("person", hours: 1), try Self.use("person", hours: 3))
    #expect(three.total > one.total)
    #expect(three.bytes > one.bytes)
    let (none, less) = (try Self.use("person", hours: 0), try Self.use("person", hours: -5))
    #expect(none.joules == less.joules && none.messages == less.messages)
  }

  /// The whole of a day driven and parked sample by sample, at the configured rates, uses what its laps and its settled rest
  /// say that it uses.
  @Test(arguments: ["car", "asset-tracker"]) func aRepeatedLapIsAsGoodAsAnotherOne(profile: String) throws {
    let configuration = try Self.configuration(profile)
    var stretch = try SimulatedStretch(configuration, .drive)
    let lap = stretch.lapDuration
    let (first, second) = (stretch.advance(to: lap), stretch.advance(to: 2 * lap))
    let fourth = stretch.advance(to: 4 * lap)
    let guess = second.repeating(since: first, 2)
    #expect(abs(guess.total / fourth.total - 1) < 0.1)
    #expect(abs(guess.bytes / fourth.bytes - 1) < 0.2)

    var parked = try SimulatedStretch(configuration, .parked)
    let settled = parked.advance(to: 600)
    var silent = parked
    silent.silenceInertialSensors()
    let (heard, unheard) = (parked.advance(to: 1500), silent.advance(to: 1500))
    for (component, joules) in heard.joules {
      #expect(abs((unheard.joules[component] ?? 0) - joules) <= 0.02 * joules + 0.5, "\(component)")
    }
    #expect(heard.bytes >= settled.bytes && abs(unheard.bytes / heard.bytes - 1) < 0.1)
  }
}

extension SimulatedDay.Use {
  /// Joules.
  fileprivate var total: Double { joules.values.reduce(0, +) }
}
