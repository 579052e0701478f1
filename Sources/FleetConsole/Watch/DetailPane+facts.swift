internal import Fleet
internal import JSON
internal import Positioning
internal import Spatial
internal import Telemetry

extension DetailPane {
  /// What there is to tell in lines of its own; those without parts have nothing to tell.
  var facts: [(name: String, parts: [StyledText])] {
    [
      ("position", position), ("predicted", predicted), ("movement", plain(movement)),
      ("attitude", plain(attitude)), ("energy", plain(power)), ("storage", plain(storage)),
      ("queue", plain(queue)), ("regions", plain(regions)),
    ]
  }

  private func plain(_ texts: [String]) -> [StyledText] { texts.map { StyledText($0) } }

  var title: [StyledText] {
    var parts = [StyledText(record.key.description, style: .bold), VehicleRow.state(record.state)]
    if let age = record.age(at: now) {
      parts.append(StyledText("heard \(QuantityText.age(age)) ago", style: .dim))
    }
    if let version = status?["version"]?.string { parts.append(StyledText(version, style: .dim)) }
    if let uptime = status?["uptime"]?.double {
      parts.append(StyledText("up \(QuantityText.age(uptime))", style: .dim))
    }
    return parts
  }

  private var position: [StyledText] {
    guard let received = record.location else { return [StyledText("–")] }
    let location = received.message.location
    var parts = [(record.isLocationStale ? "~" : "") + QuantityText.position(location.coordinate)]
    if let accuracy = location.horizontalAccuracy {
      parts.append("±\(QuantityText.fixed(accuracy, decimals: accuracy < 10 ? 1 : 0) ?? "–") m")
    }
    if let altitude = location.altitude {
      parts.append("alt \(QuantityText.fixed(altitude, decimals: 0) ?? "–") m")
    }
    if record.isLocationStale { parts.append("last known") }
    parts.append(QuantityText.age(received.age(at: now, time: received.message.time)))
    return parts.map { StyledText($0, style: record.isLocationStale ? .dim : .plain) }
  }

  private var predicted: [StyledText] {
    guard let shown = record.shownPosition(at: now), let bound = shown.bound else { return [] }
    let radius = QuantityText.fixed(bound, decimals: 0) ?? "–"
    let texts = [QuantityText.position(shown.coordinate), "within \(radius) m"]
    guard shown.isPromised else {
      return (texts + ["bound withdrawn, growing"]).map { StyledText($0, style: TextStyle(.yellow)) }
    }
    return texts.map { StyledText($0, style: TextStyle(.green)) }
  }

  private var movement: [String] {
    guard let location = record.location?.message.location, !record.isLocationStale else { return [] }
    var parts: [String] = []
    if let speed = location.speed { parts.append(QuantityText.speed(speed)) }
    if let course = location.course { parts.append("course \(QuantityText.direction(course))") }
    if let heading { parts.append("heading \(QuantityText.direction(heading))") }
    return parts
  }

  private var attitude: [String] {
    guard let attitude = record.attitude, record.state != .offline, !attitude.isRetained else { return [] }
    func degrees(_ radians: Double) -> String {
      (QuantityText.fixed(radians.degrees, decimals: 1) ?? "–") + "°"
    }
    let value = attitude.message.attitude
    return ["roll \(degrees(value.roll))", "pitch \(degrees(value.pitch))", "yaw \(degrees(value.yaw))"]
  }

  // MARK: What the status says of the vehicle's computer; whatever it says that is known here is shown.

  private var status: JSONValue? { try? JSONValue(parsing: record.statusPayload) }

  private var power: [String] {
    guard let status else { return [] }
    var parts: [String] = []
    let battery = status["battery"]
    if let level = battery?["level"]?.double {
      parts.append("\(QuantityText.fixed(level * 100, decimals: 0) ?? "–") %")
    }
    if let volts = battery?["voltage"]?.double {
      parts.append("\(QuantityText.fixed(volts, decimals: 1) ?? "–") V")
    }
    if battery?["charging"]?.bool == true { parts.append("charging") }
    if let external = status["externalPower"]?.bool {
      parts.append(external ? "external power" : "no external power")
    }
    if let temperature = status["temperature"]?.double {
      parts.append("\(QuantityText.fixed(temperature, decimals: 0) ?? "–") °C")
    }
    if let energy = status["energy"] { parts += Self.largest(energy) }
    return parts
  }

  /// The joules of all parts, and the parts that used most.
  private static func largest(_ energy: JSONValue) -> [String] {
    guard case .object(let parts) = energy else { return [] }
    var texts =
      energy["total"]?.double.flatMap { QuantityText.fixed($0, decimals: 0) }.map { ["\($0) J"] } ?? []
    let used = parts.compactMap { name, part in part["joules"]?.double.map { (name: name, joules: $0) } }
    for part in used.sorted(by: { ($1.joules, $0.name) < ($0.joules, $1.name) }).prefix(3)
    where part.joules > 0 {
      texts.append("\(part.name) \(QuantityText.fixed(part.joules, decimals: 0) ?? "–") J")
    }
    return texts
  }

  private var storage: [String] {
    guard let status else { return [] }
    var parts: [String] = []
    if let free = status["storage"]?["free"]?.double { parts.append("\(QuantityText.volume(free)) free") }
    if let problem = status["storeProblem"]?.string { parts.append(problem) }
    if let contact = status["nextContact"]?.string { parts.append("next contact \(contact)") }
    return parts
  }

  private var queue: [String] {
    var parts = record.missing > 0 ? ["\(record.missing) missing"] : []
    if record.unreadable > 0 { parts.append("\(record.unreadable) unreadable") }
    if case .object(let queue)? = status?["queue"] {
      parts += queue.sorted { $0.key < $1.key }.compactMap { name, value in
        value.integer.map { "\(name) \($0)" }
      }
    }
    if case .object(let counters)? = status?["counters"] {
      parts += counters.sorted { $0.key < $1.key }.compactMap { name, value in
        value.integer.flatMap { $0 > 0 ? "\(name) \($0)" : nil }
      }
    }
    return Array(parts.prefix(8))
  }

  private var regions: [String] {
    let inside = record.insideRegions
    guard !inside.isEmpty || !record.regions.isEmpty else { return [] }
    let watched = record.regions.isEmpty ? [] : ["(watches \(record.regions.count))"]
    return (inside.isEmpty ? ["outside"] : ["inside " + inside.joined(separator: ", ")]) + watched
  }
}
