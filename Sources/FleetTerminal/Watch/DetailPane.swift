package import Fleet
package import FleetProgram
internal import Glibc
package import JSON
internal import Sensors
internal import Spatial
internal import Telemetry
internal import VehicleData

/// A pane with all details of one vehicle.
package struct DetailPane: Sendable {
  package let record: VehicleRecord
  package let now: Moment

  /// The width of the labels in columns.
  private static let indent = 10
  private static let roseColumns = CompassRose.columns + 2

  /// Returns the lines that fit; the compass rose is at the right edge if there is space.
  /// - Parameter offset: the number of lines scrolled away.
  package func lines(columns: Int, rows: Int, offset: Int = 0) -> [StyledText] {
    let all = allLines(columns: columns, rows: rows)
    let rest = all.dropFirst(max(0, min(offset, all.count - rows)))
    guard rest.count > rows, rows > 0 else { return Array(rest) }
    var lines = Array(rest.prefix(rows - 1))
    let more = StyledText("… \(rest.count - rows + 1) lines more: J, back: K", style: .dim)
    lines.append(more.fitted(to: columns))
    return lines
  }

  /// Returns the maximum number of lines that can be scrolled.
  func mostOffset(columns: Int, rows: Int) -> Int {
    max(0, allLines(columns: columns, rows: rows).count - rows)
  }

  private func allLines(columns: Int, rows: Int) -> [StyledText] {
    // The compass rose starts below the first row, which contains only the title.
    let showsRose = columns >= 48 && rows > CompassRose.rows
    func width(_ row: Int) -> Int {
      showsRose && (1...CompassRose.rows).contains(row) ? columns - Self.roseColumns : columns
    }
    var text = WrappedText(width: width)
    text.append(StyledText(), indent: 0, parts: title)
    for (name, parts) in facts where !parts.isEmpty {
      text.append(StyledText(name, style: TextStyle(.cyan)), indent: Self.indent, parts: parts)
    }
    for (place, event) in record.recentEvents.reversed().enumerated() {
      let age = QuantityText.age(max(0, now.seconds(since: event.receivedAt)))
      var line = StyledText(age, style: .dim).fitted(to: 8)
      line.append(event.message.summary)
      let label = StyledText(place == 0 ? "events" : "", style: TextStyle(.cyan))
      text.append(label, indent: Self.indent, parts: [line])
    }
    var lines = text.lines.enumerated().map { $1.fitted(to: width($0)) }
    guard showsRose else { return lines }
    let course = record.isMotionCurrent(at: now) ? record.location?.message.location.course : nil
    for (row, rose) in CompassRose.lines(heading: heading, course: course).enumerated() {
      while lines.count <= row + 1 { lines.append(StyledText().fitted(to: width(lines.count))) }
      lines[row + 1].append("  ")
      lines[row + 1].append(rose)
    }
    return lines
  }

  package var heading: Double? {
    guard let heading = record.heading, record.state != .offline, !heading.isRetained else { return nil }
    return heading.message.trueHeading ?? heading.message.magneticHeading
  }
}

extension DetailPane {
  /// The details with their labels; empty details are omitted.
  var facts: [(name: String, parts: [StyledText])] {
    [
      ("position", position), ("predicted", predicted), ("updates", updates), ("movement", plain(movement)),
      ("attitude", plain(attitude)), ("height", plain(height)), ("compass", compass),
      ("trip", trip), ("driving", driving), ("bus", bus), ("inertial", navigation), ("energy", plain(power)),
      ("storage", plain(storage)),
      ("queue", plain(queue)), ("regions", plain(regions)),
    ]
  }

  private func plain(_ texts: [String]) -> [StyledText] { texts.map { StyledText($0) } }

