import Foundation
import TestSupport
import Testing

/// Behaviour of the agent while the broker or gpsd is unavailable, and when the agent itself is stopped or killed.
@Suite(.serialized) struct AgentOutageTests {
  private func settings(_ broker: BrokerFixture, _ more: [String: String] = [:]) -> [String: String] {
    [
      "mqtt.broker": "127.0.0.1:\(broker.port)", "mqtt.keepalive": "5", "input.mode": "simulation",
    ].merging(more) { $1 }
  }

  /// After an outage of the broker, no location is missing, and repeated ones have their original number.
  @Test(.timeLimit(.minutes(6))) func brokerRestart() throws {
    let broker = try BrokerFixture([
      "allow_anonymous true", "persistence true", "persistence_location DIRECTORY/", "autosave_interval 1",
      "autosave_on_changes true",
    ])
    let tail = try TailProcess(broker, ["--kind", "location"])
    let agent = try AgentProcess(settings(broker, ["input.speed": "10"]))
    #expect(waitUntil(atMost: 60) { tail.messages.count > 20 })
    broker.kill()
    let before = tail.messages.count
    waitUntil(atMost: 2) { false }
    try broker.start()
    #expect(waitUntil(atMost: 60) { tail.messages.count > before + 60 }, "\(agent.log)")
    agent.child.terminate()
    tail.child.terminate()
    // After the outage, the last-known location arrives first and its history in order.
    let numbers = tail.messages.compactMap(\.seq)
    #expect(HistoryOrder(numbers).isSound, "\(numbers)")
    #expect(agent.log.contains("broker unreachable") && agent.log.contains("broker connected"))
  }

  /// A service manager kills a process that does not stop in time, and the vehicle would be reported lost. At 400 bytes/s not even the
  /// farewell message arrives in time, and the broker must publish the will.
  @Test(.timeLimit(.minutes(6)), arguments: [4000, 400])
  func stopDoesNotWaitForALongQueue(bytesPerSecond: Int) throws {
    let broker = try BrokerFixture()
    let proxy = try LinkProxy(to: broker.port)
    proxy.setOpen(false)
    let tail = try TailProcess(broker)
    let agent = try AgentProcess(
      settings(broker, ["mqtt.broker": "127.0.0.1:\(proxy.port)", "input.speed": "300"]))
    waitUntil(atMost: 10) { false }
    proxy.setRate(bytesPerSecond)
    proxy.setOpen(true)
    #expect(waitUntil(atMost: 60) { tail.messages.contains { $0.kind == "location" } }, "\(agent.log)")
    // `terminate()` waits up to 20 s, like the packaged service.
    #expect(agent.child.terminate() == 0, "\(agent.log)")
    #expect(agent.log.contains("undelivered records remain"), "\(agent.log)")
    proxy.setRate(nil)
    #expect(waitUntil(atMost: 20) { tail.messages.last { $0.kind == "status" }?.state == "offline" })
    tail.child.terminate()
  }

  @Test(.timeLimit(.minutes(6)), .needs(.gpsd), .needs(.recordings("tracks"))) func gpsdRestart()
    throws
  {
    let path = try Shared.file("data/tracks/munich_2025.nmea")
    let broker = try BrokerFixture()
    let gpsd = try GPSDFixture(log: path, secondsPerSentence: 0.02, repeats: true)
    let tail = try TailProcess(broker)
    let agent = try AgentProcess(
      settings(broker, ["input.mode": "hardware", "gpsd.port": "\(gpsd.port)", "iio.enabled": "false"]))
    func locations() -> Int { tail.messages.count { $0.kind == "location" } }
    func sourceStates() -> [String] {
      tail.messages.filter { $0.kind == "status" }.compactMap { message in
        (message.payload["sources"] as? [[String: Any]])?.first?["state"] as? String
      }
    }
    #expect(waitUntil(atMost: 60) { locations() > 10 }, "\(agent.log)")
    gpsd.process.signal(SIGKILL)
    gpsd.stop()
    #expect(waitUntil(atMost: 60) { sourceStates().last == "unavailable" }, "\(agent.log)")
    let before = locations()
    let second = try GPSDFixture(log: path, secondsPerSentence: 0.02, repeats: true, port: gpsd.port)
    #expect(waitUntil(atMost: 60) { locations() > before + 10 }, "\(agent.log)")
    #expect(waitUntil(atMost: 60) { sourceStates().last == "active" })
    second.stop()
    agent.child.terminate()
    tail.child.terminate()
    let lost = agent.log.split(separator: "\n").count { $0.contains("source unavailable") }
    // Each outage has two causes: the connection ends, and new connections are refused.
    #expect((1...4).contains(lost), "each cause is reported once per outage: \(agent.log)")
  }

