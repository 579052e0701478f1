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
    /// Empty where no map is shown.
    var map = MapPane()
  }

  var order = VehicleOrder()
  var filter = VehicleFilter()
  private(set) var isEditingFilter = false
  private(set) var offset = 0
  var size: TerminalSize
  var showsDetail = false
  var showsMap = false
  private(set) var zoom = 0
  /// The vehicle that details and map are about. It stays chosen wherever the sort puts it.
  private(set) var selection: VehicleKey?
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

  /// Rows of the screen that show vehicles.
  var pageRows: Int { isUnbounded ? Int.max / 4 : max(1, size.rows - 3 - paneRows) }

  /// Rows of the screen below the table, a line between them included; 0 without a pane, or room for one.
  var paneRows: Int {
    guard showsDetail || showsMap, size.rows >= 12 else { return 0 }
    return size.rows - 3 - max(3, (size.rows - 4) * 3 / 10)
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
    let places = roster.vehicles.indices.filter { filter.matches(roster.vehicles[$0]) }
    let matching = order.sorted(places, of: roster.vehicles, at: now)
    snapshot.matching = matching.count
    let chosen = choose(among: matching, of: roster.vehicles)
    offset = max(0, min(offset, matching.count - pageRows))
    if let chosen {
      snapshot.selected = roster.vehicles[matching[chosen]]
      if (offset..<(offset + pageRows)).contains(chosen) { snapshot.selectedRow = chosen - offset }
    }
    if showsMap, paneRows > 0 { snapshot.map = map(of: matching, roster.vehicles, at: now) }
    snapshot.visible = matching[offset..<min(matching.count, offset + pageRows)].map { roster.vehicles[$0] }
    // Of all, not of those on the screen: columns do not jump while one scrolls.
    let namesFleet = snapshot.fleets.count > 1
    for place in matching {
      let widths = roster.vehicles[place].nameWidths
      snapshot.longestName = max(snapshot.longestName, widths.vehicle + (namesFleet ? widths.fleet + 1 : 0))
    }
    return snapshot
  }

  mutating func handle(_ key: Key) -> LiveAction {
    isEditingFilter ? handleInFilter(key) : handleInTable(key)
  }

  private mutating func handleInTable(_ key: Key) -> LiveAction {
    switch key {
    case .character("q"), .character("Q"), .control("c"): return .quit
    case .up, .character("k"): choose(by: -1)
    case .down, .character("j"): choose(by: 1)
    case .pageUp: scroll(by: -pageRows)
    case .pageDown, .character(" "): scroll(by: pageRows)
    case .home, .character("g"):
      offset = 0
      if selection != nil { choose(by: -Int.max / 4) }
    // Beyond the end: the snapshot brings it back to the last page.
    case .end, .character("G"):
      offset = Int.max / 2
      if selection != nil { choose(by: Int.max / 4) }
    case .enter:
      showsDetail.toggle()
      if showsDetail, selection == nil { choose(by: 0) }
    case .character("m"): showsMap.toggle()
    case .character("+"), .character("="): zoom = min(zoom + 1, 20)
    case .character("-"): zoom = max(zoom - 1, -20)
    case .character("0"): zoom = 0
    case .character("s"):
      order.criterion = order.criterion.next
      order.isReversed = false
    case .character(let digit) where ("1"..."9").contains(digit):
      guard let number = digit.wholeNumberValue, let criterion = VehicleOrder.Criterion(rawValue: number - 1)
      else { return .none }
      order.isReversed = order.criterion == criterion && !order.isReversed
      order.criterion = criterion
    case .character("r"), .character("S"): order.isReversed.toggle()
    case .character("/"): isEditingFilter = true
    case .escape: leave()
    default: return .none
    }
    return .redraw
  }

  /// One step back: panes, the choice, the filter.
  private mutating func leave() {
    if showsDetail || showsMap {
      (showsDetail, showsMap, zoom) = (false, false, 0)
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
    case .control("c"): return .quit
    case .character(let character):
      if filter.text.utf8.count < 200 { filter.text.append(character) }
    default: return .none
    }
    offset = 0
    return .redraw
  }

  private mutating func scroll(by rows: Int) {
    offset = max(0, min(offset, Int.max / 4) + rows)
  }

  /// Several keys may come before the rows are known.
  private mutating func choose(by rows: Int) {
    move = max(-Int.max / 4, min((move ?? 0) + rows, Int.max / 4))
  }

  /// The place of the chosen vehicle in the table, after the keys pressed; nil when none is chosen or it is filtered out.
  private mutating func choose(among places: [Int], of vehicles: [VehicleRecord]) -> Int? {
    defer { move = nil }
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
          bound: shown.bound, isStale: vehicles[place].isLocationStale, isSelected: isSelected,
          trail: isSelected || places.count <= Self.mostTrails ? vehicles[place].trail.coordinates : []))
      for region in vehicles[place].regions where map.regions.count < RegionShape.largestCount {
        // Vehicles of a fleet watch the same ones, most of the time.
        if !map.regions.contains(region) { map.regions.append(region) }
      }
    }
    return map
  }
}
