package import Fleet
package import FleetProgram
internal import Spatial

extension WatchView {
  /// Returns the whole screen: header, titles, vehicles and footer.
  /// - Parameter trouble: the reason for a missing connection; nil while connected.
  package func frame(of snapshot: Snapshot, at now: Moment, rates: Rates, trouble: String?) -> Frame {
    var frame = Frame(size: size)
    frame.put(head(of: snapshot), row: 0)
    let layout = layout
    if layout.tableRows > 0 { drawTable(of: snapshot, at: now, rows: layout.tableRows, on: &frame) }
    drawPanes(of: snapshot, layout, at: now, on: &frame)
    if size.rows > 3 {
      frame.put(foot(of: snapshot, layout, rates: rates, trouble: trouble), row: size.rows - 1)
    }
    if let page = helpPage { WatchHelp.draw(page: page, columns: columns, on: &frame) }
    if let chooser { chooser.draw(shown: columns, chosen: chosenColumns, on: &frame) }
    return frame
  }

  private func drawTable(of snapshot: Snapshot, at now: Moment, rows: Int, on frame: inout Frame) {
    let columns = WatchColumn.layout(
      width: size.columns, longestName: snapshot.longestName, chosen: chosenColumns)
    frame.put(titles(columns), row: 1)
    for (place, record) in snapshot.visible.prefix(rows).enumerated() {
      let row = VehicleRow(record: record, now: now, namesFleet: snapshot.fleets.count > 1)
      let line = Self.line(row, columns)
      let isChosen = place == snapshot.selectedRow
      frame.put(
        isChosen ? line.fitted(to: size.columns).styled(TextStyle(reversed: true)) : line, row: 2 + place)
    }
    if snapshot.visible.isEmpty, size.rows > 4 {
      let hint = snapshot.total > 0 ? "no vehicle matches the filter" : "waiting for the first vehicle"
      frame.put(StyledText(hint, style: .dim), row: 2)
    }
  }

  /// Returns the line of one vehicle in the given columns.
  package static func line(_ row: VehicleRow, _ layout: [(column: WatchColumn, width: Int)]) -> StyledText {
    StyledText(columns: layout.map { (row.text($0.column, width: $0.width), $0.width, $0.column.alignment) })
  }

