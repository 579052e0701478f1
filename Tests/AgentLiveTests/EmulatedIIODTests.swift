import Foundation
import Platform
import SensorFixtures
import Sensors
import SensorsIIO
import Spatial
import TestSupport
import Testing

/// Checks that the emulated iiod behaves like the real one with real chips. The other tests of this target
/// depend on it.
@Suite(.serialized) struct EmulatedIIODTests {
  private final class Recorder: Sendable {
    let blocks = Locked<[[InertialScan]]>([])
    let pressures = Locked(0)
    let active = Locked<Timestamp?>(nil)

    func receive(_ event: SensorEvent) {
      switch event {
      case .inertial(let block): blocks.withLock { $0.append(block) }
      case .barometer(let block): pressures.withLock { $0 += block.count }
      case .status(let status):
        if case .active = status.state { active.withLock { $0 = $0 ?? status.timestamp } }
      default: break
      }
    }

    var scans: [InertialScan] { blocks.withLock { $0.flatMap { $0 } } }
  }

  @Test func listsItsChips() throws {
    let server = try EmulatedIIOD()
    let inventory = try IIOProbe.inventory(IIOConfiguration(uri: server.uri))
    #expect(inventory.devices.map(\.name) == ["imu", "mag", "baro"])
    #expect(server.captures.isEmpty)
  }

  /// No samples are sent until a demand opens the buffer. Then blocks of the requested length arrive, with
  /// hardware timestamps and the values of the motion.
  @Test func deliversBlocksWhileABufferIsOpen() throws {
    let server = try EmulatedIIOD()
    server.play { EmulatedIIOD.Reading(rotationRate: Vector3(0, 0, $0)) }
    let recorder = Recorder()
    let source = try IIOSource(IIOConfiguration(uri: server.uri))
    try source.start { recorder.receive($0) }
    defer { source.stop() }
    source.setDemand(.rate(hertz: 100, latency: .milliseconds(500)), for: .gyroscope)
    #expect(waitUntil(atMost: 20) { recorder.scans.count >= 150 })
    #expect(server.isCapturing(.gyroscope) && !server.isCapturing(.magnetometer))
    #expect(server.frequency(of: .gyroscope) == 100)
    #expect(server.captures.last?.blockSize == 50)
    let scans = recorder.scans
    let steps = zip(scans, scans.dropFirst()).map { $1.timestamp.seconds(since: $0.timestamp) }
    #expect(steps.allSatisfy { abs($0 - 0.01) < 1e-3 }, "\(steps)")
    // A chip is active from the time at which it is powered, not from its first block of 0.5 s. The energy
    // ledger depends on that time.
    let active = try #require(recorder.active.withLock { $0 })
    #expect(active <= scans[0].timestamp)
    let rates = scans.compactMap { $0.rotationRate?.z }
    #expect(rates.count == scans.count)
    #expect(abs((rates.last ?? 0) - (rates.first ?? 0) - Double(rates.count - 1) * 0.01) < 0.05)
    source.setDemand(.off, for: .gyroscope)
    #expect(waitUntil(atMost: 20) { !server.isCapturing(.gyroscope) })
    source.setDemand(.rate(hertz: 5, latency: .milliseconds(200)), for: .barometer)
    #expect(waitUntil(atMost: 20) { recorder.pressures.withLock { $0 } >= 2 })
  }

