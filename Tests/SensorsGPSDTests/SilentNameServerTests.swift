import Glibc
import Platform
import Sensors
import SensorsGPSD
import TestSupport
import Testing

/// A gpsd with a host name, and a name server that does not answer.
@Suite(.needs(.mounting)) struct SilentNameServerTests {
  /// Linux's MS_BIND, which Glibc declares as an enumeration.
  private static let bind: UInt = 4096

  @Test(.timeLimit(.minutes(2))) func aLookupDoesNotBlockTheStop() async throws {
    try await IIOFixture.run { _ in
      let scratch = try ScratchFolder()
      let path = try scratch.write("nameserver 127.0.0.9\noptions timeout:5 attempts:2\n", to: "resolv.conf")
      guard mount(path, "/etc/resolv.conf", nil, Self.bind, nil) == 0 else {
        throw SystemError(operation: "mount", object: "/etc/resolv.conf", code: errno)
      }
      let server = try Self.nameServer()
      let source = try GPSDSource(GPSDAddress(host: "gps.fleet.example"))
      let recorder = EventRecorder()
      source.setDemand(.rate(hertz: 1, latency: .zero), for: .positioning)
      try source.start { recorder.receive($0) }
      #expect(waitUntilReadable([server], seconds: 60) == server)
      // Without a limit, the stop would return only after the lookup.
      source.stop()
      #expect(Self.hasThread)
      // The lookup fails when the name server's port is closed.
      close(server)
      #expect(waitUntil { !Self.hasThread })
      #expect(recorder.events.isEmpty, "\(recorder.events)")
    }
  }

  private static var hasThread: Bool { WatchedThreads.all.contains { $0.name == "gpsd" } }

  private static func nameServer() throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(53).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0009).bigEndian
    let result = withUnsafePointer(to: address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw SystemError(operation: "bind", object: "127.0.0.9:53", code: errno) }
    return descriptor
  }
}
