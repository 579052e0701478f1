package import Fleet
internal import FleetConsole
package import Spatial

/// A recording as a server reads it: one question after the other, each of which can be ended from outside. Used by one thread
/// at a time; calls block.
package final class HistoryReader {
  let recording: any Recording

  /// - Parameters:
  ///   - address: an SQLite file, or a `postgres://` URL.
  ///   - goesOn: asked some times a second while the database works; when it says no, the question fails.
  /// - Throws: `FleetError` when it is not there, or no recording.
  package init(_ address: String, goesOn: @escaping () -> Bool = { true }) throws(FleetError) {
    recording = try RecordingAddress.open(address, goesOn: goesOn)
  }

  /// Whether what is open is still what the address means: a file may have been replaced.
  package var isCurrent: Bool { (recording as? SQLiteRecording)?.isCurrent ?? true }

  /// For people: a path, or a database's address without its secrets.
  package static func name(of address: String) -> String {
    RecordingAddress.isPostgreSQL(address) ? PostgreSQLStore.withoutSecrets(address) : address
  }

  /// - Throws: `FleetError` for what can be no recording's address.
  package static func check(_ address: String) throws(FleetError) { try RecordingAddress.check(address) }

  /// Whether it has tables of trips and driving events: older ones get them when a recorder opens them.
  package var hasJournal: Bool { recording.version >= JournalTable.version }

  // MARK: Positions

  /// Whether the recording has ever heard of a vehicle.
  package func knows(_ vehicle: VehicleKey) throws(FleetError) -> Bool { try recording.knows(vehicle) }

  /// Hands over where a vehicle was, in the order of times and one of each moment, until `body` returns false.
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
        // As in exports: what was said at the time goes before what was said afterwards.
        if sample.source.rawValue < held.source.rawValue { last = sample }
        return true
      }
      last = sample
      return try body(held)
    }
    if let last { _ = try body(last) }
  }

  /// From when to when there are positions of a vehicle, and how many; nil where there are none.
  package func extent(
    of vehicle: VehicleKey, from: UTCTime?, to: UTCTime?
  ) throws(FleetError) -> HistoryExtent? {
    try recording.extent(of: vehicle, from: from, to: to)
  }

  /// The newest position of each vehicle that is seen, by fleet and vehicle.
  package func newest(_ scope: RecordingScope) throws(FleetError) -> [(vehicle: VehicleKey, time: UTCTime)] {
    try recording.newest(scope)
  }
}

/// How much a recording has of a vehicle.
package struct HistoryExtent: Hashable, Sendable {
  package var from: UTCTime
  package var to: UTCTime
  package var positions: Int
  /// Whether there are more, which were not counted.
  package var hasMore: Bool

  /// More than these are not counted: counting goes through them.
  package static let most = 250_000
}
