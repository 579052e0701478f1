import Foundation
import Simulation
import TestSupport
import Testing

/// Replays recordings with impossible positions through the agent, whose receiver sleeps at rest.
@Suite(.timeLimit(.minutes(3))) struct SuspectPositionTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func report(_ second: Int, _ latitude: Double, _ longitude: Double, speed: Double) -> String {
    let time = Date(timeIntervalSince1970: 1_795_248_000 + Double(second)).ISO8601Format()
    let place = String(format: #""lat":%.8f,"lon":%.8f"#, latitude, longitude)
    return #"{"class":"TPV","device":"/dev/ttyS0","mode":3,"time":"\#(time)",\#(place),"altMSL":500.0,"#
      + #""speed":\#(speed),"track":90.0,"eph":3.0}"# + "\n"
  }

  private func run(_ reports: [String], _ settings: [String: String] = [:]) throws -> [Message] {
    let path = try directory.write("reports.json", reports.joined())
    let replay = [
      "input.mode": "replay", "input.speed": "0", "replay.position": path, "location.reporting": "distance",
    ]
    let agent = try AgentProcess(
      replay.merging(settings) { $1 }, print: true, directory: directory,
      environment: ["STATE_DIRECTORY": directory.path, "RUNTIME_DIRECTORY": directory.path])
    #expect(agent.child.waitForExit() == 0, "\(agent.log)")
    return agent.messages
  }

  /// A vehicle parked in a region. Single fixes are 60 to 95 m away, in every phase of the receiver's sleep.
  @Test func outliersOfAParkedVehicleReportNothing() throws {
    var random = SeededGenerator.announced()
    let regions = try directory.write(
      "office.geojson",
      #"{"type":"FeatureCollection","features":[{"type":"Feature","id":"office","properties":{"radius":50},"#
        + #""geometry":{"type":"Point","coordinates":[11.5,48.1]}}]}"#)
    let reports = (0..<2400).map { second -> String in
      let isOutlier = second > 20 && second % 7 == 5
      let north = isOutlier ? 60 + 35 * random.nextUniform() : random.nextNormal()
      return report(second, 48.1 + north / 111_200, 11.5, speed: 0.05)
    }
    let messages = try run(reports, ["regions.path": regions])
    let events = messages.filter { $0.topic.hasSuffix("/location/event") }.compactMap {
      $0.payload["event"] as? String
    }
    #expect(events == ["paused"])
    #expect(messages.filter { $0.topic.hasSuffix("/region") }.isEmpty)
    #expect(
      messages.filter { $0.kind == "location" }.allSatisfy { abs(($0.latitude ?? 0) - 48.1) < 20 / 111_200 })
  }

  @Test func positionsAtNullIslandAreIgnored() throws {
    let reports = (0..<200).map { second in
      second < 25
        ? report(second, 0, 0, speed: 0)
        : report(second, 48.1, 11.5 + 10 * Double(second) / 74_300, speed: 10)
    }
    let messages = try run(reports)
    #expect(messages.contains { $0.kind == "trip" } && messages.contains { $0.kind == "location" })
    for message in messages where message.kind == "location" || message.kind == "trip" {
      let text = "\(message.payload)"
      #expect(!text.contains("latitude = 0;") && !text.contains("\"latitude\": 0"), "\(text)")
    }
  }

  /// Three fixes 5.5 km or 111 km away are not published; thirteen are published as suspect.
  @Test(arguments: [(3, 0.05), (3, 1), (13, 1)]) func fixesThatContradictTheirVelocity(
    count: Int, degrees: Double
  ) throws {
    let reports = (0..<120).map { second in
      report(
        second, 48.1 + ((40..<(40 + count)).contains(second) ? degrees : 0),
        11.5 + 10 * Double(second) / 74_300,
        speed: 10)
    }
    let messages = try run(reports)
    let far = messages.filter { $0.kind == "location" && ($0.latitude ?? 0) > 48.12 }
    #expect(far.isEmpty == (count == 3))
    #expect(far.allSatisfy { $0.payload["suspect"] as? String == "jump" })
    #expect(far.allSatisfy { ($0.payload["horizontalAccuracy"] as? Double ?? 0) > 100_000 })
    let events = messages.filter { $0.topic.hasSuffix("/location/event") }.compactMap {
      $0.payload["event"] as? String
    }
    #expect(events == (count == 3 ? [] : ["suspect", "plausible"]))
  }
}
