package import Fleet
internal import Spatial

/// What a vehicle's trips of a day add up to. A trip counts for the day on which it began.
package struct DrivenDay: Hashable, Sendable {
  package var vehicle: VehicleKey
  /// Days since 1970 in the zone that was asked for.
  package var day: Int
  /// As trips have it: driven, carried, unobserved, or what a newer version says.
  package var kind: String
  package var trips: Int
  /// Metres, and those of them that nobody measured.
  package var distance: Double
  package var estimated: Double
  /// Seconds.
  package var moving: Double
  package var standing: Double
  /// m/s; nil where no trip says it.
  package var greatestSpeed: Double?

  /// The day as `2026-11-22`.
  package var name: String { Day(number: day).text }
}

extension HistoryReader {
  /// What trips add up to by vehicle, day and kind, in this order.
  /// - Parameters:
  ///   - part: of whom, and begun from when to when.
  ///   - offset: seconds that the zone of the days is east of UTC.
  ///   - limit: rows at most.
  package func drivenDays(
    _ part: RecordingSelection, offset: Int, limit: Int
  ) throws(FleetError) -> [DrivenDay] {
    try recording.drivenDays(part, offset: offset, limit: limit)
  }
}

extension RecordingTables {
  func drivenDays(
    _ part: RecordingSelection, offset: Int, limit: Int
  ) throws(FleetError) -> [DrivenDay] {
    guard version >= JournalTable.version else {
      throw .usage("read", "trips of \(name)", RecordingAddress.olderVersion)
    }
    let condition = part.condition(time: "start_time", Self.dialect.parameter)
    let time = "(\(Self.dialect.milliseconds("start_time")) + \(Int64(offset) * 1000))"
    // Divisions round towards zero, and there are times before 1970.
    let day = "(\(time) - (\(time) % 86400000 + 86400000) % 86400000) / 86400000"
    var days: [DrivenDay] = []
    try read(
      """
      SELECT fleet, vehicle, \(day), kind, count(*), sum(distance), sum(estimated), sum(moving), sum(standing),
          max(greatest_speed)
        FROM \(Self.dialect.schema)trips WHERE \(condition.sql)
        GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4 LIMIT \(limit)
      """, condition.values
    ) { row throws(FleetError) in
      guard let fleet = row.text(0), let vehicle = row.text(1), let day = row.integer(2),
        let kind = row.text(3)
      else { return true }
      days.append(
        DrivenDay(
          vehicle: VehicleKey(fleet: fleet, vehicle: vehicle), day: Int(day), kind: kind,
          trips: Int(row.integer(4) ?? 0), distance: row.double(5) ?? 0, estimated: row.double(6) ?? 0,
          moving: row.double(7) ?? 0, standing: row.double(8) ?? 0, greatestSpeed: row.double(9)))
      return true
    }
    return days
  }
}
