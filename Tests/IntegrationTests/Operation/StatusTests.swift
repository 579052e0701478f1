import Foundation
import Platform
import TestSupport
import Testing

/// `odographd status` under load, without a broker, and with hostile clients of the control socket.
@Suite(.serialized) struct StatusTests {
  private struct Setup {
    let directory: TemporaryDirectory
    let agent: AgentProcess
    var socket: String { directory.file("control.socket") }

    init(_ settings: [String: String]) throws {
      directory = try TemporaryDirectory()
      agent = try AgentProcess(
        ["input.mode": "simulation", "control.socket": directory.file("control.socket")].merging(settings) {
          $1
        })
    }

    /// Output of `odographd status`; nil if it fails.
    func ask(_ arguments: String...) throws -> String? {
      let child = try ChildProcess(
        BuiltProduct.path("odographd"), ["status", "--socket", socket] + arguments)
      return child.waitForExit() == 0 ? child.output : nil
    }

    func document() throws -> [String: Any]? {
      try ask("--json").flatMap { try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
    }

    func status(_ key: String) throws -> Any? { (try document()?["status"] as? [String: Any])?[key] }

    /// Measures the time in ms from the connection to the end of the response, repeatedly.
    func latencies(_ count: Int) throws -> [Double] {
      try (0..<count).map { _ in
        let start = MonotonicTime.now
        let answer = try LocalClient(socket).readAll()
        #expect(answer.count > 100)
        usleep(150_000)
        return start.secondsElapsed * 1e3 - 150
      }
    }
  }