  package var title: [StyledText] {
    var parts = [StyledText(record.key.description, style: .bold), VehicleRow.state(record.state)]
    if let age = record.age(at: now) {
      parts.append(StyledText("heard \(QuantityText.age(age)) ago", style: .dim))
    }
    if let lead = record.clockLead {
      parts.append(StyledText("clock ahead by \(QuantityText.age(lead))", style: TextStyle(.yellow)))
    }
    if let lag = record.clockLag {
      parts.append(StyledText("clock behind by \(QuantityText.age(lag))", style: TextStyle(.yellow)))
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
    var parts = [(record.isLocationStale(at: now) ? "~" : "") + QuantityText.position(location.coordinate)]
    if let accuracy = location.horizontalAccuracy {
      parts.append("±\(QuantityText.fixed(accuracy, decimals: accuracy < 10 ? 1 : 0) ?? "–") m")
    }
    if location.positionSource == .inertial { parts.append("dead reckoning without a receiver") }
    if location.positionSource == .coarse { parts.append("access points or cells") }
    if let suspicion = location.suspicion {
      parts.append("suspect: \(suspicion.reason.problem)")
    } else if location.contradictsBeacons {
      parts.append("contradicts access points and cells")
    }
    if let altitude = location.altitude {
      parts.append("alt \(QuantityText.fixed(altitude, decimals: 0) ?? "–") m")
    }
    if let odometer = location.odometer {
      let estimated =
        odometer.estimated >= 100 ? ", \(Self.kilometres(odometer.estimated)) of it estimated" : ""
      parts.append("odometer \(Self.kilometres(odometer.distance))\(estimated)")
    }
    if record.isLocationStale(at: now) { parts.append("last known") }
    parts.append(QuantityText.age(received.age(at: now, time: received.message.time)))
    return parts.map { StyledText($0, style: record.isLocationStale(at: now) ? .dim : .plain) }
  }

  private static func kilometres(_ metres: Double) -> String {
    "\(QuantityText.fixed(metres / 1000, decimals: 1) ?? "–") km"
  }

  private var predicted: [StyledText] {
    guard let shown = record.shownPosition(at: now), shown.bound != nil else { return [] }
    let radius = shown.radius.flatMap { QuantityText.fixed($0, decimals: 0) }
    let within = radius.map { "within \($0) m" } ?? "accuracy unknown"
    let texts = [QuantityText.position(shown.coordinate), within]
    guard shown.isPromised else {
      return (texts + ["bound no longer guaranteed"]).map { StyledText($0, style: TextStyle(.yellow)) }
    }
    return texts.map { StyledText($0, style: TextStyle(.green)) }
  }

  /// The reason why locations are missing, with its remedy; empty if the vehicle has sent a location since.
  private var updates: [StyledText] {
    guard let event = record.locationEvent, record.state != .offline else { return [] }
    if let location = record.location, location.message.time > event.message.time { return [] }
    switch event.message.event {
    case .paused: return [StyledText("paused"), StyledText(event.message.reason ?? "", style: .dim)]
    case .failed:
      return [event.message.reason, event.message.remedy].compactMap { $0 }.map {
        StyledText($0, style: TextStyle(.yellow))
      }
    case .recovered, .resumed, .deferralEnded, .suspect, .plausible, .other: return []
    }
  }

  // MARK: State of the vehicle's computer from its status

  package var status: JSONValue? { try? JSONValue(parsing: record.statusPayload) }

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

  /// Returns the total energy and the largest consumers.
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
    if let problem = status["deliveryProblem"]?.string { parts.append(problem) }
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
    let states = record.regionStates
    let count = states?.count ?? record.regions.count
    guard !inside.isEmpty || count > 0 else { return [] }
    var parts = inside.map { identifier in
      let since = states?.regions.first { $0.identifier == identifier && $0.state == .inside }?.since
      let age = since.map { " for \(QuantityText.age(max(0, now.time.seconds(since: $0))))" }
      return "inside \(identifier)\(age ?? "")"
    }
    // `outside` is shown only if no state is unknown, because the vehicle can be inside a region whose state
    // is unknown.
    let unknown = states?.regions.count { $0.state == .unknown } ?? 0
    if let states, unknown > 0 {
      parts.append(unknown == states.count ? "not known yet" : "\(unknown) not known yet")
    } else if inside.isEmpty {
      parts.append(states == nil ? "not reported" : "outside")
    }
    return parts + (count > 0 ? ["(watches \(count))"] : [])
  }
}

