internal import JSON
package import Sensors
package import Spatial

/// Reads an agent's reports on the side of a client: bytes in, values out. It contains at most one incomplete line.
package struct AgentReader: Sendable {
  package enum Report: Hashable, Sendable {
    case offer(AgentOffer)
    case event(SensorEvent)
  }

  /// The peer is not an agent, or has refused the connection.
  package struct Failure: Error, Hashable, Sendable {
    package var reason: String
  }

  private var line: [UInt8] = []
  /// True while the rest of a line that was too long is ignored.
  private var isSkipping = false

  /// Maximum length of a line in bytes.
  private static let longestLine = 65_536
  /// Maximum age in s of a position's time. Older times are of another clock and replaced by that of arrival.
  private static let oldest = 60.0

  package init() {}

  /// Returns the reports in received bytes. Unknown reports are ignored.
  /// - Parameter now: time since boot.
  /// - Throws: `Failure`; close the connection then.
  package mutating func receive(
    _ bytes: some Sequence<UInt8>, at now: Timestamp
  ) throws(Failure) -> [Report] {
    var reports: [Report] = []
    for byte in bytes {
      guard byte == UInt8(ascii: "\n") else {
        if !isSkipping { line.append(byte) }
        if line.count > Self.longestLine { (isSkipping, line) = (true, []) }
        continue
      }
      defer { (isSkipping, line) = (false, []) }
      if !isSkipping, let report = try Self.report(line, at: now) { reports.append(report) }
    }
    return reports
  }

  private static func report(_ line: [UInt8], at now: Timestamp) throws(Failure) -> Report? {
    let json: JSONValue
    do throws(JSONError) {
      json = try JSONValue(parsing: line)
    } catch {
      throw Failure(reason: "it does not send the reports of an agent")
    }
    switch json["class"]?.string {
    case "TPV"?: return .event(.position([fix(json, at: now)]))
    case AgentRequest.name?: return AgentOffer(json).map(Report.offer)
    case "ERROR"?:
      let message = json["message"]?.string ?? "unknown error"
      if message.contains("?\(AgentRequest.name)") {
        throw Failure(reason: "it is a gpsd or an old agent without this service")
      }
      throw Failure(reason: message)
    case let name?: return SampleLines.decode(name: name, json).map(Report.event)
    case nil: return nil
    }
  }

  private static func fix(_ json: JSONValue, at now: Timestamp) -> PositionFix {
    func number(_ name: String, least: Double = -.infinity) -> Double? {
      json[name]?.double.flatMap { $0.isFinite && $0 >= least ? $0 : nil }
    }
    var time = json["clock"]?.integer.map { Timestamp(nanoseconds: $0) } ?? now
    if abs(now.seconds(since: time)) > oldest { time = now }
    var fix = PositionFix(
      timestamp: time, time: json["time"]?.string.flatMap { UTCTime(rfc3339: $0) },
      mode: json["mode"]?.integer.flatMap { FixMode(rawValue: Int(clamping: $0)) } ?? .noFix)
    fix.receiver = "odographd"
    fix.positionSource = json["source"]?.string.flatMap(PositionSource.init) ?? .gnss
    guard fix.mode != .noFix, let latitude = number("lat"), let longitude = number("lon") else { return fix }
    let coordinate = Coordinate(latitude: latitude, longitude: longitude)
    guard coordinate.isValid else { return fix }
    fix.coordinate = coordinate
    fix.altitudeEllipsoidal = number("altHAE")
    fix.altitudeMeanSeaLevel = number("altMSL")
    fix.speed = number("speed", least: 0)
    fix.course = number("track").map(normalizedDegrees)
    fix.horizontalError = number("eph", least: 0).map { $0 / ErrorRadius.wide(radius: 1) }
    fix.verticalError = number("epv", least: 0).map { $0 / ErrorRadius.wide(deviation: 1) }
    fix.speedError = number("eps", least: 0).map { $0 / ErrorRadius.wide(deviation: 1) }
    fix.courseError = number("epd", least: 0).map { $0 / ErrorRadius.wide(deviation: 1) }
    return fix
  }
}