  @Test(.timeLimit(.minutes(6))) func printsTheState() throws {
    let broker = try BrokerFixture()
    let setup = try Setup(["mqtt.broker": "127.0.0.1:\(broker.port)"])
    #expect(waitUntil { FileManager.default.fileExists(atPath: setup.socket) }, "\(setup.agent.log)")
    var text = ""
    #expect(
      try waitUntil {
        text = try setup.ask() ?? ""
        return text.contains("connected for") && text.contains(" Hz") && text.contains("±")
      }, "\(text) \(setup.agent.log)")
    for part in [
      "agent         test/van, preset car, version ", "sensor        positioning: ", "attitude ", "location ",
      "queue ", "broker        127.0.0.1:\(broker.port) connected", "energy ", "last error    none",
    ] {
      #expect(text.contains(part), "\(part) in \(text)")
    }
    let document = try #require(try setup.document())
    #expect((document["sensors"] as? [String: Any])?.keys.contains("gyroscope") == true)
    #expect((document["age"] as? Double ?? 9) < 5)
    let attributes = try FileManager.default.attributesOfItem(atPath: setup.socket)
    #expect(attributes[.posixPermissions] as? Int == 0o660)
    broker.kill()
    #expect(
      try waitUntil {
        text = try setup.ask() ?? ""
        return text.contains("not connected") && text.contains("event=broker.unreachable")
      }, "\(text)")
    setup.agent.child.terminate()
    #expect(!FileManager.default.fileExists(atPath: setup.socket))
    let child = try ChildProcess(BuiltProduct.path("odographd"), ["status", "--socket", setup.socket])
    #expect(child.waitForExit() == 1 && child.output.contains("start the agent"))
  }

  /// A simulation at maximum speed keeps the pipeline busy without pauses.
  @Test(.timeLimit(.minutes(6))) func answersUnderFullLoad() throws {
    let broker = try BrokerFixture()
    let setup = try Setup(["mqtt.broker": "127.0.0.1:\(broker.port)", "input.speed": "0"])
    #expect(try waitUntil { try (setup.status("uptime") as? Double ?? 0) > 60 }, "\(setup.agent.log)")
    let before = try #require(try setup.status("uptime") as? Double)
    let latencies = try setup.latencies(20).sorted()
    print("status under full load, ms: median \(latencies[10]), greatest \(latencies[19])")
    #expect(try (setup.status("uptime") as? Double ?? 0) > before)
    setup.agent.child.kill()
  }

  @Test(.timeLimit(.minutes(15))) func answersAfterADayWithoutABroker() throws {
    let setup = try Setup([
      "mqtt.broker": "127.0.0.1:\(try FreePort.next() as Int)", "input.speed": "0",
      "heading.enabled": "false",
      "attitude.enabled": "false", "motion.events": "",
    ])
    // A day passes in simulated time.
    #expect(
      try waitUntil(atMost: 600) { try (setup.status("uptime") as? Double ?? 0) > 86_400 },
      "\(setup.agent.log)")
    let counters = try #require(try setup.status("counters") as? [String: Any])
    let waiting = counters["queue.records"] as? Int ?? 0
    #expect(waiting > 20_000)
    let latencies = try setup.latencies(20).sorted()
    print("status with \(waiting) queued, ms: median \(latencies[10]), greatest \(latencies[19])")
    setup.agent.child.kill()
  }

  @Test(.timeLimit(.minutes(6))) func hostileClientsDoNoHarm() throws {
    let setup = try Setup(["mqtt.broker": "127.0.0.1:\(try FreePort.next() as Int)"])
    #expect(try waitUntil { try setup.document()?["sensors"] != nil }, "\(setup.agent.log)")
    func descriptors() throws -> Int {
      try FileManager.default.contentsOfDirectory(atPath: "/proc/\(setup.agent.child.processID)/fd").count
    }
    let before = try descriptors()
    var silent: [LocalClient] = []
    for index in 0..<200 {
      // Non-blocking: the kernel refuses clients beyond the listen queue.
      guard let client = try? LocalClient(setup.socket, waits: false) else { continue }
      if index % 3 == 0 { client.write([UInt8](repeating: 0xFF, count: 4096)) }
      if index % 3 == 1 { client.write(Array("GET / HTTP/1.1\r\n\r\n".utf8)) }
      if index % 2 == 0 { silent.append(client) }
    }
    #expect(try waitUntil { try setup.document()?["sensors"] != nil }, "\(setup.agent.log)")
    #expect(try waitUntil { try descriptors() <= before + 1 })
    let samples = try samples(setup)
    #expect(try waitUntil { try self.samples(setup) > samples })
    // Clients with unread responses do not prevent a clean exit.
    #expect(!silent.isEmpty)
    #expect(setup.agent.child.terminate() == 0)
  }

  private func samples(_ setup: Setup) throws -> Int {
    let sensors = try setup.document()?["sensors"] as? [String: [String: Any]]
    return sensors?["accelerometer"]?["samples"] as? Int ?? 0
  }

  @Test(.timeLimit(.minutes(6))) func replacesAnAbandonedSocketOnly() throws {
    let settings = ["mqtt.broker": "127.0.0.1:\(try FreePort.next() as Int)"]
    let setup = try Setup(settings)
    #expect(try waitUntil { try setup.document() != nil }, "\(setup.agent.log)")
    let shared = ["input.mode": "simulation", "control.socket": setup.socket].merging(settings) { $1 }
    let second = try AgentProcess(shared)
    #expect(waitUntil { second.log.contains("event=control.unavailable") }, "\(second.log)")
    second.child.terminate()
    #expect(try setup.document() != nil)
    setup.agent.child.kill()
    #expect(FileManager.default.fileExists(atPath: setup.socket))
    let third = try AgentProcess(shared)
    #expect(try waitUntil { try setup.document() != nil }, "\(third.log)")
    third.child.terminate()
  }

  /// While the pipeline thread is frozen, `status` responds and reports it as stuck.
  @Test(.timeLimit(.minutes(6)), .needs(.tracing)) func answersWhileThePipelineIsStuck() throws {
    let directory = try TemporaryDirectory()
    let notify = try NotifySocket(directory.file("notify"))
    let socket = directory.file("control.socket")
    let agent = try AgentProcess(
      [
        // Maximum speed: a thread frozen in a wait would block the threads that wake it.
        "input.mode": "simulation", "input.speed": "0",
        "mqtt.broker": "127.0.0.1:\(try FreePort.next() as Int)", "control.socket": socket,
      ], environment: ["NOTIFY_SOCKET": notify.address, "WATCHDOG_USEC": "2000000"])
    #expect(waitUntil { notify.count(of: "READY=1") == 1 }, "\(agent.log)")
    let frozen = try FrozenThread("pipeline", of: agent.child.processID)
    func ask() throws -> String {
      let child = try ChildProcess(BuiltProduct.path("odographd"), ["status", "--socket", socket])
      child.waitForExit()
      return child.output
    }
    #expect(
      try waitUntil {
        try ask().split(separator: "\n").contains { $0.hasPrefix("STUCK") && $0.contains("pipeline") }
      })
    #expect(try waitUntil { try ask().contains("the pipeline is busy") })
    frozen.thaw()
    #expect(try waitUntil { try !ask().contains("STUCK") })
    agent.child.terminate()
  }
}
