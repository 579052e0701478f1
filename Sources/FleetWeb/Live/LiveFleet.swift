package import Fleet
internal import Glibc
internal import Platform
internal import Spatial

/// The vehicles' summaries for requests, updated from the feed on demand.
package final class LiveFleet: Sendable {
  package let feed: FleetFeed
  private let run: String
  private let table = Locked(SummaryTable())
  private let purges = Locked(0)

  /// Identifies the sequence of revisions. It changes with each run of the server, and when old removals are dropped.
  package var instance: String { purges.withLock { $0 == 0 ? run : "\(run)-\($0)" } }

  package init(_ feed: FleetFeed) {
    self.feed = feed
    run = String(UInt64(bitPattern: UTCTime.now.nanoseconds) / 1000 ^ UInt64(getpid()) << 44, radix: 36)
  }

  /// Calls `body` with the current summaries. The processing of messages waits only while changed summaries
  /// are encoded.
  package func withTable<Result>(at now: Moment, _ body: (SummaryTable) throws -> Result) rethrows -> Result {
    try table.withLock { table in
      feed.withRoster { table.update(from: $0, at: now) }
      purges.withLock { $0 = table.purges }
      return try body(table)
    }
  }

  /// Returns the visible details of a vehicle with the summary's revision, and the predicted position in them;
  /// nil for an unknown one.
  /// - Parameter isLink: true for the holder of a link, who only sees the current state.
  package func details(of key: VehicleKey, at now: Moment, forLink isLink: Bool) -> (
    json: [UInt8], revision: UInt64, predicted: PredictedPosition?
  )? {
    let revision = withTable(at: now) { table in table.place(of: key).map { table.entries[$0].detailRevision }
    }
    guard let revision else { return nil }
    return feed.withRoster { roster in
      roster[key].map {
        (
          $0.details(revision: revision, at: now, forLink: isLink), revision,
          $0.predictedPosition(at: now)
        )
      }
    }
  }
}

/// The selection of vehicles in a request.
package struct VehicleQuery: Hashable, Sendable {
  package var states: Set<VehicleState> = []
  package var fleet: String?
  /// A text in the name of the vehicle or its fleet, in lower case.
  package var text: String?
  package var bounds: MapBounds?

  package init() {}

  package func selects(_ entry: SummaryTable.Entry) -> Bool {
    if entry.isRemoved { return false }
    if !states.isEmpty, !states.contains(entry.state) { return false }
    if let fleet, entry.key.fleet != fleet { return false }
    if let text, !"\(entry.key.fleet)/\(entry.key.vehicle)".lowercased().contains(text) { return false }
    if let bounds { return entry.coordinate.map(bounds.contains) ?? false }
    return true
  }
}
