internal import Spatial

extension WatchView {
  /// Messages and bytes in a second.
  struct Rates: Hashable, Sendable {
    var messages = 0.0
    var bytes = 0.0
  }

  /// The whole screen: head, titles, vehicles, foot.
  /// - Parameter trouble: why there is no connection; nil when there is one.
  func frame(of snapshot: Snapshot, at now: Moment, rates: Rates, trouble: String?) -> Frame {
    var frame = Frame(size: size)
    frame.put(head(of: snapshot), row: 0)
    let layout = WatchColumn.layout(width: size.columns, longestName: snapshot.longestName)
    frame.put(titles(layout), row: 1)
    for (place, record) in snapshot.visible.enumerated() {
      let row = VehicleRow(record: record, now: now, namesFleet: snapshot.fleets.count > 1)
      let line = Self.line(row, layout)
      let isChosen = place == snapshot.selectedRow
      frame.put(
        isChosen ? line.fitted(to: size.columns).styled(TextStyle(reversed: true)) : line, row: 2 + place)
    }
    drawPanes(of: snapshot, at: now, on: &frame)
    if snapshot.visible.isEmpty, size.rows > 4 {
      let hint = snapshot.total > 0 ? "no vehicle matches the filter" : "waiting for the first vehicle"
      frame.put(StyledText(hint, style: .dim), row: 2)
    }
    if size.rows > 3 { frame.put(foot(of: snapshot, rates: rates, trouble: trouble), row: size.rows - 1) }
    return frame
  }

  /// One vehicle in the columns given.
  static func line(_ row: VehicleRow, _ layout: [(column: WatchColumn, width: Int)]) -> StyledText {
    var line = StyledText()
    for (place, (column, width)) in layout.enumerated() {
      if place > 0 { line.append(String(repeating: " ", count: WatchColumn.gap)) }
      line.append(row.text(column, width: width).fitted(to: width, alignment: column.alignment))
    }
    return line
  }

  func titles(_ layout: [(column: WatchColumn, width: Int)]) -> StyledText {
    var line = StyledText()
    for (place, (column, width)) in layout.enumerated() {
      if place > 0 { line.append(String(repeating: " ", count: WatchColumn.gap)) }
      let isSorted = order.criterion.column == column
      let mark = isSorted ? (order.isReversed ? " ▾" : " ▴") : ""
      let title = StyledText(column.title + mark, style: TextStyle(.cyan, bold: isSorted))
      line.append(title.fitted(to: width, alignment: column.alignment))
    }
    return line
  }

  private func head(of snapshot: Snapshot) -> StyledText {
    var left = StyledText("odograph", style: .bold)
    left.append("  " + title)
    if snapshot.fleets.count == 1, let fleet = snapshot.fleets.first {
      left.append("  fleet ", style: .dim)
      left.append(fleet)
    }
    return spread(left, [true, false].map { counts(of: snapshot, withNames: $0) })
  }

  /// How many vehicles are in which state.
  private func counts(of snapshot: Snapshot, withNames: Bool) -> StyledText {
    var text = StyledText("\(snapshot.total) vehicle\(snapshot.total == 1 ? "" : "s")")
    for state in VehicleState.allCases {
      let count = snapshot.counts[state] ?? 0
      // Online is always told; the others when there are any.
      guard count > 0 || state == .online else { continue }
      let sign = VehicleRow.state(state)
      text.append("  ")
      text.append(StyledText(cells: Array(sign.cells.prefix(1))))
      text.append(" \(count)" + (withNames ? " \(state.rawValue)" : ""))
    }
    return text
  }

  private func foot(of snapshot: Snapshot, rates: Rates, trouble: String?) -> StyledText {
    if isEditingFilter {
      var line = StyledText("filter: ", style: TextStyle(.cyan))
      line.append(filter.text)
      line.append(" ", style: TextStyle(reversed: true))
      line.append("  \(snapshot.matching) of \(snapshot.total)", style: .dim)
      return spread(line, [StyledText("enter keep  esc clear", style: .dim)])
    }
    let all = "q quit  / filter  s sort  r reverse  ⏎ details  m map" + (showsMap ? "  +- zoom" : "")
    let keys = [all, "q quit  / filter  ⏎ details  m map", "q quit  / filter", "q quit"].map {
      StyledText($0, style: .dim)
    }
    if let trouble { return spread(StyledText(trouble, style: TextStyle(.red)), keys) }
    var parts = ["\(QuantityText.fixed(rates.messages, decimals: 0) ?? "0") msg/s"]
    parts.append(QuantityText.byteRate(rates.bytes))
    if let median = snapshot.medianDelay, let tail = snapshot.tailDelay {
      parts.append("delay \(QuantityText.delay(median)), 95 % \(QuantityText.delay(tail))")
    }
    let counters = snapshot.counters
    if snapshot.missing > 0 { parts.append("\(snapshot.missing) missing") }
    if counters.malformed > 0 { parts.append("\(counters.malformed) unreadable") }
    if counters.refused > 0 { parts.append("\(counters.refused) without room") }
    if snapshot.matching > snapshot.visible.count || !filter.text.isEmpty {
      let last = offset + snapshot.visible.count
      var place = snapshot.visible.isEmpty ? "none" : "\(offset + 1)–\(last)"
      place += " of \(snapshot.matching)"
      if !filter.text.isEmpty { place += " like \"\(filter.text)\"" }
      parts.insert(place, at: 0)
    }
    return spread(StyledText(parts.joined(separator: "  ")), keys)
  }

  /// Details at the left, the map at the right, or either alone.
  private func drawPanes(of snapshot: Snapshot, at now: Moment, on frame: inout Frame) {
    guard paneRows > 1 else { return }
    let top = 2 + pageRows
    frame.put(StyledText(String(repeating: "─", count: size.columns), style: .dim), row: top)
    let rows = paneRows - 1
    var column = 0
    if showsDetail {
      let columns = showsMap ? min(size.columns / 2, 60) : size.columns
      let lines =
        snapshot.selected.map { DetailPane(record: $0, now: now).lines(columns: columns, rows: rows) }
        ?? [StyledText("choose a vehicle with ↑ and ↓", style: .dim)]
      for (row, line) in lines.prefix(rows).enumerated() {
        frame.put(line.fitted(to: columns), row: top + 1 + row)
      }
      column = columns + 1
    }
    guard showsMap, size.columns - column >= 8 else { return }
    for (row, line) in snapshot.map.lines(columns: size.columns - column, rows: rows).enumerated() {
      frame.put(line, row: top + 1 + row, column: column)
    }
  }

  /// One text at either edge. On the right stands the first of several that there is room for, or none.
  private func spread(_ left: StyledText, _ right: [StyledText]) -> StyledText {
    let room = size.columns - left.width
    guard let right = right.first(where: { $0.width + 2 <= room }) else {
      return left.fitted(to: size.columns)
    }
    var line = left
    line.append(right.fitted(to: room, alignment: .right))
    return line
  }
}
