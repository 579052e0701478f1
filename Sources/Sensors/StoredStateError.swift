/// An unreadable stored state: a calibration, an odometer, a trip or region states.
public struct StoredStateError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The reason, with the line of a text and the remedy.
  public var description: String

  package init(description: String) { self.description = description }
}
