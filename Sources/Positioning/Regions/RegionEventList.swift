internal import Spatial

/// The events of one step, brought into order.
struct RegionEventList {
  private var events: [(event: RegionEvent, isPassage: Bool)] = []

  /// - Parameter isPassage: whether the region is left again in the same step, so that its events stay together.
  mutating func append(_ event: RegionEvent, isPassage: Bool) { events.append((event, isPassage)) }

  /// By time; but whoever shows one region at a time must hear of the exit before the next entry, even where the
  /// regions overlap, so entries that last come after all exits.
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