  func titles(_ layout: [(column: WatchColumn, width: Int)]) -> StyledText {
    StyledText(
      columns: layout.map { column, width in
        let isSorted = order.criterion.column == column
        let style = TextStyle(.cyan, bold: isSorted)
        var title = StyledText(column.title, style: style)
        if isSorted {
          // A long title is cut, so that the sign of the direction is visible in a narrow column, too.
          let gap = title.width + 2 <= width ? " " : ""
          title = title.width >= width ? StyledText(cells: Array(title.cells.prefix(width - 1))) : title
          title.append(gap + order.mark, style: style)
        }
        return (title, width, column.alignment)
      })
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

  /// Returns the numbers of vehicles by state.
  private func counts(of snapshot: Snapshot, withNames: Bool) -> StyledText {
    var text = StyledText("\(snapshot.total) vehicle\(snapshot.total == 1 ? "" : "s")")
    for state in VehicleState.allCases {
      let count = snapshot.counts[state] ?? 0
      // The state `online` is always shown, another state only if a vehicle has it.
      guard count > 0 || state == .online else { continue }
      let sign = VehicleRow.state(state)
      text.append("  ")
      text.append(StyledText(cells: Array(sign.cells.prefix(1))))
      text.append(" \(count)" + (withNames ? " \(state.rawValue)" : ""))
    }
    return text
  }

  /// Draws details and map if the layout includes them.
  private func drawPanes(of snapshot: Snapshot, _ layout: WatchLayout, at now: Moment, on frame: inout Frame)
  {
    if let row = layout.ruleRow {
      frame.put(StyledText(String(repeating: "─", count: size.columns), style: .dim), row: row)
    }
    if let area = layout.detail {
      let nobody =
        snapshot.total > 0
        ? "no vehicle is chosen: choose one with ↑ and ↓" : "waiting for the first vehicle"
      let lines =
        snapshot.selected.map {
          DetailPane(record: $0, now: now).lines(
            columns: area.columns, rows: area.rows, offset: detailOffset)
        } ?? [StyledText(nobody, style: .dim)]
      draw(lines, in: area, on: &frame)
    }
    if let area = layout.map {
      draw(snapshot.map.lines(columns: area.columns, rows: area.rows), in: area, on: &frame)
    }
  }

  private func draw(_ lines: [StyledText], in area: WatchLayout.Area, on frame: inout Frame) {
    for (row, line) in lines.prefix(area.rows).enumerated() {
      frame.put(line.fitted(to: area.columns), row: area.row + row, column: area.column)
    }
  }

  /// Returns a line with `left` at the left edge and, at the right edge, the first text of `right` that fits.
  /// Nothing is at the right edge if none fits.
  func spread(_ left: StyledText, _ right: [StyledText]) -> StyledText {
    let room = size.columns - left.width
    guard let right = right.first(where: { $0.width + (left.width > 0 ? 2 : 0) <= room }) else {
      return left.fitted(to: size.columns)
    }
    var line = left
    line.append(right.fitted(to: room, alignment: .right))
    return line
  }
}

extension WatchView {
  /// Returns the last line of the screen: status and keys. The keys for help and quit always fit.
  package func foot(of snapshot: Snapshot, _ layout: WatchLayout, rates: Rates, trouble: String?)
    -> StyledText
  {
    if isEditingFilter {
      var line = StyledText("filter: ", style: TextStyle(.cyan))
      line.append(filter.text)
      line.append(" ", style: TextStyle(reversed: true))
      line.append("  \(snapshot.matching) of \(snapshot.total)", style: .dim)
      return spread(line, [StyledText("enter keep  esc clear", style: .dim)])
    }
    let usual = "/ filter  ⏎ details  m map"
    let all = "/ filter  s sort  r reverse  ⏎ details  m map"
    let more = [all + (layout.map == nil ? "" : "  +- zoom"), all, usual, "⏎ details  m map"]
    let keys = (more.map { "? keys  q quit  " + $0 } + ["? keys  q quit", "? keys", "?"]).map {
      StyledText($0, style: .dim)
    }
    let room = size.columns - 2 - "? keys  q quit".count
    if let text = notice.map({ StyledText($0) }) ?? trouble.map({ StyledText($0, style: TextStyle(.red)) }) {
      return spread(text.width > room ? text.fitted(to: max(0, room)) : text, keys)
    }
    var parts = facts(of: snapshot, layout, rates: rates)
    while !parts.isEmpty, StyledText(parts.joined(separator: "  ")).width > room { parts.removeLast() }
    return spread(StyledText(parts.joined(separator: "  ")), keys)
  }

  /// Returns the status parts by descending importance.
  private func facts(of snapshot: Snapshot, _ layout: WatchLayout, rates: Rates) -> [String] {
    var parts: [String] = []
    if let place = place(in: snapshot, layout) { parts.append(place) }
    let isMarked = layout.tableRows > 0 && order.criterion.column.map(columns.contains) ?? false
    if !isMarked, order != VehicleOrder() {
      parts.append("by \(order.criterion.name) \(order.mark)")
    }
    let counters = snapshot.counters
    if counters.malformed > 0 { parts.append("\(counters.malformed) unreadable") }
    parts.append("\(QuantityText.fixed(rates.messages, decimals: 0) ?? "0") msg/s")
    if snapshot.missing > 0 { parts.append("\(snapshot.missing) missing") }
    if counters.refused > 0 { parts.append("\(counters.refused) without room") }
    parts.append(QuantityText.byteRate(rates.bytes))
    if let median = snapshot.medianDelay, let tail = snapshot.tailDelay {
      parts.append("delay \(QuantityText.delay(median)), 95 % \(QuantityText.delay(tail))")
    }
    return parts
  }

  /// Returns the range of visible vehicles and the number of matching ones, such as `1–20 of 300`; nil if all
  /// vehicles are visible.
  private func place(in snapshot: Snapshot, _ layout: WatchLayout) -> String? {
    let filtered = filter.isActive ? " \(filter.summary)" : ""
    guard layout.tableRows > 0 else {
      return snapshot.selectedPlace.map { "\($0 + 1) of \(snapshot.matching)\(filtered)" }
    }
    guard snapshot.matching > snapshot.visible.count || filter.isActive else { return nil }
    let rows = snapshot.visible.isEmpty ? "none" : "\(offset + 1)–\(offset + snapshot.visible.count)"
    return "\(rows) of \(snapshot.matching)\(filtered)"
  }
}
