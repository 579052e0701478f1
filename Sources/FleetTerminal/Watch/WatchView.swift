package import Fleet
package import FleetProgram
internal import Spatial

/// The live table with its key bindings, independent of the terminal.
///
/// A pure value type: keys are handled, and a frame is computed from a roster and a time. It implements
/// scrolling, sorting, filtering and selection; the detail and map panes use the same snapshot.
package struct WatchView: Sendable {
  /// The data that the table needs from a roster, copied in one step so that the roster is locked only
  /// briefly.
  package struct Snapshot: Sendable {
    /// The vehicles on the screen.
    package var visible: [VehicleRecord] = []
    /// The number of vehicles that match the filter.
    var matching = 0
    var total = 0
    var counts: [VehicleState: Int] = [:]
    var fleets: Set<String> = []
    package var longestName = 0
    var counters = Roster.Counters()
    var medianDelay: Double?
    var tailDelay: Double?
    /// The number of missing messages in the sequences of all vehicles.
    package var missing = 0
    /// The selected vehicle, and its row on the screen.
    package var selected: VehicleRecord?
    var selectedRow: Int?
    /// The index of the selected vehicle among all matching vehicles, visible or not.
    var selectedPlace: Int?
    /// The map; empty if none is shown.
    var map = MapPane()
  }

  package var order = VehicleOrder()
  package var filter = VehicleFilter()
  private(set) var isEditingFilter = false
  package private(set) var offset = 0
  package var size: TerminalSize
  /// The open panes, the last opened one last.
  private var panes: [WatchPane] = []
  /// The number of scrolled lines of the details.
  private(set) var detailOffset = 0
  private var zoom = 0
  /// The current page of the help, from 0; nil if it is closed.
  package private(set) var helpPage: Int?
  /// The list for choosing columns; nil if it is closed.
  private(set) var chooser: ColumnChooser?
  /// The chosen columns in display order; nil for the default.
  package var chosenColumns: [WatchColumn]?
  /// The problem with the last key; cleared by the next one.
  private(set) var notice: String?
  /// The columns of the table as last drawn, which number keys refer to.
  package private(set) var columns: [WatchColumn] = []
  /// The vehicle that details and map show. It remains selected when the order changes.
  private var selection: VehicleKey?
  /// The number of rows by which pressed keys move the selection; applied by the next snapshot, which
  /// determines the rows. Nil for none.
  private var move: Int?
  /// True to include all vehicles regardless of the screen size.
  var isUnbounded = false
  /// The title in the header: the broker and the selection.
  package let title: String

  package init(size: TerminalSize, title: String) {
    self.size = size
    self.title = title
  }

  /// The current layout. While a filter is edited, the table is visible.
  package var layout: WatchLayout {
    let layout = WatchLayout(size: size, panes: panes)
    return isEditingFilter && layout.tableRows == 0 ? WatchLayout(size: size, panes: []) : layout
  }

  /// The number of rows per page.
  private var pageRows: Int { isUnbounded ? Int.max / 4 : max(1, layout.tableRows) }

  /// Opens a pane, brings a hidden one to the front, or closes a visible one.
  mutating func toggle(_ pane: WatchPane) {
    let layout = WatchLayout(size: size, panes: panes)
    let isSeen = pane == .detail ? layout.detail != nil : layout.map != nil
    panes.removeAll { $0 == pane }
    if !isSeen { panes.append(pane) }
  }

  /// Returns the data to show, and corrects the offset if there are fewer vehicles than before.
  package mutating func snapshot(of roster: Roster, at now: Moment) -> Snapshot {
    var snapshot = Snapshot()
    snapshot.total = roster.vehicles.count
    snapshot.counters = roster.counters
    snapshot.medianDelay = roster.delays.quantile(0.5)
    snapshot.tailDelay = roster.delays.quantile(0.95)
    for record in roster.vehicles {
      snapshot.counts[record.state, default: 0] += 1
      if snapshot.fleets.count < 2 { snapshot.fleets.insert(record.key.fleet) }
      snapshot.missing = Int(clamping: Int64(snapshot.missing) + Int64(min(record.missing, 1 << 40)))
    }
    let pageRows = pageRows
    let places = roster.vehicles.indices.filter { filter.matches(roster.vehicles[$0], at: now) }
    let matching = order.sorted(places, of: roster.vehicles, at: now)
    snapshot.matching = matching.count
    let chosen = choose(among: matching, of: roster.vehicles)
    offset = max(0, min(offset, matching.count - pageRows))
    snapshot.selectedPlace = chosen
    if let chosen {
      snapshot.selected = roster.vehicles[matching[chosen]]
      if (offset..<(offset + pageRows)).contains(chosen) { snapshot.selectedRow = chosen - offset }
    }
    let layout = layout
    if layout.map != nil { snapshot.map = map(of: matching, roster.vehicles, at: now) }
    if let area = layout.detail, let record = snapshot.selected {
      let most = DetailPane(record: record, now: now).mostOffset(columns: area.columns, rows: area.rows)
      detailOffset = min(detailOffset, most)
    }
    snapshot.visible = matching[offset..<min(matching.count, offset + pageRows)].map { roster.vehicles[$0] }
    // The width is that of the longest name of all matching vehicles, so that columns do not change while
    // scrolling.
    let namesFleet = snapshot.fleets.count > 1
    for place in matching {
      let width = VehicleRow.nameWidth(roster.vehicles[place].key, withFleet: namesFleet)
      snapshot.longestName = max(snapshot.longestName, width)
    }
    columns = WatchColumn.layout(
      width: size.columns, longestName: snapshot.longestName, chosen: chosenColumns
    ).map(\.column)
    return snapshot
  }

  /// Returns the index of the selected vehicle after the pressed keys; nil if none is selected or it is
  /// filtered out.
  private mutating func choose(among places: [Int], of vehicles: [VehicleRecord]) -> Int? {
    defer { move = nil }
    // An open detail pane requires a selection.
    let move = move ?? (selection == nil && layout.detail != nil ? 0 : nil)
    guard !places.isEmpty, selection != nil || move != nil else { return nil }
    let current = selection.flatMap { key in places.firstIndex { vehicles[$0].key == key } }
    guard let move else { return current }
    // The first movement selects the vehicle at the top of the screen.
    let start = current ?? max(0, min(offset, places.count - 1))
    let steps = current == nil && move > 0 ? move - 1 : move
    let place = max(0, min(start + steps, places.count - 1))
    selection = vehicles[places[place]].key
    if place < offset { offset = place }
    if place >= min(offset, Int.max / 2) + pageRows { offset = place - pageRows + 1 }
    return place
  }

  /// The maximum number of vehicles whose tracks are all drawn.
  private static let mostTrails = 200

  private func map(of places: [Int], _ vehicles: [VehicleRecord], at now: Moment) -> MapPane {
    var map = MapPane()
    map.zoom = zoom
    map.vehicles.reserveCapacity(places.count)
    for place in places {
      guard let shown = vehicles[place].shownPosition(at: now), shown.coordinate.isValid else { continue }
      let isSelected = vehicles[place].key == selection
      map.vehicles.append(
        MapPane.Vehicle(
          name: vehicles[place].key.vehicle, state: vehicles[place].state, coordinate: shown.coordinate,
          radius: shown.radius, isStale: !vehicles[place].isMotionCurrent(at: now), isSelected: isSelected,
          trail: isSelected || places.count <= Self.mostTrails ? vehicles[place].trail.coordinates : []))
      for region in vehicles[place].regions where map.regions.count < RegionShape.largestCount {
        // Vehicles of a fleet mostly have the same regions, so each region is drawn once.
        if !map.regions.contains(region) { map.regions.append(region) }
      }
    }
    return map
  }
}

