import Foundation
import Platform
import Sensors
import SensorsGPSD
import TestSupport
import Testing

/// A source while gpsd starts, stops and restarts.
@Suite(.serialized) struct GPSDLifeCycleTests {
  private static let log = "data/gpsd-logs/haicom-305N.log"

  private static func kinds(_ states: [SourceStatus.State]) -> [String] {
    states.map { state in
      switch state {
      case .active: "active"
      case .idle: "idle"
      case .unavailable: "unavailable"
      case .finished: "finished"
      }
    }
  }

  /// gpsd is not running, starts, is killed, and restarts. Each change is reported once.
  @Test(.timeLimit(.minutes(6)), .needs(.gpsd), .needs(.recordings("gpsd-logs")))
  func gpsdRestartIsReportedOnce() throws {
    let log = try Shared.file(Self.log)
    let listener = GPSDListener()
    let port: UInt16 = try FreePort.next()
    let source = try GPSDSource(GPSDAddress(port: port))
    source.setDemand(always, for: .positioning)
    try source.start(listener.sink)
    defer { source.stop() }
    #expect(waitUntil(atMost: 60) { listener.states.count == 1 })
    // Only the first of several failed attempts is reported.
    usleep(2_500_000)
    #expect(Self.kinds(listener.states) == ["unavailable"])
    guard case .unavailable(let reason)? = listener.states.first else {
      Issue.record("no reason was reported: \(listener.states)")
      return
    }
    #expect(reason.contains("127.0.0.1:\(port)") && reason.contains("is gpsd running?"))

    let first = try GPSDFixture(log: log, secondsPerSentence: 0.01, repeats: true, port: port)
    #expect(waitUntil(atMost: 60) { listener.fixes.count > 20 })
    first.process.signal(SIGKILL)
    first.stop()
    // Two reports: the connection ends, and new connections are refused.
    #expect(waitUntil(atMost: 60) { listener.states.count == 4 })
    let count = listener.fixes.count
    let second = try GPSDFixture(log: log, secondsPerSentence: 0.01, repeats: true, port: port)
    #expect(waitUntil(atMost: 60) { listener.fixes.count > count + 20 })
    second.stop()
    #expect(
      Self.kinds(listener.states).prefix(5) == [
        "unavailable", "active", "unavailable", "unavailable", "active",
      ])
  }

  /// A source with a latency of 3 s delivers reports in blocks, without omissions. Pending reports are delivered when its demand is set to
  /// off.
  @Test(.timeLimit(.minutes(3)), .needs(.gpsd), .needs(.recordings("gpsd-logs")))
  func latencyDeliversReportsInBlocks() throws {
    let log = try Shared.file(Self.log)
    let gpsd = try GPSDFixture(log: log, secondsPerSentence: 0.05, repeats: true)
    defer { gpsd.stop() }
    let (listener, patient) = (GPSDListener(), GPSDListener())
    let sources = try [GPSDSource(GPSDAddress(port: gpsd.port)), GPSDSource(GPSDAddress(port: gpsd.port))]
    defer { for source in sources { source.stop() } }
    try sources[0].start(listener.sink)
    try sources[1].start(patient.sink)
    sources[0].setDemand(always, for: .positioning)
    sources[1].setDemand(.rate(hertz: 1, latency: .seconds(3)), for: .positioning)
    #expect(waitUntil(atMost: 90) { patient.blocks.count >= 3 })
    sources[1].setDemand(.off, for: .positioning)
    #expect(waitUntil(atMost: 60) { patient.states.last == .idle })
    #expect(listener.blocks.allSatisfy { $0 == 1 })
    #expect(patient.blocks.prefix(3).contains { $0 > 1 } && patient.blocks.count <= 6)
    // A contiguous sequence of the other source's reports.
    let (all, some) = (listener.fixes.map(\.time), patient.fixes.map(\.time))
    let start = try #require(all.firstIndex { $0 == some.first.flatMap { $0 } })
    #expect(some.count > 3 && Array(all[start...].prefix(some.count)) == some)
    #expect(zip(patient.fixes, patient.fixes.dropFirst()).allSatisfy { $0.timestamp <= $1.timestamp })
  }

  /// With demand off, the source ends its watch, so that gpsd closes the receiver. The watch restarts with the next demand.
  @Test(.timeLimit(.minutes(6)), .needs(.gpsd), .needs(.recordings("gpsd-logs")))
  func demandOffEndsTheWatch() throws {
    let log = try Shared.file(Self.log)
    let gpsd = try GPSDFixture(log: log, secondsPerSentence: 0.01, repeats: true)
    defer { gpsd.stop() }
    let listener = GPSDListener()
    let address = GPSDAddress(port: gpsd.port)
    let source = try GPSDSource(address)
    try source.start(listener.sink)
    defer { source.stop() }
    #expect(waitUntil(atMost: 60) { listener.states == [.idle] })
    #expect(Self.watchers(gpsd.port) == 0)
    source.setDemand(always, for: .positioning)
    #expect(waitUntil(atMost: 60) { listener.fixes.count > 10 })
    #expect(waitUntil(atMost: 60) { Self.watchers(gpsd.port) == 1 })
    source.setDemand(.off, for: .positioning)
    #expect(waitUntil(atMost: 60) { Self.watchers(gpsd.port) == 0 })
    #expect(waitUntil(atMost: 60) { Self.kinds(listener.states) == ["idle", "active", "idle"] })
    let count = listener.fixes.count
    usleep(500_000)
    #expect(listener.fixes.count == count)
    source.setDemand(always, for: .positioning)
    #expect(waitUntil(atMost: 60) { listener.fixes.count > count + 10 })
    #expect(Self.kinds(listener.states) == ["idle", "active", "idle", "active"])
    source.stop()
    #expect(waitUntil(atMost: 60) { Self.watchers(gpsd.port) == 0 })
  }

  @Test(.timeLimit(.minutes(6)), .needs(.gpsd), .needs(.recordings("gpsd-logs")))
  func aProbeNamesVersionAndDevices() throws {
    let log = try Shared.file(Self.log)
    let gpsd = try GPSDFixture(log: log, secondsPerSentence: 0.01, repeats: true)
    defer { gpsd.stop() }
    var probe = try GPSDProbe.run(GPSDAddress(port: gpsd.port))
    // gpsd listens shortly before gpsfake adds the receiver.
    _ = try waitUntil(atMost: 60) {
      probe = try GPSDProbe.run(GPSDAddress(port: gpsd.port))
      return !probe.devices.isEmpty
    }
    #expect(probe.version.protocolMajor == 3)
    #expect(!probe.version.release.isEmpty)
    #expect(probe.devices.count == 1)
    #expect(waitUntil(atMost: 60) { Self.watchers(gpsd.port) == 0 })
  }

  @Test(.timeLimit(.minutes(6))) func probeReportsAClosedPort() throws {
    let port: UInt16 = try FreePort.next()
    let error = #expect(throws: GPSDError.self) { _ = try GPSDProbe.run(GPSDAddress(port: port)) }
    #expect(error?.kind == .unreachable)
    #expect(error?.description.contains("127.0.0.1:\(port)") == true)
  }

  @Test(.timeLimit(.minutes(6))) func probeReportsAnUnknownHost() throws {
    let address = GPSDAddress(host: "no-such-host.invalid")
    let error = #expect(throws: GPSDError.self) { _ = try GPSDProbe.run(address) }
    #expect(error?.kind == .unknownHost)
  }

  /// A server that accepts connections but sends nothing must not block a probe or a source indefinitely.
  @Test(.timeLimit(.minutes(6))) func silentServerTimesOut() throws {
    let listener = try SilentListener()
    let error = #expect(throws: GPSDError.self) {
      _ = try GPSDProbe.run(GPSDAddress(port: listener.port), timeLimit: .milliseconds(300))
    }
    #expect(error?.kind == .protocolViolation)
    let source = try GPSDSource(GPSDAddress(port: listener.port))
    source.setDemand(always, for: .positioning)
    try source.start { _ in }
    source.stop()
  }

  /// Number of established connections to the port, from /proc/net/tcp.
  private static func watchers(_ port: UInt16) -> Int {
    // Read line by line: the file reports size 0, and a single read truncates a table longer than a page.
    var table = ""
    guard let stream = fopen("/proc/net/tcp", "r") else { return 0 }
    defer { fclose(stream) }
    var line = [CChar](repeating: 0, count: 512)
    while fgets(&line, Int32(line.count), stream) != nil {
      table += String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
    let hex = String(port, radix: 16, uppercase: true)
    let address = String(repeating: "0", count: 4 - hex.count) + hex
    return table.split(separator: "\n").dropFirst().filter { line in
      let fields = line.split(separator: " ")
      // Local address and port; state 01 is ESTABLISHED.
      return fields.count > 3 && fields[1].hasSuffix(":" + address) && fields[3] == "01"
    }.count
  }
}

/// A port on which the kernel accepts connections that no program answers.
private final class SilentListener: Sendable {
  let port: UInt16
  private let descriptor: Int32

  init() throws {
    port = try FreePort.next()
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
    let isListening = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0 && listen(descriptor, 8) == 0
      }
    }
    guard isListening else { throw POSIXError(.EADDRINUSE) }
  }

  deinit { close(descriptor) }
}
