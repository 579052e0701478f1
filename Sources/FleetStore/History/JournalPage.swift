package import Fleet
internal import Spatial
package import Telemetry

/// A position in a list of trips, driving events or traces, newest first: the next page starts after this
/// entry.
package struct JournalPosition: Hashable, Sendable {
  /// The start of the entry in milliseconds since 1970, by the vehicle's clock.
  package var time: Int64
  package var vehicle: VehicleKey
  package var number: JournalNumber

  package init(time: Int64, vehicle: VehicleKey, number: JournalNumber) {
    (self.time, self.vehicle, self.number) = (time, vehicle, number)
  }
}

/// An entry of a page: the message as published by the vehicle, and its position in the list.
package struct PagedEntry: Hashable, Sendable {
  package var place: JournalPosition
  /// The original JSON message.
  package var payload: [UInt8]
}

/// A selection of trips or driving events, with the page to return.
package struct JournalQuery: Sendable {
  package enum Table: Sendable { case trips, drivingEvents }

  package var table: Table
  /// The vehicles, and the range of the entries' start times.
  package var part = RecordingSelection()
  /// The kinds of trips or events; empty for all.
  package var kinds: [String] = []
  /// The severities of events; empty for all.
  package var severities: [String] = []
  package var after: JournalPosition?
  package var limit: Int

  package init(_ table: Table, limit: Int) { (self.table, self.limit) = (table, limit) }
}

extension HistoryReader {
  /// Returns a page of trips or driving events, newest first.
  package func page(_ query: JournalQuery) throws(FleetError) -> [PagedEntry] {
    try recording.page(query)
  }

  /// Returns the payload of a vehicle's trip; nil if there is none with this number.
  package func trip(
    _ number: JournalNumber, of vehicle: VehicleKey
  ) throws(FleetError) -> [UInt8]? {
    var selection = TripSelection()
    selection.number = number.number
    (selection.part.fleets, selection.part.vehicles) = ([vehicle.fleet], [vehicle.vehicle])
    var found: [UInt8]?
    try recording.readTrips(selection) { told throws(FleetError) in
      guard told.trip.trip.series == number.series else { return true }
      found = told.payload
      return false
    }
    return found
  }
}

extension RecordingTables {
  package func page(_ query: JournalQuery) throws(FleetError) -> [PagedEntry] {
    let table = query.table == .trips ? JournalTable.trips : JournalTable.drivingEvents
    guard version >= JournalTable.version else {
      throw .usage("read", "\(table.title) of \(name)", RecordingAddress.olderVersion)
    }
    let kind = query.table == .trips ? "kind" : "event"
    var condition = query.part.condition(
      time: table.begin,
      and: [
        (kind, query.kinds.map { .text($0) }), ("severity", query.severities.map { .text($0) }),
      ], Self.dialect.parameter)
    func bind(_ value: RecordingSelection.Condition.Value) -> String {
      condition.values.append(value)
      return Self.dialect.parameter(condition.values.count, value)
    }
    if let place = query.after {
      let time = bind(.time(UTCTime(milliseconds: place.time)))
      let rest: [RecordingSelection.Condition.Value] = [
        .text(place.vehicle.vehicle), .text(place.vehicle.fleet), .text(place.number.series),
        .number(place.number.number),
      ]
      condition.sql += """
         AND (\(table.begin) < \(time) OR (\(table.begin) = \(time)
          AND (vehicle, fleet, series, number) > (\(rest.map { bind($0) }.joined(separator: ", ")))))
        """
    }
    let source = "FROM \(Self.dialect.schema)\(table.name) WHERE \(condition.sql)"
    var entries: [PagedEntry] = []
    // The first query only reads the index on the start time, and finds the start of the page's last entry.
    // Then only rows from that time on are read.
    try read(
      """
      SELECT fleet, vehicle, series, number, \(Self.dialect.milliseconds(table.begin)), payload \(source)
          AND \(table.begin) >= coalesce((SELECT \(table.begin) \(source)
            ORDER BY \(table.begin) DESC LIMIT 1 OFFSET \(max(1, query.limit))), \(Self.dialect.earliest))
        ORDER BY \(table.begin) DESC, vehicle, fleet, series, number LIMIT \(max(1, query.limit))
      """, condition.values
    ) { row throws(FleetError) in
      guard let fleet = row.text(0), let vehicle = row.text(1), let series = row.text(2),
        let number = row.integer(3), let time = row.integer(4)
      else { return true }
      let place = JournalPosition(
        time: time, vehicle: VehicleKey(fleet: fleet, vehicle: vehicle),
        number: JournalNumber(series: series, number: number))
      entries.append(PagedEntry(place: place, payload: row.payload(5)))
      return true
    }
    return entries
  }
}
