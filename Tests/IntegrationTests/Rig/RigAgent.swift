import Glibc
import JSON
import Telemetry
import TestSupport

/// `odographd run` as a user runs it, on one IIO context and without gpsd.
final class RigAgent: Sendable {
  private let process: ChildProcess

  /// Runs it with `--print`.
  /// - Parameter more: settings beside those that every agent here has.
  init(context: String, _ more: [String] = []) throws {
    process = try ChildProcess(
      BuiltProduct.path("odographd"),
      ["run", "--print"] + (Self.settings(context: context) + more).flatMap { ["--set", $0] })
  }

  /// The configuration that every agent here has.
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

  /// As `systemctl stop` asks it to end.
  func requestStop() { process.signal(SIGTERM) }

  /// What it has published.
  var messages: [PrintedMessage] {
    process.output.split(separator: "\n").compactMap { PrintedMessage(line: $0) }
  }

  /// The states of each source in the order in which `status` told them, without repetitions.
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

  /// The reasons that `status` gave for sources that were not to be had.
  var reasons: [String] {
    messages.filter { $0.kind == "status" }.compactMap { try? StatusMessage(json: $0.payload) }
      .flatMap { $0.sources.compactMap(\.reason) }
  }

  /// How often the log says that a source is not to be had.
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

  /// Nil for a line that is no message, such as one of the log, or one that is not finished yet.
  init?(line: some StringProtocol) {
    guard line.hasPrefix("{"), let json = try? JSONValue(parsing: Array(line.utf8)),
      let topic = json["topic"]?.string,
      let payload = json["payload"]
    else { return nil }
    (self.topic, self.payload) = (topic, payload)
  }
}