  @Test(.timeLimit(.minutes(6))) func aKilledAgentIsOfflineWithinTheKeepalive() throws {
    let broker = try BrokerFixture()
    let tail = try TailProcess(broker, ["--kind", "status"])
    let agent = try AgentProcess(settings(broker))
    #expect(waitUntil(atMost: 60) { tail.messages.last?.state == "online" })
    agent.child.kill()
    // The kernel closes the socket, so the broker detects the kill immediately; the worst case is 1.5 keepalive intervals.
    #expect(waitUntil(atMost: 60) { tail.messages.last?.state == "offline" })
    #expect(tail.messages.last?.payload["will"] as? Bool == true)
    tail.child.terminate()
  }

  /// A frozen machine leaves its socket open: only the keepalive detects it.
  @Test(.timeLimit(.minutes(6))) func aFrozenAgentIsOfflineWithinTheKeepalive() throws {
    let broker = try BrokerFixture()
    let tail = try TailProcess(broker, ["--kind", "status"])
    let agent = try AgentProcess(settings(broker))
    #expect(waitUntil(atMost: 60) { tail.messages.last?.state == "online" })
    agent.child.signal(SIGSTOP)
    #expect(waitUntil(atMost: 60) { tail.messages.last?.state == "offline" })
    agent.child.signal(SIGCONT)
    // The agent reports `online` again.
    #expect(waitUntil(atMost: 60) { tail.messages.last?.state == "online" }, "\(agent.log)")
    agent.child.terminate()
    tail.child.terminate()
  }

  @Test(.timeLimit(.minutes(6)), arguments: [SIGTERM, SIGINT])
  func stopPublishesOffline(signal: Int32) throws {
    let broker = try BrokerFixture()
    let tail = try TailProcess(broker, ["--kind", "status"])
    let agent = try AgentProcess(settings(broker))
    #expect(waitUntil(atMost: 60) { tail.messages.last?.state == "online" })
    agent.child.signal(signal)
    #expect(agent.child.waitForExit() == 0)
    #expect(waitUntil(atMost: 60) { tail.messages.last?.state == "offline" })
    #expect(tail.messages.last?.payload["will"] == nil)
    #expect(tail.messages.last?.seq != nil)
    tail.child.terminate()
  }

  /// Records accepted without a broker are sent by the next run, before its own records.
  @Test(.timeLimit(.minutes(6))) func nextRunSendsQueuedRecords() throws {
    let broker = try BrokerFixture()
    broker.stop()
    let offline = settings(broker, ["input.speed": "0", "simulation.duration": "30"])
    let directory = try TemporaryDirectory()
    let first = try AgentProcess(offline, directory: directory)
    #expect(first.child.waitForExit() == 0, "\(first.log)")
    try broker.start()
    let tail = try TailProcess(broker, ["--kind", "location", "--no-retained"])
    let second = try AgentProcess(offline, directory: directory)
    #expect(second.child.waitForExit() == 0, "\(second.log)")
    waitUntil { tail.messages.count >= 50 }
    tail.child.terminate()
    let numbers = tail.messages.compactMap(\.seq)
    #expect(Set(tail.messages.compactMap(\.epoch)).count == 1)
    #expect(numbers.count >= 50 && Set(numbers).count == numbers.count)
    #expect(HistoryOrder(numbers).isSound, "\(numbers)")
  }
}
