internal import Fleet
internal import Positioning
internal import Spatial
internal import Telemetry

/// All that is known of one vehicle, in a pane.
struct DetailPane: Sendable {
  let record: VehicleRecord
  let now: Moment

  /// Columns that the labels take.
  private static let indent = 10
  private static let roseColumns = CompassRose.columns + 2

  /// Lines of text, each of which fits; the compass rose at the right edge where there is room.
  /// - Parameter offset: lines that were scrolled away.
  func lines(columns: Int, rows: Int, offset: Int = 0) -> [StyledText] {
    let all = allLines(columns: columns, rows: rows)
    let rest = all.dropFirst(max(0, min(offset, all.count - rows)))
    guard rest.count > rows, rows > 0 else { return Array(rest) }
    var lines = Array(rest.prefix(rows - 1))
    let more = StyledText("… \(rest.count - rows + 1) lines more: J, back: K", style: .dim)
    lines.append(more.fitted(to: columns))
    return lines
  }

  /// By how many lines it can be scrolled.
  func mostOffset(columns: Int, rows: Int) -> Int {
    max(0, allLines(columns: columns, rows: rows).count - rows)
  }

  private func allLines(columns: Int, rows: Int) -> [StyledText] {
    // The title has the first row for itself.
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
    let course = record.isLocationStale ? nil : record.location?.message.location.course
    for (row, rose) in CompassRose.lines(heading: heading, course: course).enumerated() {
      while lines.count <= row + 1 { lines.append(StyledText().fitted(to: width(lines.count))) }
      lines[row + 1].append("  ")
      lines[row + 1].append(rose)
    }
    return lines
  }

  var heading: Double? {
    guard let heading = record.heading, record.state != .offline, !heading.isRetained else { return nil }
    return heading.message.trueHeading ?? heading.message.magneticHeading
  }
}
