internal import Spatial

/// What the live table looks like and how keys change it: everything about it but the terminal.
///
/// Pure: keys go in, and a frame comes out of a roster and a moment. Scrolling, sorting and filtering live here; a
/// detail or a map pane is one more thing to draw from the same snapshot.
struct WatchView: Sendable {
  enum Action: Hashable, Sendable {
    case none
    case redraw
    case quit
  }

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
  }

  var order = VehicleOrder()
  var filter = VehicleFilter()
  private(set) var isEditingFilter = false
  private(set) var offset = 0
  var size: TerminalSize
  /// Whether all vehicles are taken, however small the screen.
  var isUnbounded = false
  /// What is watched, for the head: a broker and what part of it.
  let title: String

  init(size: TerminalSize, title: String) {
    self.size = size
    self.title = title
  }

  /// Rows of the screen that show vehicles.
  var pageRows: Int { isUnbounded ? Int.max / 4 : max(1, size.rows - 3) }

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
    }
    let places = roster.vehicles.indices.filter { filter.matches(roster.vehicles[$0]) }
    let matching = order.sorted(places, of: roster.vehicles, at: now)
    snapshot.matching = matching.count
    offset = max(0, min(offset, matching.count - pageRows))
    snapshot.visible = matching[offset..<min(matching.count, offset + pageRows)].map { roster.vehicles[$0] }
    // Of all, not of those on the screen: columns do not jump while one scrolls.
    let namesFleet = snapshot.fleets.count > 1
    for place in matching {
      let widths = roster.vehicles[place].nameWidths
      snapshot.longestName = max(snapshot.longestName, widths.vehicle + (namesFleet ? widths.fleet + 1 : 0))
    }
    return snapshot
  }

  mutating func handle(_ key: Key) -> Action {
    isEditingFilter ? handleInFilter(key) : handleInTable(key)
  }

  private mutating func handleInTable(_ key: Key) -> Action {
    switch key {
    case .character("q"), .character("Q"), .control("c"): return .quit
    case .up, .character("k"): scroll(by: -1)
    case .down, .character("j"): scroll(by: 1)
    case .pageUp: scroll(by: -pageRows)
    case .pageDown, .character(" "): scroll(by: pageRows)
    case .home, .character("g"): offset = 0
    // Beyond the end: the snapshot brings it back to the last page.
    case .end, .character("G"): offset = Int.max / 2
    case .character("s"):
      order.criterion = order.criterion.next
      order.isReversed = false
    case .character("r"), .character("S"): order.isReversed.toggle()
    case .character("/"): isEditingFilter = true
    case .escape:
      filter.text = ""
      offset = 0
    default: return .none
    }
    return .redraw
  }

  private mutating func handleInFilter(_ key: Key) -> Action {
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
}
