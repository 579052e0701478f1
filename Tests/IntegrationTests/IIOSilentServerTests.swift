import Glibc
import Platform
import Sensors
import SensorsIIO
import TestSupport
import Testing

/// Servers that accept a connection but answer slowly or never: `stop()` does not wait for them.
@Suite struct IIOSilentServerTests {
  /// Sending a byte per second keeps libiio's own timeout from expiring.
  @Test(.timeLimit(.minutes(2)), arguments: [false, true])
  func stopDoesNotWaitForAHangingServer(trickles: Bool) async throws {
    let server = try FakeBroker { connection, _ in
      guard trickles else { return connection.waitForEnd() }
      // A version line that does not end.
      for _ in 0..<300 {
        connection.send([UInt8(ascii: "0")])
        _ = waitUntilReadable([], seconds: 1)
      }
    }
    var configuration = IIOConfiguration(uri: "ip:127.0.0.1:\(server.port)")
    configuration.timeout = 3600
    let source = try IIOSource(configuration)
    source.setDemand(.rate(hertz: 100, latency: .zero), for: .accelerometer)
    try source.start { _ in }
    try await eventually { server.connectionCount > 0 }
    let hasStopped = Locked(false)
    let thread = try DedicatedThread.start(name: "stop") {
      source.stop()
      hasStopped.withLock { $0 = true }
    }
    try await eventually { hasStopped.withLock { $0 } }
    thread.join()
  }
}