extension WatchView {
  package mutating func handle(_ key: Key) -> LiveAction {
    if key == .control("c") { return .quit }
    notice = nil
    if let page = helpPage {
      let isLast = page + 1 >= WatchHelp.pageCount(columns: columns, size: size)
      helpPage = key == .character("?") && !isLast ? page + 1 : nil
      return .redraw
    }
    if chooser != nil {
      handleInChooser(key)
      return .redraw
    }
    return isEditingFilter ? handleInFilter(key) : handleInTable(key)
  }

  private mutating func handleInTable(_ key: Key) -> LiveAction {
    switch key {
    case .character("q"), .character("Q"): return .quit
    case .character("?"), .character("h"): helpPage = 0
    case .character("c"): chooser = ColumnChooser()
    case .character("n"):
      filter.lengthenSilence()
      offset = 0
    case .up, .character("k"): choose(by: -1)
    case .down, .character("j"): choose(by: 1)
    case .pageUp: turn(by: -1)
    case .pageDown, .character(" "): turn(by: 1)
    case .home, .character("g"):
      offset = 0
      if selection != nil { choose(by: -Int.max / 4) }
    // The offset is beyond the end; the next snapshot limits it to the last page.
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

  /// Handles a key in the column list. Changes start from the visible columns.
  private mutating func handleInChooser(_ key: Key) {
    switch key {
    case .up, .character("k"): chooser?.move(by: -1)
    case .down, .character("j"): chooser?.move(by: 1)
    case .character(" "), .enter:
      if let column = chooser?.column {
        chosenColumns = ColumnChooser.toggled(column, in: chosenColumns ?? columns)
      }
    case .character("0"): chosenColumns = nil
    default: chooser = nil
    }
  }

  /// Sorts by a visible column, counted from 1; reverses the order if the table is already sorted by this
  /// column.
  private mutating func sort(byColumn number: Int) {
    guard columns.indices.contains(number - 1) else {
      notice = "only \(columns.count) columns"
      return
    }
    let criterion = VehicleOrder.Criterion.column(columns[number - 1])
    order = VehicleOrder(
      criterion: criterion, isReversed: order.criterion == criterion && !order.isReversed)
  }

  /// Goes one step back: closes the panes; if none is open, clears the selection; if nothing is selected,
  /// clears the filter.
  private mutating func leave() {
    if !panes.isEmpty {
      (panes, zoom, detailOffset) = ([], 0, 0)
    } else if selection != nil {
      selection = nil
    } else {
      filter = VehicleFilter()
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

  /// Scrolls by pages; if a pane replaces the table, moves the selection by some vehicles.
  private mutating func turn(by pages: Int) {
    guard layout.tableRows > 0 else {
      choose(by: 10 * pages)
      return
    }
    offset = max(0, min(offset, Int.max / 4) + pages * pageRows)
  }

  /// Adds to the pending movement of the selection, because several keys can be pressed before the next
  /// snapshot.
  private mutating func choose(by rows: Int) {
    move = max(-Int.max / 4, min((move ?? 0) + rows, Int.max / 4))
  }
}
