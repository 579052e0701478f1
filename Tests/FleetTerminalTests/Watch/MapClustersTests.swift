import Fleet
import FleetFixtures
import FleetProgram
import Spatial
import Testing

@testable import FleetTerminal

@Suite struct MapClustersTests {
  private func pane(_ places: [(Double, Double, VehicleState)], selected: Int? = nil) -> MapPane {
    var map = MapPane()
    map.vehicles = places.enumerated().map { place, vehicle in
      MapPane.Vehicle(
        name: "v\(place)", state: vehicle.2,
        coordinate: Coordinate(latitude: vehicle.0, longitude: vehicle.1),
        radius: nil, isStale: false, isSelected: place == selected)
    }
    return map
  }

  /// Returns the sum of the shown numbers and single vehicles.
  private func total(_ lines: [StyledText]) -> Int {
    let text = lines.map(\.plain).joined(separator: " ")
    return text.split { !$0.isNumber }.reduce(0) { $0 + (Int($1) ?? 0) } + text.count { "●◐○·◆".contains($0) }
  }

  @Test func fewVehiclesAreShownWithTheirNames() {
    let lines = pane([(48, 11, .online), (48.1, 11.2, .asleep)]).lines(columns: 60, rows: 12)
    let text = lines.map(\.plain).joined(separator: "\n")
    #expect(text.contains("● v0") && text.contains("◐ v1") || text.contains("v1 ◐"))
    let same = pane([(48, 11, .online), (48, 11, .online), (48.1, 11.2, .offline)]).lines(
      columns: 60, rows: 12)
    #expect(same.map(\.plain).joined(separator: "\n").contains("2 v0"))
  }

  /// 10,000 vehicles in two towns and on the road between them: all are counted, and no count covers another.
  @Test(arguments: [(120, 40), (80, 24), (40, 10), (12, 4)])
  func allVehiclesOfACrowdAreCounted(columns: Int, rows: Int) {
    var generator = SystemRandomNumberGenerator()
    var places: [(Double, Double, VehicleState)] = []
    for _ in 0..<9500 {
      let town = Bool.random(using: &generator) ? (48.1, 11.5) : (52.5, 13.4)
      places.append(
        (
          town.0 + Double.random(in: -0.2...0.2, using: &generator),
          town.1 + Double.random(in: -0.2...0.2, using: &generator),
          .online
        ))
    }
    for step in 0..<500 {
      places.append((48.1 + Double(step) * 0.0088, 11.5 + Double(step) * 0.0038, .offline))
    }
    let map = pane(places)
    let canvas = BrailleCanvas(columns: columns, rows: rows)
    guard let view = MapPane.Projection(map, canvas) else {
      Issue.record("no projection")
      return
    }
    let clusters = MapClusters(map.vehicles, view, on: canvas)
    #expect(clusters.isCrowded && clusters.clusters.reduce(0) { $0 + $1.count } == 10_000)
    var taken: Set<SIMD2<Int>> = []
    for cluster in clusters.clusters {
      let length = cluster.count == 1 ? 1 : MapClusters.text(cluster.count).utf8.count
      for column in cluster.column..<(cluster.column + length) {
        #expect(column >= 0 && column < columns && cluster.row >= 0 && cluster.row < rows)
        #expect(taken.insert(SIMD2(column, cluster.row)).inserted)
      }
    }
    // The scale and the north arrow cover the first and the last line.
    let lines = map.lines(columns: columns, rows: rows)
    let inner = clusters.clusters.filter { (1..<(rows - 1)).contains($0.row) }
    #expect(total(Array(lines.dropFirst().dropLast())) == inner.reduce(0) { $0 + $1.count })
  }

  @Test func theSelectedVehicleIsVisibleAndZoomingSplitsCounts() {
    var places: [(Double, Double, VehicleState)] = []
    for place in 0..<60 {
      places.append((48 + Double(place % 6) * 1e-3, 11 + Double(place / 6) * 1e-3, .online))
    }
    var map = pane(places, selected: 7)
    #expect(map.lines(columns: 20, rows: 8).map(\.plain).joined().contains("◆"))
    map = pane(places)
    let coarse = map.lines(columns: 20, rows: 8).map(\.plain).joined(separator: "\n")
    #expect(coarse.contains { $0.isNumber } && !coarse.contains("v7"))
    map.zoom = 2
    let fine = map.lines(columns: 80, rows: 30).map(\.plain).joined(separator: "\n")
    #expect(fine.contains("● v"), "\(fine)")
  }

  @Test(arguments: [(1, "1"), (9999, "9999"), (10_000, "10k"), (123_456, "123k"), (2_000_000, "2M")])
  func counts(count: Int, text: String) { #expect(MapClusters.text(count) == text) }
}

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
