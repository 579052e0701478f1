internal import Fleet
internal import Spatial

/// What the live table looks like and how keys change it: everything about it but the terminal.
///
/// Pure: keys go in, and a frame comes out of a roster and a moment. Scrolling, sorting, filtering and choosing live
/// here; the detail and the map pane are drawn from the same snapshot.
struct WatchView: Sendable {
  /// What the table needs of a roster, taken in one go so that the roster is held only for a moment.
  struct Snapshot: Sendable {
    /// The vehicles on the screen.
    var visible: [VehicleRecord] = []
    /// Vehicles that the filter lets through.
    var matching = 0
    var total = 0
    var counts: [VehicleState: Int] = [:]
    var fleets: Set<String> = []
    var longestName = 0
    var counters = Roster.Counters()
    var medianDelay: Double?
    var tailDelay: Double?
    /// Numbers of all sequences that have not come.
    var missing = 0
    /// The vehicle that was chosen, and its row among the visible.
    var selected: VehicleRecord?
    var selectedRow: Int?
    /// Its place among all that match, counted from 0, whether it is seen or not.
    var selectedPlace: Int?
    /// Empty where no map is shown.
    var map = MapPane()
  }

  var order = VehicleOrder()
  var filter = VehicleFilter()
  private(set) var isEditingFilter = false
  private(set) var offset = 0
  var size: TerminalSize
  /// What is open beside the table, the last one opened last.
  private var panes: [WatchPane] = []
  /// Lines of the details that were scrolled away.
  private(set) var detailOffset = 0
  private var zoom = 0
  /// The page of the help that is shown over all else, counted from 0; nil without it.
  private(set) var helpPage: Int?
  /// The list from which columns are chosen, over all else; nil without it.
  private(set) var chooser: ColumnChooser?
  /// Columns in the order in which they stand; nil for the usual ones, as many as there is room for.
  var chosenColumns: [WatchColumn]?
  /// What the last key could not do; gone with the next.
  private(set) var notice: String?
  /// The columns of the table as it was last drawn, which keys are counted by.
  private(set) var columns: [WatchColumn] = []
  /// The vehicle that details and map are about. It stays chosen wherever the sort puts it.
  private var selection: VehicleKey?
  /// Rows by which the choice is to move, once the rows are known.
  private var move: Int?
  /// Whether all vehicles are taken, however small the screen.
  var isUnbounded = false
  /// What is watched, for the head: a broker and what part of it.
  let title: String

  init(size: TerminalSize, title: String) {
    self.size = size
    self.title = title
  }

  /// Where things stand. Who types a filter sees what it finds.
  var layout: WatchLayout {
    let layout = WatchLayout(size: size, panes: panes)
    return isEditingFilter && layout.tableRows == 0 ? WatchLayout(size: size, panes: []) : layout
  }

  /// Rows by which the table is turned.
  private var pageRows: Int { isUnbounded ? Int.max / 4 : max(1, layout.tableRows) }

  /// Opens a pane; one that is open but behind another comes to the front, and one that is seen is closed.
  mutating func toggle(_ pane: WatchPane) {
    let layout = WatchLayout(size: size, panes: panes)
    let isSeen = pane == .detail ? layout.detail != nil : layout.map != nil
    panes.removeAll { $0 == pane }
    if !isSeen { panes.append(pane) }
  }

  /// Takes what is to be shown, and corrects the offset where there is less than before.
  mutating func snapshot(of roster: Roster, at now: Moment) -> Snapshot {
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
    // Of all, not of those on the screen: columns do not jump while one scrolls.
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

  /// The place of the chosen vehicle in the table, after the keys pressed; nil when none is chosen or it is filtered out.
  private mutating func choose(among places: [Int], of vehicles: [VehicleRecord]) -> Int? {
    defer { move = nil }
    // Details without a vehicle would be empty.
    let move = move ?? (selection == nil && layout.detail != nil ? 0 : nil)
    guard !places.isEmpty, selection != nil || move != nil else { return nil }
    let current = selection.flatMap { key in places.firstIndex { vehicles[$0].key == key } }
    guard let move else { return current }
    // The first step chooses what stands at the top of the screen.
    let start = current ?? max(0, min(offset, places.count - 1))
    let steps = current == nil && move > 0 ? move - 1 : move
    let place = max(0, min(start + steps, places.count - 1))
    selection = vehicles[places[place]].key
    if place < offset { offset = place }
    if place >= min(offset, Int.max / 2) + pageRows { offset = place - pageRows + 1 }
    return place
  }

  /// Vehicles up to which all tracks are drawn.
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
          bound: shown.bound, isStale: vehicles[place].isLocationStale(at: now), isSelected: isSelected,
          trail: isSelected || places.count <= Self.mostTrails ? vehicles[place].trail.coordinates : []))
      for region in vehicles[place].regions where map.regions.count < RegionShape.largestCount {
        // Vehicles of a fleet watch the same ones, most of the time.
        if !map.regions.contains(region) { map.regions.append(region) }
      }
    }
    return map
  }
}

extension WatchView {
  mutating func handle(_ key: Key) -> LiveAction {
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

  /// Changes start from what is seen.
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
