import Glibc
import JSON
import Telemetry
import TestSupport

/// `odographd run` with one IIO context and without gpsd.
final class RigAgent: Sendable {
  private let process: ChildProcess

  /// Runs it with `--print`.
  /// - Parameter more: Settings in addition to the common ones.
  init(context: String, _ more: [String] = []) throws {
    process = try ChildProcess(
      BuiltProduct.path("odographd"),
      ["run", "--print"] + (Self.settings(context: context) + more).flatMap { ["--set", $0] })
  }

  /// Common settings of the agents.
  static func settings(context: String) -> [String] {
    [
      "vehicle.id=rig", "gpsd.enabled=false", "iio.contexts=\(context)", "iio.barometer=off",
      "location.reporting=distance", "attitude.filter=0", "attitude.interval=0.2", "status.interval=60",
      "heading.filter=0", "heading.interval=0.2",
    ]
  }

  var isRunning: Bool { process.isRunning }
  var exitStatus: Int32? { process.exitStatus }
  var output: String { process.output }

  /// Sends the signal of `systemctl stop`.
  func requestStop() { process.signal(SIGTERM) }

  /// Messages that it has printed.
  var messages: [PrintedMessage] {
    process.output.split(separator: "\n").compactMap { PrintedMessage(line: $0) }
  }

  /// States of each source in the order of the status messages, without repetitions.
  var sourceStates: [String: [String]] {
    var states: [String: [String]] = [:]
    for message in messages where message.kind == "status" {
      guard let status = try? StatusMessage(json: message.payload), status.state == .online else { continue }
      for source in status.sources where states[source.name]?.last != source.state {
        states[source.name, default: []].append(source.state)
      }
    }
    return states
  }

  /// Reasons for unavailable sources in the status messages.
  var reasons: [String] {
    messages.filter { $0.kind == "status" }.compactMap { try? StatusMessage(json: $0.payload) }
      .flatMap { $0.sources.compactMap(\.reason) }
  }

  /// Number of log lines that report a source as unavailable.
  func lossesLogged(of source: String) -> Int {
    process.output.split(separator: "\n").filter { $0.contains("source unavailable") && $0.contains(source) }
      .count
  }
}

/// A line of `--print` or of `odograph tail`.
struct PrintedMessage {
  var topic: String
  var payload: JSONValue
  var kind: String { topic.split(separator: "/").last.map(String.init) ?? "" }

  /// Nil if the line is not a message, such as a log line or an incomplete line.
  init?(line: some StringProtocol) {
    guard line.hasPrefix("{"), let json = try? JSONValue(parsing: Array(line.utf8)),
      let topic = json["topic"]?.string,
      let payload = json["payload"]
    else { return nil }
    (self.topic, self.payload) = (topic, payload)
  }
}
