internal import JSON
package import Sensors
internal import Spatial

/// A session of gpsd's protocol with one client, on the server's side: bytes in, bytes out.
///
/// The client is greeted with `greet`. Its requests are passed to `receive`, which returns the answers; the
/// fused state of each epoch is passed to `send`, which returns the reports that the client watches. The
/// session contains at most one incomplete request and the last report.
package struct GPSDSession: Sendable {
  /// The settings that all clients of a server share.
  package struct Configuration: Hashable, Sendable {
    /// Release in VERSION.
    package var release: String
    /// Path in DEVICE and in every report.
    package var device: String
    /// Interval between reports in s.
    package var interval: Double
    /// Shortest interval in s that a client can request with `?DEVICE={"cycle":…}`.
    package var shortestInterval: Double
    /// Sentences for clients that watch NMEA.
    package var writer: NMEAWriter
    /// True to report the attitude (ATT).
    package var attitude: Bool

    package init(
      release: String, device: String = "odograph", interval: Double = 1, shortestInterval: Double = 0.1,
      writer: NMEAWriter = NMEAWriter(), attitude: Bool = true
    ) {
      self.release = release
      self.device = device
      self.interval = interval
      self.shortestInterval = shortestInterval
      self.writer = writer
      self.attitude = attitude
    }
  }

  private let configuration: Configuration
  private var reader = GPSDRequestReader()
  private var policy = GPSDPolicy()
  private var interval: Double
  /// The last request of a Swift client; nil for other clients.
  private var request: AgentRequest?
  private var offer = AgentOffer(access: .denied)
  private var last: LocalReport?
  /// UTC time of the last report of the satellites; nil if it was unknown, and before the first.
  private var lastSky: UTCTime?
  /// UTC time of the first report since the client watches.
  private var activeSince: UTCTime?

  package init(_ configuration: Configuration) {
    self.configuration = configuration
    interval = configuration.interval
  }

  /// True from a `?WATCH` that enables the watch to one that disables it, and while a Swift client requests positions.
  package var isWatching: Bool { policy.isEnabled || request?.interval != nil }

  /// The samples that a Swift client requests and its access permits.
  package var samples: [SensorKind: SensorDemand] { offer.access == .exact ? request?.samples ?? [:] : [:] }

  /// The client's requirements; nil unless it watches.
  package var needs: LocalNeeds? {
    guard isWatching else { return nil }
    let usesAttitude =
      policy.isEnabled
      && (policy.json && configuration.attitude || sendsNMEA && configuration.writer.usesAttitude)
    let shortest = policy.isEnabled ? interval : .infinity
    let requested = request?.interval.map { max(configuration.shortestInterval, $0) }
    return LocalNeeds(interval: min(shortest, requested ?? .infinity), attitude: usesAttitude)
  }

  /// Returns the greeting for a new client.
  package mutating func greet() -> [UInt8] { line(writeVersion) }

  /// Sets the data that the agent provides. Returns the bytes for a Swift client; empty for others and without a change.
  package mutating func update(_ offer: AgentOffer) -> [UInt8] {
    guard offer != self.offer else { return [] }
    self.offer = offer
    return request == nil ? [] : line { offer.write(to: &$0) }
  }

  /// Processes bytes from the client. Returns the answers.
  package mutating func receive(_ bytes: some Sequence<UInt8>) -> [UInt8] {
    var answers: [UInt8] = []
    for byte in bytes {
      switch reader.add(byte) {
      case nil: break
      case .request(let request)?: answers += answer(request)
      case .tooLong?:
        answers += error("Request is longer than \(GPSDRequestReader.longestRequest) bytes")
      }
    }
    return answers
  }

  /// Accepts the report of an epoch. Returns the bytes for the client; empty if it does not watch.
  package mutating func send(_ report: LocalReport) -> [UInt8] {
    guard isWatching else { return [] }
    var output: [UInt8] = []
    if request?.interval != nil { output += line { reports.writeFused(report, to: &$0) } }
    guard policy.isEnabled else { return output }
    last = report
    if activeSince == nil, report.time != nil {
      activeSince = report.time
      // gpsd reports that the device is active.
      if policy.json { output += line(writeDevice) }
    }
    if policy.json {
      output += line { reports.writePosition(report, to: &$0) }
      if configuration.attitude, let attitude = report.attitude {
        output += line { reports.writeAttitude(attitude, at: report.time, to: &$0) }
      }
      if let receiver = report.receiver, isSkyDue(at: report.time) {
        lastSky = report.time
        output += line { reports.writeSky(receiver, at: report.time, to: &$0) }
      }
    }
    if sendsNMEA { configuration.writer.encode(report, into: &output) }
    return output
  }

  /// Returns whether a second has passed since the last report of the satellites, which is long.
  private func isSkyDue(at time: UTCTime?) -> Bool {
    guard let time, let lastSky else { return true }
    return abs(time.seconds(since: lastSky)) >= Self.skyInterval
  }

  /// Minimum interval in s between reports of the satellites. Receivers report them once a second.
  private static let skyInterval = 0.9

  private var sendsNMEA: Bool { policy.nmea || policy.raw > 0 }
  private var reports: GPSDReportWriter { GPSDReportWriter(device: configuration.device) }

  // MARK: Requests

  private mutating func answer(_ request: GPSDRequest) -> [UInt8] {
    switch request.name {
    case "VERSION": return line(writeVersion)
    case "DEVICES": return line(writeDevices)
    case "DEVICE": return answerDevice(request)
    case "WATCH": return answerWatch(request)
    case "POLL": return line(writePoll)
    case AgentRequest.name: return answerClient(request)
    default: return error("Unrecognized request '\(request.text)'")
    }
  }

  private mutating func answerWatch(_ request: GPSDRequest) -> [UInt8] {
    if request.argument != nil {
      let (members, fault) = object(of: request)
      guard let members else { return fault }
      var changed = policy
      do throws(GPSDPolicy.InvalidAttribute) {
        try changed.apply(members)
      } catch {
        return self.error("Invalid WATCH: invalid value of \(error.name)")
      }
      if let path = changed.device, path != configuration.device { return error("No such device as \(path)") }
      policy = changed
      if !policy.isEnabled { (last, lastSky, activeSince) = (nil, nil, nil) }
    }
    return line(writeDevices) + line { policy.write(to: &$0) }
  }

  private mutating func answerClient(_ request: GPSDRequest) -> [UInt8] {
    let (members, fault) = object(of: request)
    guard let members else { return fault }
    let isFirst = self.request == nil
    do throws(AgentRequest.InvalidMember) {
      self.request = try AgentRequest(members)
    } catch {
      return self.error("Invalid \(AgentRequest.name): invalid value of \(error.name)")
    }
    return isFirst ? line { offer.write(to: &$0) } : []
  }

  private mutating func answerDevice(_ request: GPSDRequest) -> [UInt8] {
    if request.argument != nil {
      let (members, fault) = object(of: request)
      guard let members else { return fault }
      switch members["path"] {
      case nil, .string(configuration.device)?: break
      case .string(let path)?: return error("Can't open \(path).")
      default: return error("Invalid DEVICE: invalid value of path")
      }
      switch members["cycle"] {
      case nil: break
      case .integer(let seconds)?: setInterval(Double(seconds))
      case .number(let seconds)?: setInterval(seconds)
      default: return error("Invalid DEVICE: invalid value of cycle")
      }
    }
    return line { writeDevice(to: &$0) }
  }

  private mutating func setInterval(_ seconds: Double) {
    interval = max(configuration.shortestInterval, min(seconds, 3600))
  }

  /// Returns the members of a request's object, or the answer to an invalid one.
  private func object(of request: GPSDRequest) -> ([String: JSONValue]?, [UInt8]) {
    do throws(JSONError) {
      if case .object(let members) = try JSONValue(parsing: request.argument ?? []) { return (members, []) }
      return (nil, error("Invalid \(request.name): not an object"))
    } catch {
      return (nil, self.error("Invalid \(request.name): \(error)"))
    }
  }

  // MARK: Answers

  private func writeVersion(to json: inout JSONWriter) {
    json.field("class", "VERSION")
    json.field("release", configuration.release)
    json.field("rev", configuration.release)
    json.field("proto_major", 3)
    json.field("proto_minor", 14)
  }

  private func writeDevices(to json: inout JSONWriter) {
    json.field("class", "DEVICES")
    json.key("devices")
    json.openArray()
    json.openObject()
    writeDevice(to: &json)
    json.closeObject()
    json.closeArray()
  }

  private func writeDevice(to json: inout JSONWriter) {
    reports.writeDevice(since: activeSince, interval: interval, to: &json)
  }

  private func writePoll(to json: inout JSONWriter) {
    json.field("class", "POLL")
    json.field("time", last?.time?.rfc3339)
    json.field("active", last == nil ? 0 : 1)
    json.key("tpv")
    json.openArray()
    if let last {
      json.openObject()
      reports.writePosition(last, to: &json)
      json.closeObject()
    }
    json.closeArray()
    json.key("gst")
    json.openArray()
    json.closeArray()
    json.key("sky")
    json.openArray()
    if let last, let receiver = last.receiver {
      json.openObject()
      reports.writeSky(receiver, at: last.time, to: &json)
      json.closeObject()
    }
    json.closeArray()
  }

  /// Returns an ERROR. Characters that are invisible on a terminal are escaped.
  private func error(_ message: String) -> [UInt8] {
    line {
      $0.field("class", "ERROR")
      $0.field("message", String(message.prefix(200)))
    }
  }

  private func line(_ body: (inout JSONWriter) -> Void) -> [UInt8] {
    var bytes = JSONWriter.object(body)
    bytes.append(contentsOf: "\r\n".utf8)
    return bytes
  }
}
