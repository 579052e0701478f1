internal import Spatial

/// The cells to which the newest positions were blurred, one for each size.
///
/// The cell changes only if the position is more than a tenth of the cell's side outside of it. At the edge of a cell, the noise of a
/// receiver would otherwise alternate between two cells, and reveal that the vehicle is at their common edge. The published cell
/// therefore contains the position or is a neighbour of the cell that contains it, and the published accuracy always includes the
/// margin.
///
/// All messages must use the same cells: two cells of one grid for one position would reveal that the position is within the margin.
package struct BlurredCells: Hashable, Sendable {
  private var cells: [Double: GridCell] = [:]

  package init() {}

  /// Processes a position, in order of time. Suspect positions change no cell.
  package mutating func process(_ location: Location, _ policy: PrivacyPolicy) {
    guard location.suspicion == nil else { return }
    if let size = policy.blurredSize(of: location) { process(location.coordinate, size: size) }
    guard let shown = policy.shown(location, near: self) else { return }
    process(shown.coordinate, size: Location.reducedCell)
  }

  private mutating func process(_ coordinate: Coordinate, size: Double) {
    cells[size] = cell(holding: coordinate, size: size)
  }

  /// Returns the cell with a side of `size` metres to which a position is blurred.
  func cell(holding coordinate: Coordinate, size: Double) -> GridCell {
    if let cell = cells[size], cell.reaches(coordinate) { return cell }
    return GridCell(holding: coordinate, size: size)
  }
}
