import Foundation
import Glibc
import TestSupport
import Testing

/// Messages of C libraries on standard error, and the messages of a crash.
@Suite struct LibraryMessageTests {
  /// libxml2, which libiio uses, prints parser errors for an invalid context description on each attempt.
  @Test(.timeLimit(.minutes(4))) func libraryMessagesAreLogged() throws {
    let server = try FakeBroker { connection, _ in
      // The client sends PRINT; the response is the length of the description followed by the description.
      guard connection.hasMore(milliseconds: 10_000) else { return }
      connection.send(Array("5\n<bad>\n".utf8))
      connection.waitForEnd()
    }
    let agent = try AgentProcess(
      ["input.mode": "hardware", "iio.contexts": "ip:127.0.0.1:\(server.port)", "gpsd.enabled": "false"],
      print: true, environment: ["JOURNAL_STREAM": "1:1"])
    #expect(waitUntil { agent.log.contains("Unable to parse XML") }, "\(agent.log)")
    #expect(agent.child.terminate() == 0)
    let lines = agent.log.split(separator: "\n")
    // Each line has a journal priority; lines of libraries have priority 4 (warning).
    for line in lines { #expect(line.wholeMatch(of: /<[3-7]>.+ event=[a-z_.]+/) != nil, "\(line)") }
    let library = lines.filter { $0.hasSuffix("event=agent.library") }
    #expect(
      library.allSatisfy { $0.hasPrefix("<4>") && ($0.contains("text=") || $0.contains("left_out=")) },
      "\(library)")
    #expect(library.count <= 11)
  }

  @Test(
    .timeLimit(.minutes(2)),
    arguments: [("trap", [SIGILL, SIGTRAP]), ("abort", [SIGABRT]), ("kill", [SIGSEGV])])
  func crashMessagesReachStandardError(how: String, signals: [Int32]) throws {
    let child = try ChildProcess(
      BuiltProduct.path("DeliveryChild"), ["crash", how], environment: ["SWIFT_BACKTRACE": "enable=no"])
    let status = child.waitForExit()
    #expect(signals.contains(-status), "\(status)")
    #expect(child.output.contains("the last words"), "\(child.output)")
    // The line read before the crash was written to the log, not to standard error.
    #expect(!child.output.contains("a library's line"), "\(child.output)")
  }
}
