import Foundation
import Platform
import TestSupport

/// `odograph record` as a user runs it, started again with the same command after it was killed.
final class RecordProcess: Sendable {
  private let arguments: [String]
  private let environment: [String: String]
  private let log: String
  private let process = Locked<ChildProcess?>(nil)

  private var child: ChildProcess? { process.withLock { $0 } }

  /// - Parameter state: the folder in which the names of sessions are kept.
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

  /// Ends it in order, and waits for it without a limit but the test's.
  func finish() async throws -> Int32 {
    child?.signal(SIGTERM)
    return try await waitForEnd()
  }

  func waitForEnd() async throws -> Int32 {
    try await eventually { !isRunning }
    return child?.waitForExit() ?? -1
  }

  /// What it has said, in all its lives.
  var output: String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }

  func count(of text: String) -> Int { output.components(separatedBy: text).count - 1 }
}

/// How often the long forms repeat what the short ones do a few times.
enum ChaosExtent {
  static func cycles(short: Int, full: Int) -> Int {
    let own = ProcessInfo.processInfo.environment["ODOGRAPH_CHAOS_CYCLES"].flatMap(Int.init)
    return own ?? (Shared.isFullRun ? full : short)
  }
}
