internal import Platform
internal import Recordings

/// A conversation with a gpsd: requests go out, reports come in, one line each.
///
/// Leaving it closes the connection, and with it a watch: when the last watcher has gone, gpsd closes the receiver
/// and lets it sleep.
struct GPSDSession: ~Copyable {
  /// Bytes above which a line is not believed; gpsd's own limit is 10,240.
  private static let longestLine = 64 * 1024

  private let socket: GPSDSocket
  private let decoder: GPSDReportDecoder
  private var buffer: [UInt8] = []
  private var position = 0
  private var lineNumber = 0
  private var hasUnreadable = false

  /// What `nextReport` came back with.
  enum Outcome: Equatable {
    case report(GPSDReport)
    /// A line of the connection that is not a report, counted from 1, and its beginning. Only the first one is returned.
    case unreadable(line: Int, text: String)
    case timedOut
    /// The event descriptor was signalled; it is not drained.
    case interrupted
  }

  /// - Parameters:
  ///   - deadline: when to give up (`SystemClock.monotonic`, ns).
  ///   - wake: ends any wait when it is signalled.
  init(
    to address: GPSDAddress, decoder: GPSDReportDecoder, deadline: Int64, wake: EventDescriptor
  ) throws(GPSDError) {
    socket = try GPSDSocket(to: address, deadline: deadline, wake: wake)
    self.decoder = decoder
  }

  /// Asks for reports as they come, of one device or of all.
  func watch(device: String?) throws(GPSDError) {
    // libgps's gps_stream cuts a request off at 80 characters, which a path under /dev/serial/by-id passes, and
    // takes percent signs in it for formats.
    let filter = device.map { ",\"device\":\"\(Self.escaped($0))\"" } ?? ""
    try socket.send("?WATCH={\"enable\":true,\"json\":true\(filter)};\n")
  }

  /// Asks for the list of devices, without opening any.
  func requestDevices() throws(GPSDError) {
    try socket.send("?DEVICES;\n")
  }

  /// Passes bytes on to a receiver as they are. gpsd does that for every client unless it was started with `-b`; its manual does not
  /// name it (gpsd 3.22, gpsd.c, `handle_request`).
  func pass(_ bytes: [UInt8], to path: String) throws(GPSDError) {
    let digits = Array("0123456789abcdef")
    let text = String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    try socket.send("?DEVICE={\"path\":\"\(Self.escaped(path))\",\"hexdata\":\"\(text)\"};\n")
  }

  /// The next report. Lines that are not reports are skipped.
  /// - Throws: `connectionLost`, or `protocolViolation` for a line without end.
  mutating func nextReport(deadline: Int64?, wake: EventDescriptor) throws(GPSDError) -> Outcome {
    while true {
      while let line = nextLine() {
        lineNumber += 1
        if let report = decoder.decode(line) { return .report(report) }
        guard !hasUnreadable, !line.isEmpty else { continue }
        hasUnreadable = true
        return .unreadable(line: lineNumber, text: excerpt(line))
      }
      guard buffer.count <= Self.longestLine else {
        throw GPSDError(
          kind: .protocolViolation, operation: "read from", object: socket.address.description,
          cause: "a line is longer than \(Self.longestLine) bytes; is this a gpsd?")
      }
      switch try socket.receive(into: &buffer, deadline: deadline, wake: wake) {
      case .received: continue
      case .timedOut: return .timedOut
      case .interrupted: return .interrupted
      }
    }
  }

  private mutating func nextLine() -> ArraySlice<UInt8>? {
    guard let end = buffer[position...].firstIndex(of: UInt8(ascii: "\n")) else {
      buffer.removeFirst(position)
      position = 0
      return nil
    }
    var line = buffer[position..<end]
    position = end + 1
    if line.last == UInt8(ascii: "\r") { line.removeLast() }
    return line
  }

  private static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars where scalar.value >= 32 {
      if scalar == "\"" || scalar == "\\" { result += "\\" }
      result.unicodeScalars.append(scalar)
    }
    return result
  }
}
