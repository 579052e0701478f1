package import Fleet
internal import Spatial

/// The sums of a vehicle's trips of one kind on a day. A trip belongs to the day of its start.
package struct DrivenDay: Hashable, Sendable {
  package var vehicle: VehicleKey
  /// Days since 1970 in the requested time zone.
  package var day: Int
  /// The kind of the trips: driven, carried, unobserved, or a kind that a newer version of the vehicle's
  /// software reports.
  package var kind: String
  package var trips: Int
  /// The distance in m.
  package var distance: Double
  /// The part of the distance in m that was estimated, not measured.
  package var estimated: Double
  /// The time in motion in s.
  package var moving: Double
  /// The time at rest in s.
  package var standing: Double
  /// The maximum speed in m/s; nil if unknown.
  package var greatestSpeed: Double?

  /// The day as text such as `2026-11-22`.
  package var name: String { Day(number: day).text }
}

extension HistoryReader {
  /// Returns the sums of trips, sorted by vehicle, day and kind.
  /// - Parameters:
  ///   - part: the vehicles, and the range of the trips' starts.
  ///   - offset: the offset of the time zone in seconds east of UTC.
  ///   - limit: the maximum number of rows.
  package func drivenDays(
    _ part: RecordingSelection, offset: Int, limit: Int
  ) throws(FleetError) -> [DrivenDay] {
    try recording.drivenDays(part, offset: offset, limit: limit)
  }
}

extension RecordingTables {
  package func drivenDays(
    _ part: RecordingSelection, offset: Int, limit: Int
  ) throws(FleetError) -> [DrivenDay] {
    guard version >= JournalTable.version else {
      throw .usage("read", "trips of \(name)", RecordingAddress.olderVersion)
    }
    let condition = part.condition(time: "start_time", Self.dialect.parameter)
    let time = "(\(Self.dialect.milliseconds("start_time")) + \(Int64(offset) * 1000))"
    // SQL division rounds towards zero, which would put times before 1970 on the wrong day.
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
