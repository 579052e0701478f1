extension Location {
  /// Metres along a side of a cell of Core Location's reduced accuracy, about.
  private static let reducedCell = 5000.0

  /// Metres: no position of such a cell is farther from its middle.
  static let reducedAccuracy = 3600.0

  /// As Core Location's reduced accuracy tells it: the device is somewhere in a cell, and where exactly nobody is told.
  /// Many reports of a parked vehicle say no more than one.
  var reduced: Location { blurred(to: GridCell(holding: coordinate, size: Self.reducedCell)) }
}
