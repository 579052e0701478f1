import Foundation

/// A real gpsd on a free loopback port, fed a recorded log by gpsfake through a pseudo-terminal.
///
/// gpsd opens the receiver when the first watcher comes and loses what was sent before. A fixture for a text log
/// therefore sends sentences without meaning first (`leadIn`), so that a test does not miss its beginning.
public final class GPSDFixture: Sendable {
  public let port: UInt16
  public let process: ChildProcess
  private let scratch: ScratchFolder

  /// - Parameters:
  ///   - log: the receiver's log.
  ///   - leadIn: how many meaningless sentences go before it; 0 for binary logs.
  ///   - secondsPerSentence: the pause after each sentence.
  ///   - repeats: whether the log begins anew at its end.
  ///   - port: nil for a free one.
  public init(
    log: String, leadIn: Int = 0, secondsPerSentence: Double = 0.005, repeats: Bool = false,
    port: UInt16? = nil
  ) throws {
    let port = try port ?? FreePort.next()
    self.port = port
    scratch = try ScratchFolder()
    var bytes = Data()
    for _ in 0..<leadIn { bytes.append(contentsOf: Self.sentence("GPTXT,01,01,02,lead-in").utf8) }
    bytes.append(try Data(contentsOf: URL(fileURLWithPath: log)))
    let file = try scratch.write(bytes, to: URL(fileURLWithPath: log).lastPathComponent)
    process = try ChildProcess(
      "gpsfake", (repeats ? [] : ["-1"]) + ["-q", "-c", "\(secondsPerSentence)", "-P", "\(port)", file])
    guard waitUntil(atMost: 20, { Self.isListening(port) || !process.isRunning }), process.isRunning else {
      throw GPSDFixtureError.didNotStart(process.output)
    }
  }

  /// Ends gpsfake and its gpsd.
  ///
  /// Once its log has ended, gpsfake asks without rest whether gpsd lives, and a SIGTERM in the midst of asking leaves it
  /// waiting for good. It has done its part when gpsd is gone.
  public func stop() {
    process.signal(SIGTERM)
    _ = waitUntil(atMost: 20) { !process.isRunning || !Self.isListening(port) }
    process.kill()
  }

  /// An NMEA sentence with its checksum and line end.
  public static func sentence(_ body: String) -> String {
    let hex = String(body.utf8.reduce(0, ^), radix: 16, uppercase: true)
    return "$\(body)*\(hex.count == 1 ? "0" : "")\(hex)\r\n"
  }

  /// Whether somebody listens on a loopback port.
  public static func isListening(_ port: UInt16) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }
}

public enum GPSDFixtureError: Error, CustomStringConvertible {
  case didNotStart(String)

  public var description: String {
    switch self {
    case .didNotStart(let output): "gpsfake did not start: \(output)"
    }
  }
}
