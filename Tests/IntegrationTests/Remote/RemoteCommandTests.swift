import Foundation
import MQTT
import TestSupport
import Testing

/// Commands to the agent through a real broker.
@Suite(.serialized) struct RemoteCommandTests {
  @Test(.timeLimit(.minutes(4))) func commandsAreAnsweredOnTheResponseTopic() throws {
    let (broker, directory) = (try BrokerFixture(), try TemporaryDirectory())
    let controller = try Operator(broker)
    let agent = try ManagedAgent(broker, remote: "enabled = true", directory: directory)
    #expect(
      waitUntil(atMost: 90) { controller.received(Operator.vehicle + "location").count > 20 }, "\(agent.log)")

    let locate = controller.command("locate", #"{"id":"first"}"#)
    #expect(locate?["state"] as? String == "done" && locate?["id"] as? String == "first", "\(agent.log)")
    let result = locate?["result"] as? [String: Any]
    #expect(result?["fresh"] as? Bool == true)
    #expect((result?["location"] as? [String: Any])?["latitude"] is Double)

    let status = controller.command("status")?["result"] as? [String: Any]
    #expect(status?["state"] as? String == "online" && status?["uptime"] is Double)

    let track = controller.command("track", #"{"from":"2020-01-01T00:00:00Z"}"#)
    let sent = track?["result"] as? [String: Any]
    #expect(sent?["fixes"] as? Int ?? 0 >= 20 && sent?["messages"] as? Int == 1, "\(track ?? [:])")
    #expect(waitUntil(atMost: 60) { !controller.received(Operator.vehicle + "track").isEmpty })
    let message = controller.received(Operator.vehicle + "track").last?.json
    #expect(message?["count"] as? Int == sent?["fixes"] as? Int && message?["seq"] is Int)

    // The result depends on whether the vehicle is at rest: a tilt, or a problem with a remedy.
    let level = try #require(controller.command("level"))
    let tilt = ((level["result"] as? [String: Any])?["level"] as? [String: Any])?["tilt"] as? Double
    #expect((level["state"] as? String == "done") == (tilt != nil), "\(level)")
    if tilt == nil { #expect(problem(of: level).contains(";"), "\(level)") }
    #expect(controller.command("level", #"{"clear":true}"#)?["state"] as? String == "done")

    for (name, arguments, expected) in [
      ("dance", "", "unknown command"), ("track", "", "key \"from\": missing"),
      ("track", #"{"from":"yesterday"}"#, "key \"from\": not an RFC 3339"), ("locate", "[", "line 1"),
      ("locate", #"{"timeout":-1}"#, "key \"timeout\""),
      (
        "locate", #"{"id":"\#(String(repeating: "é", count: 33))"}"#,
        "key \"id\": not a text of at most 64 bytes"
      ), ("status", "[]", "not a JSON object"),
      ("locate", String(repeating: " ", count: 100_000), "more than 65536"),
    ] {
      let answer = controller.command(name, arguments)
      #expect(answer?["state"] as? String == "refused", "\(name) \(arguments.prefix(40))")
      #expect(problem(of: answer).contains(expected), "\(answer ?? [:])")
    }

    let file = directory.file("agent.toml")
    let text = try String(contentsOfFile: file, encoding: .utf8)
    try directory.write(
      "agent.toml", text.replacing("rate = 20", with: "rate = 25") + "\n[log]\nlevel = \"debug\"\n")
    let reload = controller.command("reload")?["result"] as? [String: Any]
    #expect(
      reload?["changed"] as? [String] == ["iio.rate"] && reload?["needsRestart"] as? [String] == ["log.level"]
    )
    // Stored positions that have become private are not published again, and the retained one is deleted.
    #expect(controller.deletions(Operator.vehicle + "location") == 0)
    try directory.write("agent.toml", text.replacing("[location]", with: "[location]\nenabled = false"))
    #expect(controller.command("reload")?["state"] as? String == "done")
    let hidden = controller.command("track", #"{"from":"2020-01-01T00:00:00Z"}"#)?["result"] as? [String: Any]
    #expect(hidden?["fixes"] as? Int == 0 && hidden?["messages"] as? Int == 0, "\(hidden ?? [:])")
    #expect(
      waitUntil(atMost: 60) { controller.deletions(Operator.vehicle + "location") == 1 }, "\(agent.log)")
    let count = controller.received(Operator.vehicle + "location").count
    let nowhere = controller.command("locate", #"{"timeout":1}"#)
    #expect(problem(of: nowhere).contains("locations are disabled"), "\(nowhere ?? [:])")
    try directory.write("agent.toml", text)
    #expect(controller.command("reload")?["state"] as? String == "done")

    #expect(
      waitUntil(atMost: 60) { controller.received(Operator.vehicle + "location").count > count },
      "\(agent.log)")
    // Looser settings delete nothing.
    #expect(controller.deletions(Operator.vehicle + "location") == 1)

    try directory.write("agent.toml", "[vehicle")
    let broken = controller.command("reload")
    #expect(broken?["state"] as? String == "failed")
    #expect(problem(of: broken).contains("agent.toml:1:9: not TOML"))
    #expect(controller.command("locate")?["state"] as? String == "done")
    agent.child.terminate()
  }

  @Test(.timeLimit(.minutes(3))) func responseTopicsAreRestricted() throws {
    let (broker, directory) = (try BrokerFixture(), try TemporaryDirectory())
    let controller = try Operator(broker)
    let agent = try ManagedAgent(
      broker, remote: "enabled = true\nresponse_topics = [\"answers/+/in\"]", directory: directory)
    #expect(waitUntil(atMost: 90) { controller.state == "online" }, "\(agent.log)")
    let own = Operator.vehicle + "command/zero/response"
    for (wanted, place) in [
      ("answers/backend/in", nil), (own, nil), (own + "/session/7", nil), ("answers/backend", own),
      ("odograph/v1/test/other/command/locate", own), (Operator.vehicle + "status", own),
      (Operator.vehicle + "command/zero", own),
    ] as [(String, String?)] {
      let answer = controller.command("zero", #"{"clear":true}"#, topic: wanted, place: place)
      #expect(answer?["state"] as? String == "done", "\(wanted): \(agent.log)")
      #expect(agent.log.contains("topic=\(wanted)") == (place != nil), "\(agent.log)")
    }
    agent.child.terminate()
  }

  @Test(.timeLimit(.minutes(3))) func defaultResponseTopicIsBelowTheCommand() throws {
    let (broker, directory) = (try BrokerFixture(), try TemporaryDirectory())
    let controller = try Operator(broker, version: .v311)
    let agent = try ManagedAgent(broker, remote: "enabled = true", directory: directory, version: "3.1.1")
    #expect(waitUntil(atMost: 60) { controller.state == "online" }, "\(agent.log)")
    controller.send("command/locate", #"{"id":"7"}"#)
    let topic = Operator.vehicle + "command/locate/response"
    #expect(waitUntil(atMost: 60) { !controller.received(topic).isEmpty }, "\(agent.log)")
    #expect(controller.received(topic).first?.json["id"] as? String == "7")
    // A retained command may be old and is not executed again.
    controller.send("command/locate", #"{"id":"8"}"#, retain: true)
    waitUntil(atMost: 60) { controller.received(topic).count > 1 }
    agent.child.terminate()
    let again = try ManagedAgent(broker, remote: "enabled = true", directory: directory, version: "3.1.1")
    controller.send("command/locate", #"{"id":"9"}"#)
    #expect(
      waitUntil(atMost: 60) {
        controller.send("command/locate", #"{"id":"9"}"#)
        return controller.received(topic).last?.json["id"] as? String == "9"
      }, "\(again.log)")
    #expect(controller.received(topic).count { $0.json["id"] as? String == "8" } == 1)
    again.child.terminate()
  }

  @Test(.timeLimit(.minutes(3))) func ownTracksCommandsAreAnswered() throws {
    let (broker, directory) = (try BrokerFixture(), try TemporaryDirectory())
    let controller = try Operator(broker)
    let lines = directory.file("owntracks")
    let reader = try ChildProcess(
      "mosquitto_sub",
      [
        "-p", "\(broker.port)", "-q", "1", "-t", "owntracks/#", "-F",
        #"{"topic":"%t","qos":%q,"retain":%r,"payload":%p}"#,
      ],
      output: lines)
    let agent = try ManagedAgent(
      broker, remote: "enabled = true", directory: directory, profile: #"["native", "owntracks"]"#)
    func count(_ text: String) -> Int {
      ((try? String(contentsOfFile: lines, encoding: .utf8)) ?? "").components(separatedBy: text).count - 1
    }
    #expect(
      waitUntil(atMost: 90) { count(#""_type":"location""#) > 3 && controller.state == "online" },
      "\(agent.log)")
    for (command, text) in [
      (#"{"_type":"cmd","action":"reportLocation"}"#, #""t":"r""#),
      (#"{"_type":"cmd","action":"status"}"#, #""_type":"status""#),
      (#"{"_type":"cmd","action":"dump"}"#, #""_type":"dump""#),
    ] {
      _ = try ChildProcess(
        "mosquitto_pub", ["-p", "\(broker.port)", "-q", "1", "-t", "owntracks/test/van/cmd", "-m", command]
      ).waitForExit()
      #expect(waitUntil(atMost: 60) { count(text) > 0 }, "\(command) \(agent.log)")
    }
    let set =
      #"{"_type":"cmd","action":"setConfiguration","configuration":{"_type":"configuration","locatorDisplacement":500}}"#
    _ = try ChildProcess(
      "mosquitto_pub", ["-p", "\(broker.port)", "-q", "1", "-t", "owntracks/test/van/cmd", "-m", set]
    ).waitForExit()
    #expect(
      waitUntil(atMost: 60) {
        (controller.reports.last?["settings"] as? [String: Any])?["location.distance_filter"] as? Double
          == 500
      }, "\(agent.log)")
    agent.child.terminate()
    reader.terminate()
  }
}
