import FleetProgram
import Testing

@testable import FleetTerminal

@Suite struct WatchLayoutTests {
  private func layout(_ columns: Int, _ rows: Int, _ panes: WatchPane...) -> WatchLayout {
    WatchLayout(size: TerminalSize(columns: columns, rows: rows), panes: panes)
  }

  @Test func panesAreBelowTheTableIfThereIsRoom() {
    #expect(layout(80, 24).tableRows == 21 && layout(80, 24).ruleRow == nil)
    let details = layout(80, 24, .detail)
    #expect(details.tableRows == 6 && details.detail == .init(row: 9, column: 0, rows: 14, columns: 80))
    let both = layout(80, 24, .detail, .map)
    #expect(both.tableRows == 3 && both.detail == .init(row: 6, column: 0, rows: 17, columns: 49))
    #expect(both.map == .init(row: 6, column: 50, rows: 17, columns: 30))
    #expect(layout(120, 40, .map, .detail).detail?.columns == 60)
  }

  @Test func theLastOpenedPaneReplacesTheRest() {
    let details = layout(40, 10, .map, .detail)
    #expect(details.tableRows == 0 && details.map == nil)
    #expect(details.detail == .init(row: 1, column: 0, rows: 8, columns: 40))
    let map = layout(40, 10, .detail, .map)
    #expect(map.detail == nil && map.map == details.detail)
    // Side by side, where only the rows are few.
    #expect(layout(100, 10, .detail, .map).detail != nil && layout(100, 10, .detail, .map).map != nil)
  }

  /// Areas never extend beyond the screen or overlap, for every size.
  @Test func areasLieOnTheScreen() {
    for columns in 1...130 {
      for rows in 1...50 {
        for panes: [WatchPane] in [[], [.detail], [.map], [.detail, .map], [.map, .detail]] {
          let layout = WatchLayout(size: TerminalSize(columns: columns, rows: rows), panes: panes)
          let areas = [layout.detail, layout.map].compactMap(\.self)
          #expect(areas.isEmpty == panes.isEmpty && (layout.tableRows > 0 || !areas.isEmpty))
          for area in areas where rows > 1 {
            #expect(area.row >= (layout.tableRows > 0 ? 3 + layout.tableRows : 1) && area.rows > 0)
            #expect(area.row + area.rows <= (rows > 3 ? rows - 1 : rows), "\(columns)x\(rows) \(panes)")
            #expect(area.column >= 0 && area.column + area.columns <= columns && area.columns > 0)
          }
          if let detail = layout.detail, let map = layout.map {
            #expect(detail.column + detail.columns < map.column)
          }
        }
      }
    }
  }
}
