package import Fleet
package import Spatial

/// A reader of a recording for a server: one query at a time, which can be interrupted. For use by one
/// thread; calls block.
package final class HistoryReader {
  let recording: any Recording

  /// Opens a recording.
  ///
  /// - Parameters:
  ///   - address: an SQLite file, or a `postgres://` URL.
  ///   - shouldContinue: called several times a second while the database works; the query fails if it returns false.
  /// - Throws: `FleetError` if it does not exist or is not a recording.
  package init(_ address: String, shouldContinue: @escaping () -> Bool = { true }) throws(FleetError) {
    recording = try RecordingAddress.open(address, shouldContinue: shouldContinue)
  }

  /// True if the recording's path still refers to the opened file; false after the file was replaced or
  /// deleted. Always true for PostgreSQL.
  package var isCurrent: Bool { (recording as? SQLiteRecording)?.isCurrent ?? true }

  /// Returns the name for display: a path, or a database's address without credentials.
  package static func name(of address: String) -> String {
    RecordingAddress.isPostgreSQL(address) ? PostgreSQLStore.withoutSecrets(address) : address
  }

  /// Checks an address.
  ///
  /// - Throws: `FleetError` for an invalid address.
  package static func check(_ address: String) throws(FleetError) { try RecordingAddress.check(address) }

  /// True if the recording has the tables of trips and driving events. Recordings of older versions lack them
  /// until a recorder opens the recording.
  package var hasJournal: Bool { recording.version >= JournalTable.version }

  // MARK: Positions

  /// Returns whether the recording has any message of a vehicle.
  package func knows(_ vehicle: VehicleKey) throws(FleetError) -> Bool { try recording.knows(vehicle) }

  /// Passes a vehicle's positions to `body` in order of time, at most one for each time, until `body` returns
  /// false.
  package func readTrack(
    _ span: TrackSpan, _ body: (TrackSample) throws(FleetError) -> Bool
  ) throws(FleetError) {
    var last: TrackSample?
    try recording.readTrack(span) { sample throws(FleetError) in
      guard let held = last else {
        last = sample
        return true
      }
      if held.time == sample.time {
        // A live position takes precedence over a track's position of the same time, as in exports.
        if sample.source.rawValue < held.source.rawValue { last = sample }
        return true
      }
      last = sample
      return try body(held)
    }
    if let last { _ = try body(last) }
  }

  /// Returns the time range and the number of a vehicle's positions; nil if there are none.
  package func extent(
    of vehicle: VehicleKey, from: UTCTime?, to: UTCTime?
  ) throws(FleetError) -> HistoryExtent? {
    try recording.extent(of: vehicle, from: from, to: to)
  }

  /// Returns the times of the accurate positions next to a span; see `Recording.neighbours`.
  package func neighbours(
    of span: TrackSpan, accuracy: Double, days: Double
  ) throws(FleetError) -> (before: UTCTime?, after: UTCTime?) {
    try recording.neighbours(of: span, accuracy: accuracy, days: days)
  }

  /// Returns the time of the newest position of each visible vehicle, sorted by fleet and vehicle.
  package func newest(_ scope: RecordingScope) throws(FleetError) -> [(vehicle: VehicleKey, time: UTCTime)] {
    try recording.newest(scope)
  }
}

/// The time range and number of a vehicle's positions.
package struct HistoryExtent: Hashable, Sendable {
  package var from: UTCTime
  package var to: UTCTime
  package var positions: Int
  /// True if the vehicle has more positions than `positions`, which is limited to `most`.
  package var hasMore: Bool

  /// The maximum of `positions`. Counting stops there, because it reads every row.
  package static let most = 250_000
}
