internal import Glibc
internal import Spatial

/// Coarsens a location as Core Location's reduced accuracy does: the device is somewhere in a cell, and where exactly
/// nobody is told.
///
/// The earth is cut into bands of latitude and each band into cells of about the same width. Every position of a cell
/// becomes its centre, so that many reports of a parked vehicle say no more than one.
enum CoarseGrid {
  /// Metres along each side of a cell, about.
  static let cellSize = 5000.0
  /// Metres: the half diagonal of a cell contains every position in it.
  static let accuracy = (cellSize / 2.0.squareRoot()).rounded(.up)

  /// The location as far as it may be told: the centre of its cell and the time; neither height, speed nor course,
  /// from whose sum the way could be found again.
  static func coarsened(_ location: Location) -> Location {
    var coarse = Location(timestamp: location.timestamp, coordinate: centre(of: location.coordinate))
    coarse.time = location.time
    coarse.source = location.source
    coarse.horizontalAccuracy = accuracy
    return coarse
  }

  static func centre(of coordinate: Coordinate) -> Coordinate {
    // A quarter of the meridian has 10,002 km.
    let bands = (2 * 10_001_966 / cellSize).rounded()
    let height = 180 / bands
    let band = min(bands - 1, ((coordinate.latitude + 90) / height).rounded(.down))
    let latitude = -90 + (band + 0.5) * height
    // The band's longest parallel decides, so that no cell is wider than the size.
    let nearest = max(0, abs(latitude) - height / 2)
    let circumference = 2 * Double.pi * WGS84.transverseRadius(latitude: nearest) * cos(nearest.radians)
    let cells = max(1, (circumference / cellSize).rounded(.up))
    let width = 360 / cells
    let cell = min(cells - 1, ((coordinate.longitude + 180) / width).rounded(.down))
    return Coordinate(latitude: latitude, longitude: -180 + (cell + 0.5) * width)
  }
}
