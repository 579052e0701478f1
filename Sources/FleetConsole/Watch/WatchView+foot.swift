internal import Fleet
internal import Spatial

extension WatchView {
  /// The last line of the screen: what goes on, and the keys. How to see all keys and how to leave always has room.
  func foot(of snapshot: Snapshot, _ layout: WatchLayout, rates: Rates, trouble: String?) -> StyledText {
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

  /// What goes on, that which is missed least last.
  private func facts(of snapshot: Snapshot, _ layout: WatchLayout, rates: Rates) -> [String] {
    var parts: [String] = []
    if let place = place(in: snapshot, layout) { parts.append(place) }
    let isMarked = layout.tableRows > 0 && order.criterion.column.map(columns.contains) ?? false
    if !isMarked, order != VehicleOrder() {
      parts.append("by \(order.criterion.name) \(order.isReversed ? "▾" : "▴")")
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

  /// Which part of all vehicles is seen, where it is not all of them.
  private func place(in snapshot: Snapshot, _ layout: WatchLayout) -> String? {
    let filtered = filter.text.isEmpty ? "" : " like \"\(filter.text)\""
    guard layout.tableRows > 0 else {
      return snapshot.selectedPlace.map { "\($0 + 1) of \(snapshot.matching)\(filtered)" }
    }
    guard snapshot.matching > snapshot.visible.count || !filter.text.isEmpty else { return nil }
    let rows = snapshot.visible.isEmpty ? "none" : "\(offset + 1)–\(offset + snapshot.visible.count)"
    return "\(rows) of \(snapshot.matching)\(filtered)"
  }
}