/// A compass drawn in characters: the needle shows the vehicle's heading, the dot its course.
enum CompassRose {
  static let columns = 13
  static let rows = 7

  /// Returns the drawing.
  ///
  /// - Parameters:
  ///   - heading: degrees clockwise from north; nil for no needle.
  ///   - course: degrees clockwise from north; nil for no dot.
  static func lines(heading: Double?, course: Double?) -> [StyledText] {
    var canvas = BrailleCanvas(columns: columns, rows: rows)
    let center = SIMD2(Double(canvas.width) / 2 - 0.5, Double(canvas.height) / 2 - 0.5)
    canvas.ellipse(center: center, radius: SIMD2(10, 10), style: .dim)
    func place(_ degrees: Double, _ radius: Double) -> SIMD2<Double> {
      center + radius * SIMD2(sin(degrees.radians), -cos(degrees.radians))
    }
    if let heading, heading.isFinite {
      let style = TextStyle(.green, bold: true)
      canvas.line(from: place(heading + 180, 4), to: place(heading, 9), style: style)
      canvas.line(from: place(heading, 9), to: place(heading + 25, 6), style: style)
      canvas.line(from: place(heading, 9), to: place(heading - 25, 6), style: style)
    }
    if let course, course.isFinite {
      let point = place(course, 9)
      canvas.put(
        StyledText("•", style: TextStyle(.cyan, bold: true)), column: Int(point.x / 2), row: Int(point.y / 4))
    }
    canvas.put(StyledText("N", style: .bold), column: columns / 2, row: 0)
    canvas.put(StyledText("E", style: .dim), column: columns - 1, row: rows / 2)
    canvas.put(StyledText("S", style: .dim), column: columns / 2, row: rows - 1)
    canvas.put(StyledText("W", style: .dim), column: 0, row: rows / 2)
    return (0..<rows).map { canvas[row: $0] }
  }
}

/// Text wrapped in rows of different widths. A part is only broken if it is wider than a row.
package struct WrappedText {
  package private(set) var lines: [StyledText] = []
  /// Returns the width of a row in columns.
  private let width: (Int) -> Int

  /// Creates an empty text.
  ///
  /// - Parameter width: returns the width of a row, counted from 0.
  package init(width: @escaping (Int) -> Int) { self.width = width }

  /// Appends a line with a label and parts, which continue on further lines if necessary.
  ///
  /// - Parameter indent: the width of the label and the indentation of the lines below.
  package mutating func append(_ label: StyledText, indent: Int, parts: [StyledText]) {
    var line = indent > 0 ? label.fitted(to: indent) : label
    var isEmpty = indent > 0 || label.width == 0
    for part in parts {
      // Each word must also fit in the next row, which can be shorter, because it can be moved there.
      for word in split(part, room: min(width(lines.count), width(lines.count + 1)) - indent) {
        let gap = isEmpty ? 0 : 2
        if !isEmpty, line.width + gap + word.width > width(lines.count) {
          lines.append(line)
          line = StyledText().fitted(to: indent)
          line.append(word)
        } else {
          if !isEmpty { line.append("  ") }
          line.append(word)
        }
        isEmpty = false
      }
    }
    lines.append(line)
  }

  /// Splits a part that is wider than a row: at a space, or without one after the last character that fits.
  private func split(_ part: StyledText, room: Int) -> [StyledText] {
    let room = max(2, room)
    guard part.width > room else { return [part] }
    var pieces: [StyledText] = []
    var rest = part.cells[...]
    while rest.count > room {
      let blank = rest.prefix(room + 1).lastIndex { $0.text == " " }
      var end = blank.flatMap { $0 > rest.startIndex ? $0 : nil } ?? rest.startIndex + room
      // Both halves of a wide character stay together.
      if rest[end].width == 0, end - 1 > rest.startIndex { end -= 1 }
      pieces.append(StyledText(cells: Array(rest[..<end])))
      rest = rest[end...].drop { $0.text == " " }
    }
    if !rest.isEmpty { pieces.append(StyledText(cells: Array(rest))) }
    return pieces
  }
}
