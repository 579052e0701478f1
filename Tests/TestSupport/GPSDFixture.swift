import Foundation

/// A gpsd on a free loopback port whose receiver is a recorded log, played by gpsfake through a pseudo-terminal.
///
/// gpsd opens the receiver when the first client watches, and loses everything sent before. For a text log, `leadIn` dummy sentences
/// precede the log, so that a test receives it from the start.
public final class GPSDFixture: Sendable {
  public let port: UInt16
  public let process: ChildProcess
  private let scratch: ScratchFolder

  /// - Parameters:
  ///   - log: path of the receiver's log.
  ///   - leadIn: number of dummy sentences before the log; 0 for binary logs.
  ///   - secondsPerSentence: pause after each sentence.
  ///   - repeats: true to play the log in a loop.
  ///   - port: port of gpsd; nil for a free one.
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

  /// Stops gpsfake and its gpsd.
  ///
  /// After the end of its log, gpsfake polls gpsd in a busy loop, and a SIGTERM during a poll can block it forever. Therefore it is killed
  /// as soon as gpsd has stopped.
  public func stop() {
    process.signal(SIGTERM)
    _ = waitUntil(atMost: 20) { !process.isRunning || !Self.isListening(port) }
    process.kill()
  }

  /// Returns an NMEA sentence with checksum and line end.
  public static func sentence(_ body: String) -> String {
    let hex = String(body.utf8.reduce(0, ^), radix: 16, uppercase: true)
    return "$\(body)*\(hex.count == 1 ? "0" : "")\(hex)\r\n"
  }

  /// Returns true if a process listens on a loopback port.
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
