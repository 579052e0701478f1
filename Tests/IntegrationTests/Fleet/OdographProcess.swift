import Foundation
import TestSupport

/// The built `odograph` as a child process.
enum OdographProcess {
  struct Result {
    var status: Int32
    var output: String
    var lines: [Substring] { output.split(separator: "\n") }
  }

  /// Located in the folder of the test bundle.
  static var path: String { BuiltProduct.path("odograph") }

  /// Starts it; stdout and stderr are written to `output`.
  static func start(
    _ arguments: [String], output: String, environment: [String: String] = [:]
  ) throws -> ChildProcess {
    try ChildProcess(path, arguments, output: output, environment: environment)
  }

  /// Runs it until it exits, without blocking the thread pool.
  static func run(_ arguments: [String]) async throws -> Result {
    let directory = try TemporaryDirectory()
    let child = try start(arguments, output: directory.file("output"))
    try await eventually { !child.isRunning }
    return Result(status: child.waitForExit(), output: try text(of: directory.file("output")))
  }

  static func text(of path: String) throws -> String {
    (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
  }
}

/// Runs a system program until it exits.
func runTool(_ path: String, _ arguments: [String]) async throws -> String {
  let directory = try TemporaryDirectory()
  let child = try ChildProcess(path, arguments, output: directory.file("output"))
  try await eventually { !child.isRunning }
  return try OdographProcess.text(of: directory.file("output"))
}

/// Publishes a message with mosquitto_pub.
func publish(_ broker: BrokerFixture, _ topic: String, _ payload: String, retain: Bool = false) async throws {
  let arguments = ["-p", "\(broker.port)", "-q", "1", "-t", topic, "-m", payload] + (retain ? ["-r"] : [])
  let problem = try await runTool("mosquitto_pub", arguments)
  if !problem.isEmpty { throw PublishError(text: problem) }
}

struct PublishError: Error {
  var text: String
}

/// Payloads of the contract used by these tests.
enum FleetPayload {
  static func time(_ offset: Double = 0) -> String {
    let format = ISO8601DateFormatter()
    format.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
    return format.string(from: Date(timeIntervalSinceNow: offset))
  }

  static func status(_ state: String, session: String, seq: Int) -> String {
    #"{"state":"\#(state)","time":"\#(time())","sessionStart":"\#(session)","epoch":"e","seq":\#(seq)}"#
  }

  static func location(_ latitude: Double, _ longitude: Double, speed: Double, course: Double, seq: Int)
    -> String
  {
    #"{"time":"\#(time())","latitude":\#(latitude),"longitude":\#(longitude),"speed":\#(speed),"#
      + #""course":\#(course),"epoch":"e","seq":\#(seq)}"#
  }
}
