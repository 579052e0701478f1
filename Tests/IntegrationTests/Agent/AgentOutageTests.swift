import Foundation
import TestSupport
import Testing

/// What the agent does when a part of its world goes away and comes back.
@Suite(.serialized) struct AgentOutageTests {
  private func settings(_ broker: BrokerFixture, _ more: [String: String] = [:]) -> [String: String] {
    [
      "mqtt.broker": "127.0.0.1:\(broker.port)", "mqtt.keepalive": "5", "input.mode": "simulation",
    ].merging(more) { $1 }
  }

  /// A broker that is cut off for a while misses nothing, and gets nothing twice under another number.
  @Test(.timeLimit(.minutes(6))) func theBrokerIsKilledAndComesBack() throws {
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
    // What is last known comes first after the cut, and the rest in order.
    let numbers = tail.messages.compactMap(\.seq)
    #expect(HistoryOrder(numbers).isSound, "\(numbers)")
    #expect(agent.log.contains("broker unreachable") && agent.log.contains("broker connected"))
  }

  /// A service manager kills what has not ended in time, and the vehicle would be reported lost. At 400 bytes/s not even
  /// the farewell arrives in time, and the broker must publish the will.
  @Test(.timeLimit(.minutes(6)), arguments: [4000, 400])
  func aStopDoesNotWaitForALongQueueOnASlowLink(bytesPerSecond: Int) throws {
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
    // Twenty seconds, as the packaged service grants.
    #expect(agent.child.terminate() == 0, "\(agent.log)")
    #expect(agent.log.contains("undelivered records remain"), "\(agent.log)")
    proxy.setRate(nil)
    #expect(waitUntil(atMost: 20) { tail.messages.last { $0.kind == "status" }?.state == "offline" })
    tail.child.terminate()
  }

  @Test(.timeLimit(.minutes(6)), .needs(.gpsd), .needs(.recordings("tracks"))) func gpsdIsKilledAndComesBack()
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
    // Of each outage, the end of the connection and the refusal of new ones.
    #expect((1...4).contains(lost), "each cause is reported once per outage: \(agent.log)")
  }

  @Test(.timeLimit(.minutes(6))) func aKilledAgentIsOfflineWithinTheKeepalive() throws {
    let broker = try BrokerFixture()
    let tail = try TailProcess(broker, ["--kind", "status"])
    let agent = try AgentProcess(settings(broker))
    #expect(waitUntil(atMost: 60) { tail.messages.last?.state == "online" })
    agent.child.kill()
    // The kernel closes the socket, so the broker knows at once; one and a half keepalives is the worst case.
    #expect(waitUntil(atMost: 60) { tail.messages.last?.state == "offline" })
    #expect(tail.messages.last?.payload["will"] as? Bool == true)
    tail.child.terminate()
  }

  /// A machine that freezes leaves its socket open: only the keepalive tells.
  @Test(.timeLimit(.minutes(6))) func aFrozenAgentIsOfflineWithinTheKeepalive() throws {
    let broker = try BrokerFixture()
    let tail = try TailProcess(broker, ["--kind", "status"])
    let agent = try AgentProcess(settings(broker))
    #expect(waitUntil(atMost: 60) { tail.messages.last?.state == "online" })
    agent.child.signal(SIGSTOP)
    #expect(waitUntil(atMost: 60) { tail.messages.last?.state == "offline" })
    agent.child.signal(SIGCONT)
    // And it says itself that it is back.
    #expect(waitUntil(atMost: 60) { tail.messages.last?.state == "online" }, "\(agent.log)")
    agent.child.terminate()
    tail.child.terminate()
  }

  @Test(.timeLimit(.minutes(6)), arguments: [SIGTERM, SIGINT])
  func aStopLeavesACleanOffline(signal: Int32) throws {
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

  /// What was accepted while no broker was there is sent by the next run, before what is new.
  @Test(.timeLimit(.minutes(6))) func anotherRunSendsWhatTheFirstCouldNot() throws {
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
