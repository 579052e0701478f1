internal import Positioning
internal import Spatial
internal import Telemetry

/// All that is known of one vehicle, in a pane.
struct DetailPane: Sendable {
  let record: VehicleRecord
  let now: Moment

  /// Lines of text; the compass rose at the right edge where there is room.
  func lines(columns: Int, rows: Int) -> [StyledText] {
    let showsRose = columns >= 48 && rows >= CompassRose.rows
    let width = showsRose ? columns - CompassRose.columns - 2 : columns
    var lines = self.lines(rows: rows).map { $0.fitted(to: width) }
    guard showsRose else { return lines }
    let course = record.isLocationStale ? nil : record.location?.message.location.course
    for (row, rose) in CompassRose.lines(heading: heading, course: course).enumerated() {
      while lines.count <= row { lines.append(StyledText().fitted(to: width)) }
      lines[row].append("  ")
      lines[row].append(rose)
    }
    return lines
  }

  private var heading: Double? {
    guard let heading = record.heading, record.state != .offline, !heading.isRetained else { return nil }
    return heading.message.trueHeading ?? heading.message.magneticHeading
  }

  private func lines(rows: Int) -> [StyledText] {
    var lines = [title]
    lines += [position, predicted, movement, attitude, power, storage, queue, regions].compactMap { $0 }
    let events = record.recentEvents.reversed().prefix(max(0, rows - lines.count - 1))
    if !events.isEmpty { lines.append(label("events", "")) }
    for event in events {
      var line = StyledText(
        "  " + QuantityText.age(max(0, now.seconds(since: event.receivedAt))), style: .dim)
      line = line.fitted(to: 10)
      line.append(event.message.summary)
      lines.append(line)
    }
    return lines
  }

  private func label(_ name: String, _ text: String, style: TextStyle = .plain) -> StyledText {
    var line = StyledText(name, style: TextStyle(.cyan)).fitted(to: 10)
    line.append(text, style: style)
    return line
  }

  private var title: StyledText {
    var line = StyledText(record.key.description, style: .bold)
    line.append("  ")
    line.append(VehicleRow.state(record.state))
    if let age = record.age(at: now) { line.append("  heard \(QuantityText.age(age)) ago", style: .dim) }
    if let version = status?["version"]?.string { line.append("  \(version)", style: .dim) }
    if let uptime = status?["uptime"]?.double { line.append("  up \(QuantityText.age(uptime))", style: .dim) }
    return line
  }

  private var position: StyledText? {
    guard let location = record.location?.message.location else { return label("position", "–") }
    var text = QuantityText.position(location.coordinate)
    if let accuracy = location.horizontalAccuracy {
      text += "  ±\(QuantityText.fixed(accuracy, decimals: accuracy < 10 ? 1 : 0) ?? "–") m"
    }
    if let altitude = location.altitude {
      text += "  alt \(QuantityText.fixed(altitude, decimals: 0) ?? "–") m"
    }
    if record.isLocationStale { text = "~" + text + "  last known" }
    if let received = record.location {
      text += "  \(QuantityText.age(received.age(at: now, time: received.message.time)))"
    }
    return label("position", text, style: record.isLocationStale ? .dim : .plain)
  }

  private var predicted: StyledText? {
    guard let shown = record.shownPosition(at: now), let bound = shown.bound else { return nil }
    let radius = QuantityText.fixed(bound, decimals: 0) ?? "–"
    return label(
      "predicted", "\(QuantityText.position(shown.coordinate))  within \(radius) m", style: TextStyle(.green))
  }

  private var movement: StyledText? {
    guard let location = record.location?.message.location, !record.isLocationStale else { return nil }
    var parts: [String] = []
    if let speed = location.speed { parts.append(QuantityText.speed(speed)) }
    if let course = location.course { parts.append("course \(QuantityText.direction(course))") }
    if let heading { parts.append("heading \(QuantityText.direction(heading))") }
    return parts.isEmpty ? nil : label("movement", parts.joined(separator: "  "))
  }

  private var attitude: StyledText? {
    guard let attitude = record.attitude, record.state != .offline, !attitude.isRetained else { return nil }
    func degrees(_ radians: Double) -> String {
      (QuantityText.fixed(radians.degrees, decimals: 1) ?? "–") + "°"
    }
    let value = attitude.message.attitude
    return label(
      "attitude", "roll \(degrees(value.roll))  pitch \(degrees(value.pitch))  yaw \(degrees(value.yaw))")
  }

  // MARK: What the status says of the vehicle's computer; whatever it says that is known here is shown.

  private var status: JSONValue? { try? JSONValue(parsing: record.statusPayload) }

  private var power: StyledText? {
    guard let status else { return nil }
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
    return parts.isEmpty ? nil : label("energy", parts.joined(separator: "  "))
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

  private var storage: StyledText? {
    guard let status else { return nil }
    var parts: [String] = []
    if let free = status["storage"]?["free"]?.double { parts.append("\(QuantityText.volume(free)) free") }
    if let problem = status["storeProblem"]?.string { parts.append(problem) }
    if let contact = status["nextContact"]?.string { parts.append("next contact \(contact)") }
    return parts.isEmpty ? nil : label("storage", parts.joined(separator: "  "))
  }

  private var queue: StyledText? {
    var parts = record.missing > 0 ? ["\(record.missing) missing"] : []
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
    return parts.isEmpty ? nil : label("queue", parts.prefix(8).joined(separator: "  "))
  }

  private var regions: StyledText? {
    let inside = record.insideRegions
    guard !inside.isEmpty || !record.regions.isEmpty else { return nil }
    var text = inside.isEmpty ? "outside" : "inside " + inside.joined(separator: ", ")
    if !record.regions.isEmpty { text += "  (watches \(record.regions.count))" }
    return label("regions", text)
  }
}
