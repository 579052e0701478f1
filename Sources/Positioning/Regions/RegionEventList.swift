internal import Spatial
internal import VehicleData

/// The events of one step in publication order.
struct RegionEventList {
  private var events: [(event: RegionEvent, isPassage: Bool)] = []

  /// - Parameter isPassage: true if the same step contains entry and exit of the region, whose events must
  ///   stay together.
  mutating func append(_ event: RegionEvent, isPassage: Bool) { events.append((event, isPassage)) }

  /// Events in order of time. A subscriber that displays one region at a time must receive an exit before the
  /// next entry, even if the regions overlap, so final entries come after all exits.
  var ordered: [RegionEvent] {
    guard events.count > 1 else { return events.map(\.event) }
    let lastExit = events.lazy.filter { $0.event.kind == .exit && !$0.isPassage }.map(\.event.timestamp).max()
    func place(_ entry: (event: RegionEvent, isPassage: Bool)) -> (time: Timestamp, rank: Int) {
      let time = entry.event.timestamp
      guard !entry.isPassage, entry.event.kind != .exit else {
        return (time, entry.event.kind == .exit ? 1 : 0)
      }
      return (max(time, lastExit ?? time), entry.event.kind == .enter ? 2 : 3)
    }
    return events.enumerated().map { (key: place($0.element), index: $0.offset, event: $0.element.event) }
      .sorted {
        ($0.key.time, $0.key.rank, $0.index) < ($1.key.time, $1.key.rank, $1.index)
      }
      .map(\.event)
  }
}
