import Foundation
import Glibc
import MQTT
import Platform
import TestSupport
import Testing

/// Brokers that accept a connection and stop answering: time limits and signals take effect.
@Suite struct SilentBrokerTests {
  /// A broker that does not answer CONNECT.
  private func silent() throws -> FakeBroker { try FakeBroker { connection, _ in connection.waitForEnd() } }

  /// Otherwise the commands would report the connection's own limit of 20 s.
  @Test(
    .timeLimit(.minutes(4)),
    arguments: [
      ["stats"], ["stats", "--once"], ["watch", "--once"], ["record"], ["tail"], ["trips"], ["events"],
      ["simulate"],
    ])
  func timeLimitIsObserved(command: [String]) async throws {
    let (broker, directory) = (try silent(), try TemporaryDirectory())
    let result = try await OdographProcess.run(
      command + ["--broker", "mqtt://127.0.0.1:\(broker.port)", "--timeout", "1"]
        + (command == ["record"] ? [directory.file("store.sqlite")] : []))
    #expect(!result.output.contains("within 20"), "\(result.output)")
    #expect(
      result.status == 69 && result.output.contains("cannot reach the broker: no answer within 1.0 s"),
      "\(result.output)")
    #expect(!result.output.contains("no vehicle"), "\(result.output)")
  }

  @Test(
    .timeLimit(.minutes(2)), arguments: [["stats"], ["stats", "--once"], ["watch", "--once"], ["record"]])
  func signalsStopTheCommand(command: [String]) async throws {
    let directory = try TemporaryDirectory()
    let child = Locked<ChildProcess?>(nil)
    // The signal is sent while the command waits for an answer, however slow the tests are.
    let broker = try FakeBroker { connection, _ in
      guard connection.read() != nil else { return }
      while child.withLock({ $0 }) == nil { usleep(1000) }
      child.withLock { $0 }?.signal(SIGTERM)
      connection.waitForEnd()
    }
    let started = try OdographProcess.start(
      command + ["--broker", "mqtt://127.0.0.1:\(broker.port)"]
        + (command == ["record"] ? [directory.file("store.sqlite")] : []), output: directory.file("output"))
    child.withLock { $0 = started }
    try await eventually { !started.isRunning }
    let text = try OdographProcess.text(of: directory.file("output"))
    #expect(started.waitForExit() == 143, "\(text)")
    #expect(!text.contains("within 20"), "\(text)")
  }

  /// Stopping a member of a group does not wait for a missing answer, despite a drain time of 1 h.
  @Test(.timeLimit(.minutes(2))) func stopDoesNotWaitForASilentBroker() async throws {
    let broker = try FakeBroker { connection, _ in
      guard connection.read() != nil else { return }
      connection.sendConnectAnswer(0)
      // The subscription is not acknowledged.
      connection.waitForEnd()
    }
    let recorder = SessionRecorder()
    let session = try MQTTSession(
      configuration: fakeConfiguration(broker), subscriptions: [MQTTSubscription("$share/g/a")],
      handlers: recorder.handlers)
    try session.start()
    try await eventually { session.statistics.connections == 1 }
    let left = Locked<Bool?>(nil)
    let thread = try DedicatedThread.start(name: "stop") {
      let isClean = session.stop(drain: 3600)
      left.withLock { $0 = isClean }
    }
    try await eventually { left.withLock { $0 } == false }
    thread.join()
  }
}