  /// Two contexts with the same kinds: the first delivers all of them. After it is lost, the second delivers them.
  @Test func oneOfTwoContextsDeliversAKind() throws {
    let servers = [try EmulatedIIOD(), try EmulatedIIOD()]
    let recorder = Recorder()
    let claims = SensorClaims()
    let sources = try servers.map { try IIOSource(IIOConfiguration(uri: $0.uri), claims: claims) }
    defer { for source in sources { source.stop() } }
    // The second one is started first.
    for source in sources.reversed() {
      try source.start { recorder.receive($0) }
      source.setDemand(.rate(hertz: 100, latency: .milliseconds(100)), for: .gyroscope)
      source.setDemand(.rate(hertz: 50, latency: .milliseconds(100)), for: .magnetometer)
    }
    #expect(waitUntil(atMost: 20) { recorder.scans.count { $0.rotationRate != nil } >= 100 })
    #expect(servers[0].isCapturing(.gyroscope) && servers[0].isCapturing(.magnetometer))
    #expect(servers[1].captures.isEmpty)
    let times = recorder.scans.filter { $0.rotationRate != nil }.map(\.timestamp)
    #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
    servers[0].stop()
    #expect(
      waitUntil(atMost: 30) { servers[1].isCapturing(.gyroscope) && servers[1].isCapturing(.magnetometer) })
  }

  /// A chip that delivers one kind also delivers a kind of a lost context, in a single capture.
  @Test func chipDeliversAKindOfALostContext() throws {
    let servers = [try EmulatedIIOD([EmulatedIIOD.Chip("acc", [.accelerometer])]), try EmulatedIIOD()]
    let claims = SensorClaims()
    let sources = try servers.map { try IIOSource(IIOConfiguration(uri: $0.uri), claims: claims) }
    defer { for source in sources { source.stop() } }
    for source in sources {
      try source.start { _ in }
      for kind in [SensorKind.accelerometer, .gyroscope] {
        source.setDemand(.rate(hertz: 100, latency: .milliseconds(100)), for: kind)
      }
    }
    #expect(
      waitUntil(atMost: 20) { servers[0].isCapturing(.accelerometer) && servers[1].isCapturing(.gyroscope) })
    #expect(!servers[1].isCapturing(.accelerometer))
    servers[0].stop()
    #expect(
      waitUntil(atMost: 30) {
        let open = servers[1].captures.filter(\.isOpen)
        return open.map(\.kinds) == [[.accelerometer, .gyroscope]]
      }, "\(servers[1].captures)")
  }

  /// A context that refuses the connection or does not answer leaves the sensors of the other context active.
  @Test(.timeLimit(.minutes(2)), arguments: [true, false])
  func unreachableContextLeavesOtherSensorsActive(isSilent: Bool) throws {
    let silent = try isSilent ? FakeBroker { connection, _ in connection.waitForEnd() } : nil
    let server = try EmulatedIIOD()
    let statuses = Locked<[SourceStatus]>([])
    let claims = SensorClaims()
    let sources = try ["ip:127.0.0.1:\(silent.map { Int($0.port) } ?? 1)", server.uri].map {
      try IIOSource(IIOConfiguration(uri: $0), claims: claims)
    }
    defer { for source in sources { source.stop() } }
    for source in sources {
      try source.start { event in
        if case .status(let status) = event { statuses.withLock { $0.append(status) } }
      }
      source.setDemand(.rate(hertz: 100, latency: .milliseconds(100)), for: .gyroscope)
    }
    #expect(waitUntil(atMost: 20) { server.isCapturing(.gyroscope) })
    func isActive() -> Bool {
      let last = statuses.withLock { $0.last { $0.kinds.contains(.gyroscope) } }
      if case .active = last?.state { return true } else { return false }
    }
    #expect(waitUntil(atMost: 20, isActive))
    // The search for the first context continues while a demand exists, without further reports.
    sources[0].setDemand(.rate(hertz: 50, latency: .milliseconds(100)), for: .gyroscope)
    #expect(!waitUntil(atMost: 3) { !isActive() })
  }

  /// The agent finds the chips, powers them and publishes attitude.
  @Test(.timeLimit(.minutes(2))) func agentPublishesAttitudeFromIt() throws {
    let (server, broker) = (try EmulatedIIOD(), try BrokerFixture())
    let agent = try AgentProcess(
      [
        "input.mode": "hardware", "iio.contexts": server.uri, "gpsd.enabled": "false",
        "mqtt.broker": "mqtt://127.0.0.1:\(broker.port)",
      ], print: true)
    #expect(
      waitUntil { agent.messages.contains { $0.kind == "attitude" } }, "\(agent.log)")
    #expect(server.isCapturing(.accelerometer) && server.isCapturing(.gyroscope))
    #expect(agent.child.terminate() == 0)
    #expect(waitUntil(atMost: 20) { !server.isCapturing(.gyroscope) })
  }
}
