internal import Spatial
internal import VehicleData

// The precision of a report on the wire.

extension ReportPredictor {
  /// The report as rounded on the wire: 8 decimals of a degree, millimetres per second, milliseconds of
  /// validity.
  var rounded: ReportPredictor {
    var copy = self
    copy.coordinate.latitude = (coordinate.latitude * 1e8).rounded() / 1e8
    copy.coordinate.longitude = (coordinate.longitude * 1e8).rounded() / 1e8
    copy.velocity = (velocity * 1000).rounded(.toNearestOrAwayFromZero) / 1000
    copy.validity = validity.map { ($0 * 1000).rounded(.down) / 1000 }
    copy.growth = (growth * 1000).rounded(.up) / 1000
    return copy
  }

  /// Maximum additional error in m by the wire format, which rounds times to milliseconds and coordinates to
  /// a millimetre.
  var wireError: Double { 0.001 * (velocity * velocity).sum().squareRoot() + 0.001 }
}
