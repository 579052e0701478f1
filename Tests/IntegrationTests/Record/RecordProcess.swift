import Foundation
import Platform
import TestSupport

/// A running `odograph record`, which can be restarted with the same arguments after a kill.
final class RecordProcess: Sendable {
  private let arguments: [String]
  private let environment: [String: String]
  private let log: String
  private let process = Locked<ChildProcess?>(nil)

  private var child: ChildProcess? { process.withLock { $0 } }

  /// - Parameter state: Folder with the client IDs of sessions.
  convenience init(
    _ broker: BrokerFixture, into store: String, _ more: [String] = [], state: TemporaryDirectory
  ) {
    self.init(into: store, ["--broker", "mqtt://127.0.0.1:\(broker.port)"] + more, state: state)
  }

  init(into store: String, _ more: [String], state: TemporaryDirectory) {
    arguments = ["record", store] + more
    environment = ["XDG_STATE_HOME": state.path]
    log = state.file("record-\(UInt32.random(in: 0 ... .max)).out")
  }

  func start() throws {
    let started = try ChildProcess(OdographProcess.path, arguments, output: log, environment: environment)
    process.withLock { $0 = started }
  }

  var isRunning: Bool { child?.isRunning ?? false }

  func kill() { child?.kill() }

  func signal(_ number: Int32) { child?.signal(number) }

  /// Stops it with SIGTERM and waits until it exits, limited by the test's time only.
  func finish() async throws -> Int32 {
    child?.signal(SIGTERM)
    return try await waitForEnd()
  }

  func waitForEnd() async throws -> Int32 {
    try await eventually { !isRunning }
    return child?.waitForExit() ?? -1
  }

  /// Output of all its runs.
  var output: String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }

  func count(of text: String) -> Int { output.components(separatedBy: text).count - 1 }
}

/// Number of repetitions: few by default, many in full runs.
enum ChaosExtent {
  static func cycles(short: Int, full: Int) -> Int {
    let own = ProcessInfo.processInfo.environment["ODOGRAPH_CHAOS_CYCLES"].flatMap(Int.init)
    return own ?? (Shared.isFullRun ? full : short)
  }
}
