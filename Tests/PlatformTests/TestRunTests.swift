import Foundation
import Glibc
import TestSupport
import Testing

/// Scripts that `Deploy/test.sh` uses.
@Suite struct TestRunTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func start(_ script: String, _ arguments: [String]) throws -> ChildProcess {
    try ChildProcess("python3", ["\(ContractScript.repository)/Deploy/\(script)"] + arguments)
  }

  /// Descendants in other sessions and process groups that ignore SIGTERM, like daemons of tests.
  @Test(.timeLimit(.minutes(1)), arguments: [SIGTERM, SIGINT]) func aSignalEndsAllDescendants(number: Int32)
    throws
  {
    let script = try directory.write(
      "tree",
      """
      trap '' TERM INT
      cd '\(directory.path)'
      (setsid sh -c 'trap "" TERM INT; echo $$ >>pids; while :; do sleep 1; done' &)
      set -m
      sh -c 'echo $$ >>pids; exec sleep 1000' &
      set +m
      echo $$ >>pids
      while :; do sleep 1; done
      """)
    let run = try start("supervised.py", ["bash", script])
    func pids() -> [Int32] {
      let text = (try? String(contentsOfFile: directory.file("pids"), encoding: .utf8)) ?? ""
      return text.split(separator: "\n").compactMap { Int32($0) }
    }
    #expect(waitUntil(atMost: 20) { pids().count == 3 })
    #expect(kill(run.processID, number) == 0)
    #expect(run.waitForExit() == 128 + number)
    for pid in pids() { #expect(kill(pid, 0) != 0 && errno == ESRCH, "\(pid)") }
  }

  @Test(arguments: [("exit 7", 7), ("exit 0", 0), ("kill -9 $$", 137)])
  func theStatusOfTheCommandIsReturned(command: String, status: Int32) throws {
    #expect(try start("supervised.py", ["sh", "-c", command]).waitForExit() == status)
  }

  /// Events of a run: the results of tests, and whether the run ended.
  private func events(_ results: [String: Bool?], hasEnded: Bool = true) -> String {
    func line(_ kind: String, _ payload: [String: Any]) -> String {
      let data = try? JSONSerialization.data(withJSONObject: ["kind": kind, "payload": payload])
      return String(decoding: data ?? Data(), as: UTF8.self) + "\n"
    }
    var text = ""
    for (name, passed) in results.sorted(by: { $0.key < $1.key }) {
      let id = "M.S/\(name)()/S.swift:1:1"
      text += line("test", ["kind": "function", "id": id])
      guard let passed else { continue }
      text += line("event", ["kind": "testStarted", "testID": id])
      text += line(
        "event",
        ["kind": "testEnded", "testID": id, "messages": passed ? [] : [["symbol": "fail", "text": "x"]]])
    }
    return text + (hasEnded ? line("event", ["kind": "runEnded"]) : "")
  }

  private func summary() throws -> (status: Int32, output: String) {
    let child = try start("test-results.py", ["summary", directory.path])
    return (child.waitForExit(), child.output)
  }

  @Test(arguments: [(0, 0), (1, 0), (2, 1)]) func moreThanOneTestThatNeedsASecondAttemptFailsTheRun(
    count: Int, status: Int32
  ) throws {
    let flaky = (0..<count).map { "flaky\($0)" }
    let first = Dictionary(uniqueKeysWithValues: flaky.map { ($0, Bool?.some(false)) }).merging(["good": true]
    ) { $1 }
    _ = try directory.write("unit.1", events(first))
    if count > 0 { _ = try directory.write("unit.2", events(first.mapValues { _ in true })) }
    let result = try summary()
    #expect(result.status == status, "\(result.output)")
    for name in flaky { #expect(result.output.contains("  M.S/\(name)()"), "\(result.output)") }
    #expect(result.output.contains("passed at the second try:") == (count > 0))
    #expect(result.output.contains("fails, as \(count) tests") == (count > 1), "\(result.output)")
    #expect(result.output.hasSuffix("\(count + 1) passed, 0 failed, 0 skipped\n"), "\(result.output)")
  }

  /// Tests that did not run before a crash are not listed as flaky.
  @Test func aCrashIsOneTestThatNeedsASecondAttempt() throws {
    var first = events(["a": true, "c": nil, "d": nil], hasEnded: false)
    first +=
      events(["b": true], hasEnded: false).split(separator: "\n").prefix(2).joined(separator: "\n") + "\n"
    _ = try directory.write("unit.1", first)
    _ = try directory.write("unit.2", events(["a": true, "b": true, "c": true, "d": true]))
    let result = try summary()
    #expect(
      result.status == 0 && result.output.contains("passed at the second try:\n  M.S/b()\n"),
      "\(result.output)")
    #expect(!result.output.contains("  M.S/c()"))
  }

  @Test(arguments: [
    ("guard let x else { return }\n    #expect(x == 1)", true),
    ("guard case .some(let x) = value() else {\n      return\n    }\n    #expect(x == 1)", true),
    ("for x in [1] {\n      guard let y = x else { return }\n      #expect(y == 1)\n    }", true),
    ("do { try run() } catch { return }", true), ("if value() == nil { return }\n    #expect(true)", true),
    ("guard let x else {\n      Issue.record(\"none\")\n      return\n    }", false),
    ("let x = try #require(value())\n    #expect(x == 1)", false),
    ("let done = { guard let x = value() else { return }; use(x) }\n    done()", false),
    ("run(\"}\") { event in\n      guard case .a = event else { return }\n    }\n    #expect(true)", false),
    ("func inner() { guard let x = value() else { return } }\n    #expect(true)", false),
    ("guard let x else { return #expect(Bool(false)) }", false),
  ]) func testsThatPassSilentlyAreFound(body: String, isFound: Bool) throws {
    let file = try directory.write(
      "Sample.swift",
      "struct S {\n  @Test(.tags(.a), arguments: [{ 1 }]) func t(x: Int?) throws {\n    \(body)\n  }\n}\n")
    let child = try start("silent-tests.py", [file])
    #expect(child.waitForExit() == (isFound ? 1 : 0), "\(child.output)")
    #expect(child.output.contains("returns without an issue") == isFound)
  }
}
