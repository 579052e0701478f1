package import FleetProgram

/// A pane in addition to the table.
package enum WatchPane: Hashable, Sendable {
  case detail
  case map
}

/// The layout of a screen: the table and the open panes.
///
/// Panes are below the table, the details to the left of the map. If the space is too small, the last opened
/// pane replaces the other one and the table.
package struct WatchLayout: Hashable, Sendable {
  /// A part of the screen in characters.
  package struct Area: Hashable, Sendable {
    package var row: Int
    package var column: Int
    package var rows: Int
    package var columns: Int
  }

  /// The number of vehicles in the table; 0 if a pane replaces it.
  package private(set) var tableRows: Int
  /// The row of the line between the table and the panes; nil if only the table or only panes are shown.
  package private(set) var ruleRow: Int?
  /// The panes' areas; nil for a closed or hidden pane.
  package private(set) var detail: Area?
  package private(set) var map: Area?

  /// The minimum sizes of useful panes.
  private static let leastMap = (columns: 30, rows: 6)
  private static let leastDetail = (columns: 49, rows: 9)
  /// The rows that show nearly all details: in a narrow pane beside a map, and in a wide pane without a map.
  private static let usualDetailRows = (narrow: 17, wide: 14)
  private static let mostDetailColumns = 60
  private static let leastTableRows = 3

  /// Computes the layout.
  ///
  /// - Parameter panes: the open panes, the last opened one last.
  package init(size: TerminalSize, panes: [WatchPane]) {
    // Three rows are reserved for the header, the titles and the footer.
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
