public import Spatial

/// The decided state of a region.
public enum RegionState: String, Hashable, Sendable, CaseIterable {
  case unknown
  case inside
  case outside
}

/// State of a monitored region.
public struct RegionStatus: Hashable, Sendable {
  public var identifier: String
  public var state: RegionState
  /// Civil time of the crossing, or of the fix that first decided the state; nil if the state or the time is
  /// unknown.
  public var since: UTCTime?
  /// The `desiredAccuracy` of the region in m (68 %); nil for the configured accuracy.
  public var desiredAccuracy: Double?

  public init(
    identifier: String, state: RegionState, since: UTCTime? = nil, desiredAccuracy: Double? = nil
  ) {
    self.identifier = identifier
    self.state = state
    self.since = since
    self.desiredAccuracy = desiredAccuracy
  }
}
