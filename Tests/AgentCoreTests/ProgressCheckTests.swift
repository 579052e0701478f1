import AgentCore
import Platform
import Testing

/// Detection of stuck threads in exact time.
@Suite struct ProgressCheckTests {
  private final class Thread {}
  private let a = Thread()
  private let b = Thread()

  private func sign(_ thread: Thread, _ turns: Int, excusedUntil: Double = 0) -> ProgressCheck.Sign {
    ProgressCheck.Sign(
      id: ObjectIdentifier(thread), name: thread === a ? "a" : "b", turns: turns,
      excusedUntil: .start.advanced(bySeconds: excusedUntil))
  }

  @Test func onlyUnresponsiveThreadsAreStuck() {
    var check = ProgressCheck(limit: 1)
    func look(_ second: Double, _ signs: ProgressCheck.Sign...) -> [String] {
      check.check(signs, at: .start.advanced(bySeconds: second))
    }
    // A new thread has no earlier sign to compare with.
    #expect(look(10, sign(a, 0), sign(b, 5)) == [])
    #expect(look(10.5, sign(a, 0), sign(b, 5)) == [])
    #expect(look(11, sign(a, 1), sign(b, 5)) == ["b"])
    // A thread is reported until it makes progress.
    #expect(look(12, sign(a, 1), sign(b, 5)) == ["a", "b"])
    #expect(look(13, sign(a, 2), sign(b, 6)) == [])
    // A thread that ended is not reported, and one that restarted is new.
    #expect(look(14, sign(a, 2)) == ["a"])
    #expect(look(15, sign(a, 3), sign(b, 6)) == [])
    #expect(look(15.9, sign(a, 3), sign(b, 6)) == [])
  }

  @Test func excuseExpires() {
    var check = ProgressCheck(limit: 1)
    func look(_ second: Double) -> [String] {
      check.check([sign(a, 7, excusedUntil: 30)], at: .start.advanced(bySeconds: second))
    }
    #expect(look(1) == [] && look(29) == [])
    #expect(look(30) == ["a"])
  }

  @Test(
    arguments: [
      ([:], nil, nil), (["NOTIFY_SOCKET": "relative"], nil, nil), (["NOTIFY_SOCKET": "/"], nil, nil),
      (["NOTIFY_SOCKET": "/run/n"], true, nil),
      (["NOTIFY_SOCKET": "@n", "WATCHDOG_USEC": "30000000"], true, 30),
      (["NOTIFY_SOCKET": "@n", "WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "7"], true, 30),
      (["NOTIFY_SOCKET": "@n", "WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "8"], true, nil),
      (["NOTIFY_SOCKET": "@n", "WATCHDOG_USEC": "-1"], true, nil),
    ] as [([String: String], Bool?, Double?)])
  func watchdogIsReadFromTheEnvironment(variables: [String: String], listens: Bool?, watchdog: Double?) {
    let notifier = ServiceNotifier(environment: variables, processID: 7)
    #expect((notifier != nil) == (listens ?? false))
    #expect(notifier?.watchdog == watchdog)
  }
}
