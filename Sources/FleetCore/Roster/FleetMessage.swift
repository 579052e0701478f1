internal import Telemetry

/// What a vehicle said, in the words of no profile: what a profile's reader makes of a payload.
enum FleetMessage: Hashable, Sendable {
  /// One of the vehicle's kinds.
  case message(MessageKind, DecodedMessage)
  /// A batch of its history: it counts in the sequence and is not shown.
  case history(MessageIdentity?)
  /// What the vehicle is to watch.
  case wantedRegions([RegionShape])
  /// What of it it has accepted.
  case acceptedRegions([String], MessageIdentity?)
  /// What it watches, without having been asked: one more region, or in place of all others.
  case watchedRegions([RegionShape], replacesAll: Bool)
}

extension FleetMessage {
  /// Its number in the vehicle's sequence.
  var identity: MessageIdentity? {
    switch self {
    case .message(_, let message): message.identity
    case .history(let identity), .acceptedRegions(_, let identity): identity
    case .wantedRegions, .watchedRegions: nil
    }
  }
}

extension VehicleRecord {
  /// Takes in what is not shown in the table: the regions, which are drawn on the map. Returns whether that changed
  /// anything.
  mutating func take(aside message: FleetMessage) -> Bool {
    switch message {
    case .message, .history: return false
    case .wantedRegions(let shapes): wantedRegions = shapes
    case .acceptedRegions(let identifiers, _):
      acceptedRegions = Set(identifiers.prefix(RegionShape.largestCount))
    case .watchedRegions(let shapes, let replacesAll):
      let names = Set(shapes.map(\.identifier))
      let others = replacesAll ? [] : wantedRegions.filter { !names.contains($0.identifier) }
      wantedRegions = Array((others + shapes).prefix(RegionShape.largestCount))
      acceptedRegions = Set(wantedRegions.map(\.identifier))
    }
    return true
  }
}
