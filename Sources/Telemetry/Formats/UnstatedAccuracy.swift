/// The accuracy of a position whose receiver states none, for formats and programs that would otherwise treat it
/// as exact.
enum UnstatedAccuracy {
  /// Radius in m. Fixes without an accuracy (two-dimensional, or of a receiver without dilution of precision)
  /// were up to 800 m away from the vehicle. A larger radius would include distant zones: Home Assistant
  /// considers a tracker in a zone if the two circles overlap.
  static let metres = 1000.0
}
