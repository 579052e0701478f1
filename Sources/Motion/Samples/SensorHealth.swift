public import Spatial

/// What became of a sensor's samples: everything refused is counted by its reason.
public struct SensorHealth: Hashable, Sendable {
  public enum State: String, Hashable, Sendable, CaseIterable {
    /// Nothing has been heard yet.
    case silent
    case healthy
    /// Its values no longer change although other sensors show that they must. Refused until they change again.
    case stuck
  }

  public var state = State.silent
  /// Samples passed on.
  public var accepted = 0
  /// Passed on although equal to the one before: held, or an ideal sensor at rest.
  public var repeated = 0
  /// Refused: NaN or an infinity.
  public var notFinite = 0
  /// Refused: not later than the sample before.
  public var outOfOrder = 0
  /// Refused: beyond what any sensor of the kind can measure.
  public var implausible = 0
  /// Refused: the sensor was stuck.
  public var stuck = 0
  /// Of the newest sample that was passed on.
  public var lastSample: Timestamp?

  public init() {}

  /// All samples refused.
  public var refused: Int { notFinite + outOfOrder + implausible + stuck }
}
