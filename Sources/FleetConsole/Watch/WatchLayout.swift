/// What can be opened beside the table.
enum WatchPane: Hashable, Sendable {
  case detail
  case map
}

/// Where things stand on a screen: the table, and the panes that are open, so that what is drawn can be read.
///
/// Panes stand below the table, the details at the left of the map. Where that leaves them too little, the last one
/// opened stands in place of the other, and of the table.
struct WatchLayout: Hashable, Sendable {
  /// A part of the screen, in characters.
  struct Area: Hashable, Sendable {
    var row: Int
    var column: Int
    var rows: Int
    var columns: Int
  }

  /// Vehicles that the table has room for; 0 where a pane stands in its place.
  private(set) var tableRows: Int
  /// The line between the table and what is below it; nil without either.
  private(set) var ruleRow: Int?
  /// Nil for a pane that is not open, or not to be seen.
  private(set) var detail: Area?
  private(set) var map: Area?

  /// Columns and rows below which a pane is of no use.
  private static let leastMap = (columns: 30, rows: 6)
  private static let leastDetail = (columns: 49, rows: 9)
  /// Rows that hold nearly all that there is to tell of a vehicle, beside a map and in a pane of its own.
  private static let usualDetailRows = (narrow: 17, wide: 14)
  private static let mostDetailColumns = 60
  private static let leastTableRows = 3

  /// - Parameter panes: those that are open, the last one opened last.
  init(size: TerminalSize, panes: [WatchPane]) {
    // The head, the titles and, but for a handful of rows, the foot.
    let body = size.rows - 3
    tableRows = max(1, body)
    guard let last = panes.last else { return }
    let showsBoth = panes.count > 1 && size.columns >= Self.leastDetail.columns + 1 + Self.leastMap.columns
    let shown = showsBoth ? panes : [last]
    let needed = shown.contains(.detail) ? Self.leastDetail.rows : Self.leastMap.rows
    var area: Area
    if body >= Self.leastTableRows + 1 + needed {
      let wanted = showsBoth ? Self.usualDetailRows.narrow : Self.usualDetailRows.wide
      tableRows = max(Self.leastTableRows, min((size.rows - 4) * 3 / 10, body - 1 - wanted))
      ruleRow = 2 + tableRows
      area = Area(row: 3 + tableRows, column: 0, rows: body - tableRows - 1, columns: size.columns)
    } else {
      tableRows = 0
      area = Area(row: 1, column: 0, rows: max(1, size.rows - (size.rows > 3 ? 2 : 1)), columns: size.columns)
    }
    guard showsBoth else {
      if last == .detail { detail = area } else { map = area }
      return
    }
    let columns = max(Self.leastDetail.columns, min(size.columns / 2, Self.mostDetailColumns))
    (detail, map) = (area, area)
    detail?.columns = columns
    map?.column = columns + 1
    map?.columns = size.columns - columns - 1
  }
}
