package import Fleet
package import JSON
package import Spatial
internal import Telemetry

/// A download of the data of a vehicle's accelerometer recorder for a time range, piece by piece.
package struct HistoryDownload {
  private let vehicle: VehicleKey
  private let from: UTCTime
  private let to: UTCTime?
  /// The rows that have arrived.
  package private(set) var table: SampleTable
  /// The start of the next piece, RFC 3339; nil after the last piece.
  package private(set) var cursor: String?
  /// The time range that the vehicle has recorded, as reported; nil if unknown.
  package private(set) var recorded: JSONValue?

  /// Creates a download.
  ///
  /// - Parameters:
  ///   - to: the end of the range; nil for now.
  ///   - origin: the time at which the column `t` is 0; nil for the start of the first piece.
  ///   - last: the time of the last row of an earlier download in µs since 1970; nil to start with `from`.
  package init(
    of vehicle: VehicleKey, from: UTCTime, to: UTCTime?, origin: UTCTime? = nil, last: Int64? = nil
  ) {
    (self.vehicle, self.from, self.to) = (vehicle, from, to)
    table = SampleTable(kinds: [.accelerometer], origin: origin, last: last)
    // Times in requests have a resolution of a millisecond, so rows that are already in the file can be sent
    // again; they are skipped.
    cursor = (last.map { UTCTime(nanoseconds: $0 * 1000) } ?? from).rfc3339
  }

  /// The arguments of the command `history` for the next piece.
  package var arguments: [String: JSONValue] {
    var arguments: [String: JSONValue] = [:]
    arguments["from"] = cursor.map { .string($0) }
    arguments["to"] = to.map { .string($0.rfc3339) }
    return arguments
  }

  /// Adds the samples of a piece.
  /// - Throws: `FleetError` for an invalid piece.
  package mutating func add(_ result: JSONValue) throws(FleetError) {
    recorded = result["recorded"] ?? recorded
    table.add(try SamplePiece(result, of: vehicle))
  }

  /// Removes and returns the rows that have arrived.
  package mutating func rows() -> String { table.rows() }

  /// Sets the start of the next piece; the download is complete if the vehicle names none.
  /// - Throws: `FleetError` if the next piece does not start later than this one.
  package mutating func proceed(after result: JSONValue) throws(FleetError) {
    guard let next = result["next"]?.string else {
      cursor = nil
      return
    }
    guard let time = UTCTime(rfc3339: next), time > cursor.flatMap(UTCTime.init(rfc3339:)) ?? from else {
      throw SamplePiece.malformed(
        vehicle, "\"next\" is \(next.prefix(40)), which is not after \(cursor ?? from.rfc3339)")
    }
    cursor = time.rfc3339
  }
}
