import Foundation
import TestSupport
import Testing

/// Vehicles managed through `odograph serve`: a real broker, a real `odographd`, and a sleeping vehicle.
@Suite(.serialized) struct ServeControlTests {
  private static let van = "/api/v1/vehicles/test/van"

  private static func point(_ name: String, _ latitude: Double = 48.1) -> String {
    #"{"type":"Feature","id":"\#(name)","geometry":{"type":"Point","coordinates":[11.5,\#(latitude)]},"#
      + #""properties":{"radius":200}}"#
  }

  private static func collection(_ features: String...) -> String {
    #"{"type":"FeatureCollection","features":[\#(features.joined(separator: ","))]}"#
  }

  /// Regions, settings and commands reach the agent, and its responses are returned.
  @Test(.timeLimit(.minutes(6))) func agentIsManaged() async throws {
    let (broker, directory) = (try BrokerFixture(), try TemporaryDirectory())
    let agent = try ManagedAgent(broker, remote: "enabled = true", directory: directory)
    defer { agent.child.terminate() }
    let server = try ServeProcess(broker)
    defer { server.child.terminate() }
    func settled(_ path: String, _ isSettled: @escaping @Sendable ([String: Any]) -> Bool) async throws
      -> [String: Any]
    {
      var last: [String: Any] = [:]
      for _ in 0..<600 {
        last = try await server.get(Self.van + path).json
        if isSettled(last) { return last }
        try await Task.sleep(for: .milliseconds(100))
      }
      Issue.record("\(last)\n\(agent.log)\n\(server.child.output)")
      return last
    }
    _ = try await settled("") { $0["state"] as? String == "online" }

    // Regions.
    let put = try await server.ask(
      "PUT", Self.van + "/regions", Self.collection(Self.point("depot"), Self.point("yard")),
      type: "application/geo+json")
    #expect(put.status == 202 && put.list("vehicles").first?["state"] as? String == "sent", "\(put.text)")
    let request = put.json["request"] as? String
    let regions = try await settled("/regions") { $0["state"] as? String == "applied" }
    #expect(regions["request"] as? String == request)
    #expect(regions["accepted"] as? [String] == ["depot", "yard"])
    let added = try await server.ask(
      "PUT", "/api/v1/regions",
      #"{"vehicles":["test/van"],"features":[\#(Self.point("stop"))],"add":true}"#)
    #expect(added.status == 202, "\(added.text)")
    _ = try await settled("/regions") { ($0["accepted"] as? [String])?.count == 3 }
    let all = try await server.get("/api/v1/regions").list("regions")
    #expect(all.compactMap { $0["region"] as? String } == ["depot", "stop", "yard"])
    let wrong = try await server.ask(
      "PUT", Self.van + "/regions", Self.collection(Self.point("moon", 98)), type: "application/geo+json")
    #expect(wrong.status == 422 && wrong.text.contains("feature 1"), "\(wrong.text)")

    // Settings.
    let patch = try await server.ask(
      "PATCH", Self.van + "/settings", #"{"settings":{"location.distance_filter":25},"label":"spring"}"#)
    #expect(patch.status == 202 && patch.json["request"] as? String == "spring", "\(patch.text)")
    let settings = try await settled("/settings") { $0["state"] as? String == "applied" }
    #expect((settings["reported"] as? [String: Any])?["location.distance_filter"] as? Int == 25)
    let refused = try await server.ask(
      "PATCH", Self.van + "/settings", #"{"settings":{"location.distance_filter":-1}}"#)
    #expect(refused.status == 422 && refused.text.contains("0 to 1000000"), "\(refused.text)")
    let back = try await server.ask(
      "PATCH", Self.van + "/settings", #"{"settings":{"location.distance_filter":null}}"#)
    #expect(back.status == 202)
    _ = try await settled("/settings") { ($0["reported"] as? [String: Any])?.isEmpty == true }

    // Commands: concurrent requests get their own responses.
    let answers = try await withThrowingTaskGroup(of: (String, ServeProcess.Answer).self) { group in
      for name in ["status", "region-state", "status", "region-state"] {
        group.addTask {
          (
            name,
            try await server.ask("POST", Self.van + "/commands", #"{"command":"\#(name)","timeout":30}"#)
          )
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    for (name, answer) in answers {
      let own = answer.list("answers").first
      #expect(answer.status == 200 && own?["command"] as? String == name, "\(answer.text)")
      #expect(own?["state"] as? String == "done" && own?["by"] as? String != nil)
    }
    let log = try await server.get(Self.van + "/commands").list("answers")
    #expect(log.count == 4 && Set(log.compactMap { $0["request"] as? String }).count == 4)
    #expect(server.child.output.contains("status"), "\(server.child.output)")
  }

  /// A command to a sleeping vehicle waits for it. A command to a vehicle that does not respond fails after the timeout.
  @Test(.timeLimit(.minutes(4))) func sleepingAndSilentVehicles() async throws {
    let broker = try BrokerFixture()
    func status(_ name: String, _ state: String, _ seq: Int) async throws {
      try await publish(
        broker, "odograph/v1/test/\(name)/status",
        FleetPayload.status(state, session: FleetPayload.time(-60), seq: seq), retain: true)
    }
    try await status("van", "asleep", 1)
    try await status("ghost", "online", 1)
    let server = try ServeProcess(broker)
    defer { server.child.terminate() }
    func command(_ name: String) async throws -> ServeProcess.Answer {
      try await server.ask(
        "POST", "/api/v1/vehicles/test/\(name)/commands", #"{"command":"locate","timeout":1}"#)
    }
    var asleep = try await command("van")
    for _ in 0..<300 where asleep.status == 404 || asleep.status == 503 {
      try await Task.sleep(for: .milliseconds(100))
      asleep = try await command("van")
    }
    let waiting = asleep.list("answers").first
    #expect(asleep.status == 202 && waiting?["state"] as? String == "waiting", "\(asleep.text)")
    let silent = try await command("ghost")
    #expect(silent.status == 504 && silent.text.contains("did not answer within 1 s"), "\(silent.text)")
    // The vehicle wakes up and responds with the request's ID on its default topic.
    let id = try #require(waiting?["request"] as? String)
    try await publish(
      broker, "odograph/v1/test/van/command/locate/response",
      #"{"command":"locate","id":"\#(id)","time":"\#(FleetPayload.time())","state":"done","result":{"latitude":48.1}}"#
    )
    var last: [String: Any]?
    for _ in 0..<300 {
      last = try await server.get("/api/v1/vehicles/test/van/commands").list("answers").first
      if last?["state"] as? String == "done" { break }
      try await Task.sleep(for: .milliseconds(100))
    }
    #expect(last?["state"] as? String == "done" && last?["request"] as? String == id)
  }
}
