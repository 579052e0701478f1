import Foundation
import Platform
import TestSupport
import Testing

/// Notifications to the service manager: ready, watchdog, reload and stop.
@Suite(.serialized) struct WatchdogTests {
  /// Watchdog timeout in µs. The agent sends keep-alives at half of it.
  private static let limit = 3_000_000

  private func start(
    _ notify: NotifySocket, _ settings: [String: String], directory: TemporaryDirectory? = nil
  ) throws -> AgentProcess {
    try AgentProcess(
      settings.merging(["control.socket": "none"]) { own, _ in own }, directory: directory,
      environment: ["NOTIFY_SOCKET": notify.address, "WATCHDOG_USEC": "\(Self.limit)"])
  }

  /// Freezes a thread of a running agent and checks the notifications and the log.
  private func freeze(_ thread: String, of agent: AgentProcess, _ notify: NotifySocket) throws {
    func fed() -> Int { notify.count(of: "WATCHDOG=1") }
    #expect(waitUntil { notify.count(of: "READY=1") == 1 && fed() > 2 }, "\(agent.log)")
    let frozen = try FrozenThread(thread, of: agent.child.processID)
    if thread == "odographd" {
      // The main thread sends the keep-alives itself, so it cannot report that it is stuck.
      let before = fed()
      waitUntil(atMost: 4) { false }
      #expect(fed() <= before + 1)
    } else {
      func isNamed() -> Bool {
        agent.log.split(separator: "\n").contains {
          $0.contains("event=agent.stuck") && $0.contains(thread)
        }
      }
      #expect(waitUntil { isNamed() }, "\(agent.log)")
      let before = fed()
      waitUntil(atMost: 4) { false }
      #expect(fed() == before, "fed although \(thread) is stuck")
    }
    let before = fed()
    frozen.thaw()
    #expect(waitUntil { fed() > before + 1 }, "\(agent.log)")
    #expect(thread == "odographd" || agent.log.contains("event=agent.recovered"))
  }

  @Test(
    .timeLimit(.minutes(6)), .needs(.tracing),
    arguments: ["odographd", "pipeline", "replay", "mqtt", "outbox"])
  func stuckThreadStopsTheKeepAlives(thread: String) throws {
    let directory = try TemporaryDirectory()
    let broker = try BrokerFixture()
    let notify = try NotifySocket(directory.file("notify"))
    let agent = try start(
      notify, ["mqtt.broker": "127.0.0.1:\(broker.port)", "input.mode": "simulation"])
    try freeze(thread, of: agent, notify)
    agent.child.signal(SIGTERM)
    #expect(agent.child.waitForExit() == 0, "\(agent.log)")
    #expect(notify.messages.contains { $0.hasPrefix("STOPPING=1") })
  }

  /// Without receiver, sensors and broker there are no events, but the threads are alive.
  @Test(.timeLimit(.minutes(6)), .needs(.tracing), arguments: ["gpsd", "iio"])
  func missingSensorsAreNotStuck(thread: String) throws {
    let directory = try TemporaryDirectory()
    let notify = try NotifySocket(directory.file("notify"))
    let agent = try start(
      notify,
      [
        "mqtt.broker": "127.0.0.1:\(try FreePort.next() as Int)",
        "gpsd.port": "\(try FreePort.next() as Int)",
      ])
    #expect(waitUntil { agent.log.contains("event=source.unavailable") }, "\(agent.log)")
    let before = notify.count(of: "WATCHDOG=1")
    #expect(waitUntil { notify.count(of: "WATCHDOG=1") > before + 3 }, "\(agent.log)")
    #expect(!agent.log.contains("event=agent.stuck"), "\(agent.log)")
    try freeze(thread, of: agent, notify)
    #expect(agent.child.terminate() == 0, "\(agent.log)")
  }

  @Test(.timeLimit(.minutes(6)), .needs(.mounting), .needs(.tracing)) func stuckDeviceStopsTheKeepAlives()
    async throws
  {
    try await IIOFixture.run { fixture in
      try IIOChips.addIMU(fixture)
      let pipe = try fixture.openPipe(of: 0)
      let daemon = try IIODaemon()
      let directory = try TemporaryDirectory()
      let notify = try NotifySocket(directory.file("notify"))
      let agent = try start(
        notify,
        [
          "mqtt.broker": "127.0.0.1:\(try FreePort.next() as Int)", "gpsd.enabled": "false",
          "iio.contexts": daemon.uri,
        ])
      #expect(fixture.wait(for: "buffer/enable", of: 0, toBe: "1"), "\(agent.log)")
      try freeze("iio:device0", of: agent, notify)
      agent.child.terminate()
      daemon.kill()
      _ = pipe.push([0])
    }
  }

  /// A service manager kills an agent without keep-alives and restarts it.
  @Test(.timeLimit(.minutes(6))) func hungAgentIsReplaced() throws {
    let directory = try TemporaryDirectory()
    let broker = try BrokerFixture()
    let settings = [
      "mqtt.broker": "127.0.0.1:\(broker.port)", "input.mode": "simulation",
    ]
    // A name in the abstract namespace, as systemd uses in containers.
    let notify = try NotifySocket("@odograph-\(UUID().uuidString)")
    let first = try start(notify, settings, directory: directory)
    #expect(waitUntil { notify.count(of: "WATCHDOG=1") > 1 }, "\(first.log)")
    #expect(notify.messages.contains { $0.hasPrefix("STATUS=") && $0.contains("broker") })
    first.child.signal(SIGSTOP)
    let heard = notify.count(of: "WATCHDOG=1")
    waitUntil(atMost: 3) { false }
    #expect(notify.count(of: "WATCHDOG=1") <= heard + 1)
    #expect(first.child.kill() == -SIGKILL)
    let ready = notify.count(of: "READY=1")
    let second = try start(notify, settings, directory: directory)
    #expect(waitUntil { notify.count(of: "READY=1") == ready + 1 }, "\(second.log)")
    second.child.terminate()
  }

  /// The start and the end of a reload are notified.
  @Test(.timeLimit(.minutes(6))) func reloadIsNotified() throws {
    let directory = try TemporaryDirectory()
    let notify = try NotifySocket(directory.file("notify"))
    let agent = try start(
      notify,
      [
        "mqtt.broker": "127.0.0.1:\(try FreePort.next() as Int)", "input.mode": "simulation",
        "remote.enabled": "true", "remote.path": directory.file("remote"),
      ])
    #expect(waitUntil { notify.count(of: "READY=1") == 1 }, "\(agent.log)")
    agent.child.signal(SIGHUP)
    #expect(waitUntil { notify.count(of: "READY=1") == 2 }, "\(agent.log)")
    let messages = notify.messages
    let reloading = try #require(messages.firstIndex { $0.hasPrefix("RELOADING=1\nMONOTONIC_USEC=") })
    #expect(try #require(messages.lastIndex(of: "READY=1")) > reloading)
    #expect(agent.log.contains("configuration read again"))
    agent.child.terminate()
  }
}
