package import JSON
internal import Sensors
internal import Telemetry

/// Formats the status document for users.
package enum StatusText {
  package static func lines(_ document: JSONValue) -> [String] {
    let status = document["status"]
    var lines = [
      row(
        "agent",
        "\(document["vehicle"]?.string ?? "starting")"
          + (document["preset"]?.string).map { ", preset \($0)" }.orEmpty
          + ", version \(document["version"]?.string ?? "?")"
          + (status?["uptime"]?.double).map { ", up \(duration($0))" }.orEmpty)
    ]
    if let stuck = document["stuck"]?.array {
      lines.append(row("STUCK", stuck.compactMap(\.string).joined(separator: ", ")))
    }
    if let age = document["age"]?.double, age > 2 {
      lines.append(row("NOTE", "the pipeline is busy: the following values are \(duration(age)) old"))
    }
    lines += clock(status) + sources(status) + sensors(document) + motion(document) + navigation(status)
    lines += odometer(status)
    lines += bus(document) + location(document) + local(document)
    lines += queue(status) + broker(document) + energy(status)
    if let last = document["problems"]?.array?.last {
      lines.append(row("last error", "\(last["time"]?.string ?? "") \(last["text"]?.string ?? "")"))
    } else {
      lines.append(row("last error", "none"))
    }
    return lines
  }

  private static func row(_ name: String, _ text: String) -> String {
    name + String(repeating: " ", count: max(1, 14 - name.count)) + text
  }

  /// Describes the clock if it is not synchronized or was set.
  private static func clock(_ status: JSONValue?) -> [String] {
    guard let clock = status?["clock"]?.string, clock != StatusMessage.Clock.system.rawValue else {
      return []
    }
    let step = (status?["clockStep"]?.double).map { ", last set by \($0) s" }.orEmpty
    if clock == StatusMessage.Clock.receiver.rawValue { return [row("clock", "the receiver's\(step)")] }
    return [
      row("CLOCK", "not synchronized, times may be wrong\(step); run a time daemon, or wait for a fix")
    ]
  }

  private static func sources(_ status: JSONValue?) -> [String] {
    (status?["sources"]?.array ?? []).map { source in
      row(
        "source",
        "\(source["name"]?.string ?? "?") \(source["state"]?.string ?? "?")"
          + (source["reason"]?.string).map { ": \($0)" }.orEmpty)
    }
  }

  private static func sensors(_ document: JSONValue) -> [String] {
    guard case .object(let kinds)? = document["sensors"] else { return [] }
    return kinds.sorted { $0.key < $1.key }.map { kind, sensor in
      var parts = ["\(kind):"]
      if let rate = sensor["rate"]?.double { parts.append("\(rounded(rate, 10)) Hz,") }
      parts.append("\(duration(sensor["age"]?.double ?? 0)) ago,")
      parts.append("\(sensor["samples"]?.integer ?? 0) samples")
      return row("sensor", parts.joined(separator: " "))
    }
  }

  private static func motion(_ document: JSONValue) -> [String] {
    guard let motion = document["motion"] else { return [] }
    guard let attitude = motion["attitude"]?.bool else {
      let service = document["status"]?["services"]?["attitude"]?.string
      let reason = service.flatMap { $0 == "available" ? nil : $0 }
      return [row("attitude", reason ?? "no inertial sample yet")]
    }
    var parts = [attitude ? "known" : "unknown", "in \(motion["frame"]?.string ?? "?")"]
    if let accuracy = motion["headingAccuracy"]?.double { parts.append("heading within \(accuracy)°") }
    if let level = motion["calibration"]?.string { parts.append("magnetometer \(level)") }
    if motion["atRest"]?.bool == true { parts.append("at rest") }
    if let orientation = document["status"]?["orientation"]?.string { parts.append(orientation) }
    let level = document["status"]?["level"]?["tilt"]?.double
    let instruction = document["status"]?["compass"]?["calibrationInstruction"]?.string
    return [row("attitude", parts.joined(separator: ", "))]
      + (level.map { [row("level", "the device's tilt of \($0)° is removed")] } ?? [])
      + (instruction.map { [row("CALIBRATE", $0)] } ?? [])
  }

  private static func navigation(_ status: JSONValue?) -> [String] {
    guard let report = NavigationReport(json: status?["navigation"]) else { return [] }
    var parts = [report.state.rawValue]
    if let vehicle = report.vehicle, vehicle != "wheeled" { parts[0] += " (\(vehicle))" }
    if let reason = report.reason { parts[0] += ": \(reason)" }
    if let source = report.positionSource {
      parts.append(source.rawValue + (source == .inertial ? " for \(duration(report.sinceFix ?? 0))" : ""))
    }
    if let accuracy = report.horizontalAccuracy { parts.append("±\(rounded(accuracy, 10)) m") }
    if let heading = report.heading {
      parts.append("heading \(rounded(heading, 1))° ±\(rounded(report.headingAccuracy ?? 180, 10))°")
    }
    if let accuracy = report.mountingAccuracy { parts.append("mounting ±\(rounded(accuracy, 10))°") }
    return [row("navigation", parts.joined(separator: ", "))]
  }

  private static func odometer(_ status: JSONValue?) -> [String] {
    guard let metres = status?["odometer"]?.double else { return [] }
    var parts = ["\(rounded(metres / 1000, 10)) km"]
    if let estimated = status?["odometerEstimated"]?.double {
      parts.append("\(rounded(estimated / 1000, 10)) km of it estimated")
    }
    if let share = status?["odometerDisagreement"]?.double {
      parts.append("the vehicle's own says \(rounded(abs(100 * share), 10)) % \(share > 0 ? "less" : "more")")
    }
    return [row("odometer", parts.joined(separator: ", "))]
  }

  /// Describes the signals of the CAN bus; empty if it is not read.
  private static func bus(_ document: JSONValue) -> [String] {
    guard let bus = document["bus"], let report = try? VehicleSignals(json: bus) else { return [] }
    let parts = report.signals.map { signal in
      let value =
        switch signal.value {
        case .number(let number): "\(rounded(number, 10))"
        case .flag(let flag): "\(flag)"
        case .text(let text): text
        }
      return "\(signal.path.split(separator: ".").dropFirst().joined(separator: ".")) \(value)"
    }
    return [row("vehicle bus", parts.isEmpty ? "has no valid data" : parts.joined(separator: ", "))]
  }

  private static func location(_ document: JSONValue) -> [String] {
    let state = document["status"]?["authorization"]?.string
    let service = document["status"]?["services"]?["location"]?.string
    let reason = service.flatMap { $0 == "available" || $0 == state ? nil : $0 }
    guard let location = document["location"], let latitude = location["latitude"]?.double,
      let longitude = location["longitude"]?.double
    else {
      return [
        row("location", "none yet" + state.map { ", \($0)" }.orEmpty + reason.map { ": \($0)" }.orEmpty)
      ]
    }
    var parts = ["\(latitude) \(longitude)"]
    if let accuracy = location["horizontalAccuracy"]?.double { parts.append("±\(rounded(accuracy, 10)) m") }
    if let age = document["locationAge"]?.double { parts.append("\(duration(age)) ago") }
    if let state { parts.append(state) }
    return [row("location", parts.joined(separator: ", ") + reason.map { ": \($0)" }.orEmpty)]
  }

  /// Describes the services for programs on this machine.
  private static func local(_ document: JSONValue) -> [String] {
    var services = (document["local"]?.array ?? []).map { service in
      let (connections, watching) = (service["connections"]?.integer ?? 0, service["watching"]?.integer ?? 0)
      var parts = ["\(service["service"]?.string ?? "?"): \(connections) connected, \(watching) watching"]
      for (name, text) in [
        ("refused", "refused"), ("dropped", "reports dropped"), ("disconnected", "disconnected"),
      ] {
        if let count = service[name]?.integer, count > 0 { parts.append("\(count) \(text)") }
      }
      return row("local", parts.joined(separator: ", "))
    }
    if let proxy = document["sensorProxy"] {
      let claims = ["accelerometer", "compass"].map { "\($0) claimed by \(proxy[$0]?.integer ?? 0)" }
      let parts =
        [proxy["problem"]?.string].compactMap { $0 } + (proxy["connected"]?.bool == true ? claims : [])
      services.append(row("local", "D-Bus: \(parts.joined(separator: ", "))"))
    }
    guard let seconds = document["localReceiverSeconds"]?.double, seconds > 0 else { return services }
    return services + [row("local", "the receiver was required for \(duration(seconds))")]
  }

  private static func queue(_ status: JSONValue?) -> [String] {
    guard let counters = status?["counters"], let records = counters["queue.records"]?.integer else {
      return []
    }
    let lanes = ["events", "state", "tracks", "other"].compactMap { lane -> String? in
      guard let count = counters["queue.\(lane)"]?.integer, count > 0 else { return nil }
      return "\(lane) \(count)"
    }
    var text = "\(records) waiting" + (lanes.isEmpty ? "" : " (\(lanes.joined(separator: ", ")))")
    text += ", \(counters["messages.acknowledged"]?.integer ?? 0) delivered"
    if let dead = counters["queue.dead"]?.integer, dead > 0 { text += ", \(dead) refused for good" }
    if let problem = status?["storeProblem"]?.string { text += ", IN MEMORY ONLY: \(problem)" }
    return [row("queue", text)] + (status?["deliveryProblem"]?.string.map { [row("REFUSED", $0)] } ?? [])
      + (status?["functionProblem"]?.string.map { [row("NOT ACTIVE", $0)] } ?? [])
  }

  private static func broker(_ document: JSONValue) -> [String] {
    guard let broker = document["broker"] else { return [row("broker", "none: messages are printed")] }
    let isConnected = broker["connected"]?.bool ?? false
    var text = "\(broker["address"]?.string ?? "?") " + (isConnected ? "connected" : "not connected")
    if let since = broker["since"]?.double { text += " for \(duration(since))" }
    text += ", link \(broker["link"]?.string ?? "?"), keepalive \(broker["keepalive"]?.integer ?? 0) s"
    if let problem = broker["problem"]?.string { text += ": \(problem)" }
    return [row("broker", text)]
  }

  private static func energy(_ status: JSONValue?) -> [String] {
    guard case .object(let parts)? = status?["energy"], let total = parts["total"]?.double else { return [] }
    let shares = parts.compactMap { name, part in part["joules"]?.double.map { (name, $0) } }
      .filter { $0.1 > 0 }.sorted { ($1.1, $0.0) < ($0.1, $1.0) }
    return [
      row(
        "energy",
        "\(rounded(total, 10)) J"
          + (shares.isEmpty
            ? "" : ": " + shares.map { "\($0.0) \(rounded($0.1, 10))" }.joined(separator: ", ")))
    ]
  }

  /// Formats a duration, as in "2 h 5 min" or "0.3 s".
  static func duration(_ seconds: Double) -> String {
    guard seconds.isFinite else { return "?" }
    if seconds < 10 { return "\(rounded(seconds, 10)) s" }
    let whole = Int(min(seconds, 1e12))
    switch whole {
    case ..<120: return "\(whole) s"
    case ..<7200: return "\(whole / 60) min"
    case ..<172_800: return "\(whole / 3600) h \(whole / 60 % 60) min"
    default: return "\(whole / 86_400) d \(whole / 3600 % 24) h"
    }
  }

  private static func rounded(_ value: Double, _ steps: Double) -> Double {
    (value * steps).rounded() / steps
  }
}

extension String? {
  fileprivate var orEmpty: String { self ?? "" }
}

/// State of the agent in one line for the service manager.
enum StatusLine {
  static func text(_ snapshot: AgentSnapshot) -> String {
    var parts: [String] = []
    if let age = snapshot.activity[.positioning]?.age {
      parts.append("position \(Int(max(0, age))) s old")
    } else {
      parts.append("no position yet")
    }
    if let link = snapshot.link {
      parts.append(link.isConnected ? "broker connected" : link.isInBursts ? "link closed" : "no broker")
      parts.append("\(snapshot.status.counters["queue.records"] ?? 0) queued")
    }
    if snapshot.status.storeProblem != nil { parts.append("store in memory only") }
    return parts.joined(separator: ", ")
  }
}
