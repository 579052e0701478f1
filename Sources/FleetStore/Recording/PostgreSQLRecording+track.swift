package import Fleet
internal import Spatial

/// Reads one vehicle's track in slices of time, over two alternating connections.
///
/// A vehicle's rows of a day are on as many pages as there are rows, between rows of other vehicles. Finding
/// them takes the server longer than everything else. Two server processes therefore search simultaneously,
/// while the rows of the previous slice are processed. At most `trackPortion` rows of each connection are in
/// memory. Each connection has its own snapshot of the database, but the slices are disjoint, so no row is
/// read twice.
extension PostgreSQLRecording {
  /// Settings that make the planner use an index scan of a vehicle's rows by time, which is also their order
  /// on disk. By default it assumes that the rows are scattered, and uses a bitmap scan.
  package static let trackPlan = "SET LOCAL enable_bitmapscan = off; SET LOCAL enable_seqscan = off"

  /// The maximum number of rows fetched at once: more than a slice of a day has at one position per second.
  private static let trackPortion = 12_000

  package func readTrack(
    _ span: TrackSpan, _ body: (TrackSample) throws(FleetError) -> Bool
  ) throws(FleetError) {
    try asking { answer throws(FleetError) in
      try readSlices(span.slices) { sample throws(FleetError) in
        answer = true
        return try body(sample)
      }
    }
  }

  private func readSlices(
    _ slices: [TrackSpan], _ body: (TrackSample) throws(FleetError) -> Bool
  ) throws(FleetError) {
    if line == nil { try open() }
    // After a failure or a stop, the connections are closed, because they still have rows to deliver.
    var isDone = false
    defer { if !isDone { (line, secondLine) = (nil, nil) } }
    guard let line else { return }
    let lines = [line, slices.count > 1 ? secondLine(beside: line) : nil].compactMap(\.self)
    try working { () throws(PostgreSQLError) in
      for (index, line) in lines.enumerated() {
        try line.connection.run("\(Self.begin); \(Self.trackPlan)")
        try ask(slices, index, line)
      }
    }
    reading: for index in slices.indices {
      let line = lines[index % lines.count]
      let other = lines.last { $0 !== line }
      var isLast = false
      while !isLast {
        samples.removeAll(keepingCapacity: true)
        try working { () throws(PostgreSQLError) in
          let rows = try line.take(beside: other)
          isLast = rows.count < Self.trackPortion
          if isLast {
            try ask(slices, index + lines.count, line)
          } else {
            try line.fetch(Self.trackPortion, from: Self.cursor(index))
          }
          append(rows)
        }
        for sample in samples {
          guard try body(sample) else { break reading }
        }
      }
    }
    try working { () throws(PostgreSQLError) in
      for line in lines {
        if line.isFetching { _ = try line.take() }
        try line.connection.run("ROLLBACK")
      }
    }
    isDone = true
  }

  /// Requests the first rows of the slice with an index; does nothing if there is no such slice.
  private func ask(_ slices: [TrackSpan], _ index: Int, _ line: PostgreSQLLine) throws(PostgreSQLError) {
    guard index < slices.count else { return }
    let (sql, values) = trackSQL(slices[index]) { $0 }
    let cursor = Self.cursor(index)
    try line.connection.run("DECLARE \(cursor) NO SCROLL CURSOR FOR " + sql, Self.texts(values))
    try line.fetch(Self.trackPortion, from: cursor)
  }

  private static func cursor(_ slice: Int) -> String { "slice\(slice)" }

  private func append(_ rows: borrowing BinaryRows) {
    for row in 0..<rows.count {
      // Rows are in binary format, because parsing a day's numbers from text would take longer than
      // everything else.
      let sample = TrackSample(
        time: rows.milliseconds(row, 0), latitude: rows.double(row, 1), longitude: rows.double(row, 2),
        altitude: rows.double(row, 3), accuracy: rows.double(row, 4), speed: rows.double(row, 5),
        course: rows.double(row, 6), source: rows.integer(row, 7) ?? 0)
      if let sample { samples.append(sample) }
    }
  }

  private func working(_ work: () throws(PostgreSQLError) -> Void) throws(FleetError) {
    do throws(PostgreSQLError) { try work() } catch { throw failure(error) }
  }

  /// Returns a second connection; nil if the server rejects it, or if it would reach a different server than
  /// `line`.
  private func secondLine(beside line: PostgreSQLLine) -> PostgreSQLLine? {
    if secondLine == nil, !isAlone {
      let second = try? connected()
      secondLine = second?.connection.server == line.connection.server ? second : nil
      isAlone = secondLine == nil
    }
    return secondLine
  }
}

extension TrackSpan {
  /// The span in consecutive parts: at most eight, each of at least an hour, because each part needs a query.
  package var slices: [TrackSpan] {
    let (length, isTooLong) = to.nanoseconds.subtractingReportingOverflow(from.nanoseconds)
    guard !isTooLong else { return [self] }
    let count = min(max(length / 3_600_000_000_000, 1), 8)
    // Slices start at whole milliseconds, like the recorded times.
    let step = length / count / 1_000_000 * 1_000_000
    return (0..<count).map { index in
      var slice = self
      if index > 0 { slice.from.nanoseconds = from.nanoseconds + index * step }
      if index < count - 1 { slice.to.nanoseconds = from.nanoseconds + (index + 1) * step }
      return slice
    }
  }
}
