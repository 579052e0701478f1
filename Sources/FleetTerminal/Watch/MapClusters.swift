internal import Fleet

/// The vehicles of a map grouped by position. Vehicles that are too close together are shown as their number.
///
/// On a map with names, only vehicles in the same character cell are grouped. On a crowded map, vehicles in
/// the same field of 6 by 2 cells are grouped, so that the numbers are readable.
package struct MapClusters {
  /// A vehicle, or a group of several, in a cell of the map.
  package struct Cluster {
    /// The index of the vehicle, or of the first vehicle of a group.
    var vehicle: Int
    package var count: Int
    /// The common state of the cluster's vehicles; nil if their states differ.
    var state: VehicleState?
    package var column: Int
    package var row: Int
  }

  /// The number of vehicles up to which each is shown with its name.
  static let mostSingle = 40
  private static let field = (columns: 6, rows: 2)

  package private(set) var clusters: [Cluster] = []
  /// The indices and cells of all vehicles on the map, in order, including the selected vehicle.
  package private(set) var shown: [(vehicle: Int, column: Int, row: Int)] = []

  package var isCrowded: Bool { shown.count > Self.mostSingle }

  /// Groups the vehicles; the selected vehicle is drawn separately and never grouped.
  package init(_ vehicles: [MapPane.Vehicle], _ view: MapPane.Projection, on canvas: BrailleCanvas) {
    shown.reserveCapacity(vehicles.count)
    for place in vehicles.indices {
      guard let cell = view.place(vehicles[place].coordinate, on: canvas) else { continue }
      shown.append((place, cell.column, cell.row))
    }
    let width = isCrowded ? min(Self.field.columns, canvas.columns) : 1
    let height = isCrowded ? min(Self.field.rows, canvas.rows) : 1
    // The last field of a row or column also covers the cells that do not fill another field.
    let across = canvas.columns / width
    let down = canvas.rows / height
    var places = [Int](repeating: -1, count: across * down)
    var sums: [(columns: Int, rows: Int)] = []
    for (vehicle, column, row) in shown where !vehicles[vehicle].isSelected {
      let field = min(row / height, down - 1) * across + min(column / width, across - 1)
      let state = vehicles[vehicle].state
      guard places[field] >= 0 else {
        places[field] = clusters.count
        clusters.append(Cluster(vehicle: vehicle, count: 1, state: state, column: column, row: row))
        sums.append((column, row))
        continue
      }
      let cluster = places[field]
      clusters[cluster].count += 1
      if clusters[cluster].state != state { clusters[cluster].state = nil }
      sums[cluster] = (sums[cluster].columns + column, sums[cluster].rows + row)
    }
    for place in clusters.indices where clusters[place].count > 1 {
      let (count, length) = (clusters[place].count, Self.text(clusters[place].count).utf8.count)
      let left = min(clusters[place].column / width, across - 1) * width
      // A number is shown at the mean position of its vehicles, but inside its field, so that numbers never
      // overlap or touch.
      clusters[place].row = sums[place].rows / count
      clusters[place].column = max(
        left, min(sums[place].columns / count - (length - 1) / 2, left + max(0, width - length - 1)))
    }
  }

  /// Formats a count in at most four characters.
  package static func text(_ count: Int) -> String {
    switch count {
    case ..<10_000: "\(count)"
    case ..<1_000_000: "\(count / 1000)k"
    default: "\(count / 1_000_000)M"
    }
  }
}
