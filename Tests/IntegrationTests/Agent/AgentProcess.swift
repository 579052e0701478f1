import Foundation
import TestSupport

/// The built `odographd` as a child process.
struct AgentProcess {
  let child: ChildProcess
  let directory: TemporaryDirectory

  /// Starts `odographd run` with its store in a temporary folder; stderr goes to `log`, stdout to `lines`.
  init(
    _ settings: [String: String], print: Bool = false, directory: TemporaryDirectory? = nil,
    environment: [String: String] = [:]
  ) throws {
    self.directory = try directory ?? TemporaryDirectory()
    var arguments = ["run"] + (print ? ["--print"] : [])
    // The preset `car` publishes rarely, so that tests would be slow.
    let defaults = [
      "vehicle.fleet": "test", "vehicle.id": "van", "store.path": self.directory.file("outbox.sqlite"),
    ].merging(Self.frequentReports) { $1 }
    var all = defaults.merging(settings) { $1 }
    // Without bursts, the agent warns that the interval has no effect.
    if all["mqtt.link"] == "always", settings["mqtt.burst_interval"] == nil {
      all["mqtt.burst_interval"] = nil
    }
    for (key, value) in all.sorted(by: { $0.key < $1.key }) {
      arguments += ["--set", "\(key)=\(value)"]
    }
    // OPEN_FILES in the environment limits the number of open files.
    let shell = #"${OPEN_FILES:+ulimit -n $OPEN_FILES} && exec "$0" "$@" >"$LINES" 2>"$LOG""#
    child = try ChildProcess(
      "sh", ["-c", shell, BuiltProduct.path("odographd")] + arguments,
      environment: environment.merging([
        "LINES": self.directory.file("lines"), "LOG": self.directory.file("log"),
      ]) { $1 })
  }

  /// Settings that publish each fix, and heading and attitude every second, over a permanent connection.
  static let frequentReports = [
    "location.reporting": "distance", "heading.interval": "1", "heading.filter": "1",
    "attitude.filter": "0",
    "status.interval": "60", "mqtt.link": "always", "mqtt.keepalive": "30", "mqtt.burst_interval": "600",
  ]

  var log: String { Self.text(directory.file("log")) }

  /// Messages that `--print` has written so far.
  var messages: [Message] { Message.parse(Self.text(directory.file("lines"))) }

  private static func text(_ path: String) -> String {
    (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
  }
}

/// A line of `odographd run --print` or `odograph tail`.
struct Message {
  var topic: String
  var payload: [String: Any]

  var kind: String { String(topic.split(separator: "/").last ?? "") }
  var state: String? { payload["state"] as? String }
  var latitude: Double? { payload["latitude"] as? Double }
  var longitude: Double? { payload["longitude"] as? Double }
  var seq: Int? { payload["seq"] as? Int }
  var epoch: String? { payload["epoch"] as? String }

  /// Parses complete lines only: the last one may still be incomplete.
  static func parse(_ text: String) -> [Message] {
    let whole = text.last == "\n" ? text[...] : text[..<(text.lastIndex(of: "\n") ?? text.startIndex)]
    return whole.split(separator: "\n").compactMap { line in
      guard let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
        let topic = object["topic"] as? String, let payload = object["payload"] as? [String: Any]
      else { return nil }
      return Message(topic: topic, payload: payload)
    }
  }
}

/// A running `odograph tail`.
struct TailProcess {
  let child: ChildProcess

  /// Starts it and waits until the broker has confirmed the subscription. Messages published afterwards are received.
  init(_ broker: BrokerFixture, _ arguments: [String] = []) throws {
    let before = broker.logCount("Sending SUBACK")
    let child = try ChildProcess(
      BuiltProduct.path("odograph"),
      ["tail", "--broker", "mqtt://127.0.0.1:\(broker.port)", "--fleet", "test"] + arguments)
    waitUntil { broker.logCount("Sending SUBACK") > before || !child.isRunning }
    self.child = child
  }

  var messages: [Message] { Message.parse(child.output) }
}
