extension WatchView {
  mutating func handle(_ key: Key) -> LiveAction {
    if key == .control("c") { return .quit }
    notice = nil
    if showsKeys {
      showsKeys = false
      return .redraw
    }
    return isEditingFilter ? handleInFilter(key) : handleInTable(key)
  }

  private mutating func handleInTable(_ key: Key) -> LiveAction {
    switch key {
    case .character("q"), .character("Q"): return .quit
    case .character("?"), .character("h"): showsKeys = true
    case .up, .character("k"): choose(by: -1)
    case .down, .character("j"): choose(by: 1)
    case .pageUp: turn(by: -1)
    case .pageDown, .character(" "): turn(by: 1)
    case .home, .character("g"):
      offset = 0
      if selection != nil { choose(by: -Int.max / 4) }
    // Beyond the end: the snapshot brings it back to the last page.
    case .end, .character("G"):
      offset = Int.max / 2
      if selection != nil { choose(by: Int.max / 4) }
    case .enter: toggle(.detail)
    case .character("m"): toggle(.map)
    case .character("J"): detailOffset = min(detailOffset, 10_000) + 1
    case .character("K"): detailOffset = max(0, detailOffset - 1)
    case .character("+"), .character("="): zoom = min(zoom + 1, 20)
    case .character("-"): zoom = max(zoom - 1, -20)
    case .character("0"): zoom = 0
    case .character("s"):
      order = VehicleOrder(criterion: order.criterion.next(among: columns))
    case .character(let digit) where ("1"..."9").contains(digit): sort(byColumn: digit.wholeNumberValue ?? 0)
    case .character("r"), .character("S"): order.isReversed.toggle()
    case .character("/"): isEditingFilter = true
    case .escape: leave()
    default:
      notice = "? shows the keys"
    }
    return .redraw
  }

  /// Sorts by a column of the table as it stands, counted from 1; by the same one again, the other way round.
  private mutating func sort(byColumn number: Int) {
    guard columns.indices.contains(number - 1) else {
      notice = "only \(columns.count) columns"
      return
    }
    let criterion = VehicleOrder.Criterion(columns[number - 1])
    order = VehicleOrder(
      criterion: criterion, isReversed: order.criterion == criterion && !order.isReversed)
  }

  /// One step back: panes, the choice, the filter.
  private mutating func leave() {
    if !panes.isEmpty {
      (panes, zoom, detailOffset) = ([], 0, 0)
    } else if selection != nil {
      selection = nil
    } else {
      filter.text = ""
      offset = 0
    }
  }

  private mutating func handleInFilter(_ key: Key) -> LiveAction {
    switch key {
    case .enter: isEditingFilter = false
    case .escape:
      filter.text = ""
      isEditingFilter = false
    case .backspace:
      if filter.text.isEmpty { isEditingFilter = false } else { filter.text.removeLast() }
    case .control("u"): filter.text = ""
    case .character(let character):
      if filter.text.utf8.count < 200 { filter.text.append(character) }
    default: return .none
    }
    offset = 0
    return .redraw
  }

  /// Turns the table by pages; where a pane stands in its place, the choice goes on by some vehicles.
  private mutating func turn(by pages: Int) {
    guard layout.tableRows > 0 else {
      choose(by: 10 * pages)
      return
    }
    offset = max(0, min(offset, Int.max / 4) + pages * pageRows)
  }

  /// Several keys may come before the rows are known.
  private mutating func choose(by rows: Int) {
    move = max(-Int.max / 4, min((move ?? 0) + rows, Int.max / 4))
  }
}
