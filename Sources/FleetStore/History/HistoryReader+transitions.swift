package import Fleet
internal import Spatial
internal import Telemetry

extension HistoryReader {
  /// Returns a vehicle's region entries, exits and dwells (messages of kind `region`), newest first.
  /// - Parameters:
  ///   - span: the vehicle, and the time range by the vehicle's own clock.
  ///   - after: the last entry of the previous page; nil for the first page.
  ///   - limit: the maximum number of entries.
  package func transitions(
    _ span: TrackSpan, after: JournalPosition?, limit: Int
  ) throws(FleetError) -> [PagedEntry] {
    try recording.transitions(span, after: after, limit: limit)
  }
}

extension RecordingTables {
  package func transitions(
    _ span: TrackSpan, after: JournalPosition?, limit: Int
  ) throws(FleetError) -> [PagedEntry] {
    var part = RecordingSelection()
    (part.fleets, part.vehicles) = ([span.vehicle.fleet], [span.vehicle.vehicle])
    (part.from, part.to) = (span.from, span.to)
    var condition = part.condition(
      time: "time", and: [("kind", [.text(MessageKind.region.rawValue)])], Self.dialect.parameter)
    func bind(_ value: RecordingSelection.Condition.Value) -> String {
      condition.values.append(value)
      return Self.dialect.parameter(condition.values.count, value)
    }
    // Orders messages of the same time. Messages of phones (OwnTracks) have no sequence number, so their
    // content hash takes its place.
    let (series, number) = ("coalesce(epoch, '')", "coalesce(seq, hash, 0)")
    if let after {
      let time = bind(.time(UTCTime(milliseconds: after.time)))
      let rest = [bind(.text(after.number.series)), bind(.number(after.number.number))]
      condition.sql += """
         AND (time < \(time) OR (time = \(time) AND (\(series), \(number)) < (\(rest.joined(separator: ", ")))))
        """
    }
    var entries: [PagedEntry] = []
    try read(
      """
      SELECT \(series), \(number), \(Self.dialect.milliseconds("time")), payload
        FROM \(Self.dialect.schema)messages WHERE \(condition.sql) AND payload IS NOT NULL
        ORDER BY time DESC, \(series) DESC, \(number) DESC LIMIT \(max(1, limit))
      """, condition.values
    ) { row throws(FleetError) in
      guard let series = row.text(0), let number = row.integer(1), let time = row.integer(2) else {
        return true
      }
      let place = JournalPosition(
        time: time, vehicle: span.vehicle, number: JournalNumber(series: series, number: number))
      entries.append(PagedEntry(place: place, payload: row.payload(3)))
      return true
    }
    return entries
  }
}
