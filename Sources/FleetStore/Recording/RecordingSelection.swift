package import Fleet
package import Spatial
internal import Telemetry

/// A selection of a part of a recording.
package struct RecordingSelection: Sendable {
  /// The selected fleets; empty for all.
  package var fleets: [String] = []
  /// The selected vehicles; empty for all.
  package var vehicles: [String] = []
  /// The kinds of messages; empty for all.
  package var kinds: [String] = []
  /// The start of the time range by the vehicle's clock, included in the range; nil for no limit.
  package var from: UTCTime?
  /// The end of the time range by the vehicle's clock, excluded from the range; nil for no limit.
  package var to: UTCTime?
  /// The areas that contain the selected positions; empty for no restriction.
  package var areas: [Area] = []
  /// The vehicles that the user may see.
  package var scope = RecordingScope.all

  package init() {}

  /// True if the selection includes everything.
  package var isAll: Bool {
    fleets.isEmpty && vehicles.isEmpty && kinds.isEmpty && from == nil && to == nil && areas.isEmpty
      && scope == .all
  }

  /// Parses and sets the time range.
  /// - Throws: `FleetError` for an invalid time or range.
  package mutating func setTimes(from: String?, to: String?) throws(FleetError) {
    self.from = try from.map { text throws(FleetError) in try Self.time(text, "from") }
    self.to = try to.map { text throws(FleetError) in try Self.time(text, "to") }
    guard let begin = self.from, let end = self.to, end <= begin else { return }
    throw .invalid("to", end.rfc3339, "must be after \(begin.rfc3339)")
  }

  /// True if the time range consists of whole days (UTC).
  package var isOfWholeDays: Bool {
    [from, to].compactMap(\.self).allSatisfy { Day($0).beginning == $0 }
  }

  package func contains(_ coordinate: Coordinate?) -> Bool {
    guard !areas.isEmpty else { return true }
    guard let coordinate else { return false }
    let point = SurfacePoint(coordinate)
    return areas.contains { $0.contains(point) }
  }

  /// Parses an RFC 3339 time, or a day, which means its start at midnight UTC.
  private static func time(_ text: String, _ setting: String) throws(FleetError) -> UTCTime {
    if let time = UTCTime(rfc3339: text) ?? UTCTime(rfc3339: text + "T00:00:00Z") { return time }
    throw .invalid(
      setting, "\(text.prefix(40))",
      "write a time as 2026-11-21T08:15:30Z, with an offset like +01:00, or a day as 2026-11-21")
  }
}

extension RecordingSelection {
  /// An SQL condition. Its parameters are numbered, so that each value is bound once even if the condition
  /// occurs twice in a statement.
  package struct Condition {
    package enum Value {
      case text(String)
      case time(UTCTime)
      case number(Int64)
    }

    package var sql: String
    var values: [Value]
  }

  /// Returns the SQL condition of the selection, except its areas, which are checked for each row.
  /// - Parameters:
  ///   - time: the SQL of a row's time.
  ///   - others: columns with their allowed values; an empty list allows all.
  ///   - parameter: returns the SQL of a parameter by its number, from 1.
  package func condition(
    time: String, and others: [(column: String, values: [Condition.Value])] = [],
    _ parameter: (Int, Condition.Value) -> String
  ) -> Condition {
    var condition = Condition(sql: "true", values: [])
    func bind(_ value: Condition.Value) -> String {
      condition.values.append(value)
      return parameter(condition.values.count, value)
    }
    let words = [("fleet", fleets), ("vehicle", vehicles), ("kind", kinds)].map { column, names in
      (column: column, values: names.map(Condition.Value.text))
    }
    for (column, values) in words + others where !values.isEmpty {
      condition.sql += " AND \(column) IN (\(values.map { bind($0) }.joined(separator: ", ")))"
    }
    if let scope = scope.sql(bind) { condition.sql += " AND \(scope)" }
    if let from { condition.sql += " AND \(time) >= \(bind(.time(from)))" }
    if let to { condition.sql += " AND \(time) < \(bind(.time(to)))" }
    return condition
  }
}

extension UTCTime {
  package init(milliseconds: Int64) {
    // Limited to the range of times in nanoseconds; this program records no times outside of it.
    self.init(nanoseconds: min(max(milliseconds, -9_223_372_036_854), 9_223_372_036_854) * 1_000_000)
  }

  /// Milliseconds since 1970, rounded down.
  package var milliseconds: Int64 {
    let (quotient, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000)
    return rest < 0 ? quotient - 1 : quotient
  }

  /// Milliseconds since 1970, rounded up. As the lower limit of a range, it excludes exactly the same times
  /// as the unrounded one, because recorded times are whole milliseconds.
  var ceiledMilliseconds: Int64 {
    let floor = milliseconds
    return floor * 1_000_000 == nanoseconds ? floor : floor + 1
  }
}
