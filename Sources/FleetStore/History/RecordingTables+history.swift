package import Fleet
package import Spatial

extension RecordingTables {
  package func knows(_ vehicle: VehicleKey) throws(FleetError) -> Bool {
    let values: [RecordingSelection.Condition.Value] = [.text(vehicle.vehicle), .text(vehicle.fleet)]
    let marks = values.enumerated().map { Self.dialect.parameter($0 + 1, $1) }
    var isKnown = false
    let condition = "vehicle = \(marks[0]) AND fleet = \(marks[1])"
    try readFirst("SELECT 1 FROM \(Self.dialect.schema)messages WHERE \(condition) LIMIT 1", values) { _ in
      isKnown = true
    }
    return isKnown
  }

  package func extent(
    of vehicle: VehicleKey, from: UTCTime?, to: UTCTime?
  ) throws(FleetError) -> HistoryExtent? {
    var selection = RecordingSelection()
    (selection.fleets, selection.vehicles) = ([vehicle.fleet], [vehicle.vehicle])
    (selection.from, selection.to) = (from, to)
    let condition = selection.condition(time: "time", Self.dialect.parameter)
    let positions = ["messages", "fixes"].map { table in
      let isPosition = table == "fixes" ? "" : "kind = 'location' AND latitude IS NOT NULL AND "
      return """
        FROM \(Self.dialect.schema)\(table) WHERE \(isPosition)time IS NOT NULL AND \(condition.sql)
        """
    }
    /// Returns the first time in each table in the given order. Each query is a single index step.
    func end(_ order: String) throws(FleetError) -> [Int64] {
      var ends: [Int64] = []
      for source in positions {
        try readFirst(
          "SELECT \(Self.dialect.milliseconds("time")) \(source) ORDER BY time \(order) LIMIT 1",
          condition.values
        ) { row in if let time = row.integer(0) { ends.append(time) } }
      }
      return ends
    }
    guard let first = try end("ASC").min(), let last = try end("DESC").max() else { return nil }
    var count = 0
    for source in positions {
      try readFirst(
        "SELECT count(*) FROM (SELECT 1 \(source) LIMIT \(HistoryExtent.most + 1)) AS counted",
        condition.values
      ) { count += Int($0.integer(0) ?? 0) }
    }
    return HistoryExtent(
      from: UTCTime(milliseconds: first), to: UTCTime(milliseconds: last),
      positions: min(count, HistoryExtent.most), hasMore: count > HistoryExtent.most)
  }

  package func neighbours(
    of span: TrackSpan, accuracy: Double, days: Double
  ) throws(FleetError) -> (before: UTCTime?, after: UTCTime?) {
    /// Returns the first times in each table in the given order. Each query is a single index step.
    func times(from: UTCTime, to: UTCTime, _ order: String) throws(FleetError) -> [Int64] {
      var selection = RecordingSelection()
      (selection.fleets, selection.vehicles) = ([span.vehicle.fleet], [span.vehicle.vehicle])
      (selection.from, selection.to) = (from, to)
      let condition = selection.condition(time: "time", Self.dialect.parameter)
      var found: [Int64] = []
      for (table, isOnPath) in [("messages", RecordingColumns.isOnPath), ("fixes", "true")] {
        try readFirst(
          """
          SELECT \(Self.dialect.milliseconds("time")) FROM \(Self.dialect.schema)\(table)
            WHERE \(isOnPath) AND \(condition.sql) AND (accuracy IS NULL OR accuracy <= \(accuracy))
            ORDER BY time \(order) LIMIT 1
          """, condition.values
        ) { row in if let time = row.integer(0) { found.append(time) } }
      }
      return found
    }
    let (first, last) = (
      span.from.advanced(bySeconds: -days * 86_400), span.to.advanced(bySeconds: days * 86_400)
    )
    return (
      try times(from: first, to: span.from, "DESC").max().map(UTCTime.init(milliseconds:)),
      try times(from: span.to, to: last, "ASC").min().map(UTCTime.init(milliseconds:))
    )
  }

  package func newest(_ scope: RecordingScope) throws(FleetError) -> [(vehicle: VehicleKey, time: UTCTime)] {
    guard version >= 3 else {
      throw .usage("read", "the newest positions of \(name)", RecordingAddress.olderVersion)
    }
    var selection = RecordingSelection()
    selection.scope = scope
    let condition = selection.condition(time: "time", Self.dialect.parameter)
    var newest: [(vehicle: VehicleKey, time: UTCTime)] = []
    try read(
      """
      SELECT fleet, vehicle, \(Self.dialect.milliseconds("time")) FROM \(Self.dialect.schema)latest
        WHERE \(condition.sql) ORDER BY fleet, vehicle
      """, condition.values
    ) { row throws(FleetError) in
      if let fleet = row.text(0), let vehicle = row.text(1), let time = row.integer(2) {
        newest.append((VehicleKey(fleet: fleet, vehicle: vehicle), UTCTime(milliseconds: time)))
      }
      return true
    }
    return newest
  }
}
