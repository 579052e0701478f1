internal import Platform
internal import Recordings

/// A session with a gpsd: it sends requests and receives reports, one per line. Releasing the session closes
/// the connection and thereby ends its watch. When the last client stops watching, gpsd closes the receiver
/// and lets it sleep.
struct GPSDClientSession: ~Copyable {
  /// Maximum length of a line in bytes; gpsd's own limit is 10,240.
  private static let longestLine = 64 * 1024

  private let socket: GPSDSocket
  private let decoder: GPSDReportDecoder
  private var buffer: [UInt8] = []
  private var position = 0
  private var lineNumber = 0
  private var hasUnreadable = false

  /// The result of `nextReport`.
  enum Outcome: Equatable {
    case report(GPSDReport)
    /// A line that is not a report: its number on the connection, from 1, and its start. Only the first such
    /// line of a connection is returned.
    case unreadable(line: Int, text: String)
    case timedOut
    /// The event descriptor was signalled; it is not drained.
    case interrupted
  }

  /// - Parameters:
  ///   - deadline: time limit.
  ///   - wake: ends any wait if it is signalled.
  init(
    to address: GPSDAddress, decoder: GPSDReportDecoder, deadline: MonotonicTime, wake: EventDescriptor
  ) throws(GPSDError) {
    socket = try GPSDSocket(to: address, deadline: deadline, wake: wake)
    self.decoder = decoder
  }

  /// Requests live reports of one device or of all.
  func watch(device: String?) throws(GPSDError) {
    // libgps's gps_stream truncates a request at 80 characters, which paths below /dev/serial/by-id exceed,
    // and interprets percent signs in it as formats.
    let filter = device.map { ",\"device\":\"\(Self.escaped($0))\"" } ?? ""
    try socket.send("?WATCH={\"enable\":true,\"json\":true\(filter)};\n")
  }

  /// Requests the list of devices, without opening any.
  func requestDevices() throws(GPSDError) {
    try socket.send("?DEVICES;\n")
  }

  /// Passes bytes to a receiver unchanged. gpsd does that for every client unless it was started with `-b`;
  /// its manual does not mention it (gpsd 3.22, gpsd.c, `handle_request`).
  func pass(_ bytes: [UInt8], to path: String) throws(GPSDError) {
    let digits = Array("0123456789abcdef")
    let text = String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    try socket.send("?DEVICE={\"path\":\"\(Self.escaped(path))\",\"hexdata\":\"\(text)\"};\n")
  }

  /// Returns the next report. Lines that are not reports are skipped.
  /// - Throws: `connectionLost`, or `protocolViolation` for a line without an end.
  mutating func nextReport(deadline: MonotonicTime?, wake: EventDescriptor) throws(GPSDError) -> Outcome {
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
