public import VehicleData

/// The outcome for a set of regions.
public struct RegionAcceptance: Hashable, Sendable {
  public struct Refusal: Hashable, Sendable {
    /// Index of the region in the set, from 0.
    public var index: Int
    public var identifier: String
    public var reason: RegionError
  }

  /// Identifiers in the order of the set.
  public var accepted: [String] = []
  public var refused: [Refusal] = []
}
