package import ArgumentParser
package import Fleet
package import FleetCommand
internal import FleetControl
internal import JSON
package import Spatial
internal import Telemetry

/// The common arguments of commands that read a part of a recording.
package struct RecordingArguments: ParsableArguments {
  package init() {}

  @Argument(
    help: ArgumentHelp(
      "The recording: an SQLite file, or a postgres:// URL (ODOGRAPH_STORE; default: odograph.sqlite).",
      valueName: "store"), completion: .file())
  package var store: String?

  @OptionGroup package var vehicles: VehicleArguments

  @Option(
    help: ArgumentHelp(
      "At or after this time of the vehicle's clock: RFC 3339, or a day (midnight UTC).",
      valueName: "time"))
  package var from: String?

  @Option(help: ArgumentHelp("Before this time.", valueName: "time"))
  package var to: String?

  @Option(
    help: ArgumentHelp(
      "Only positions within the polygons, or circles, of this GeoJSON, KML, KMZ or WKT file.",
      valueName: "file"),
    completion: .file())
  package var region: String?

  /// The file or URL of the recording.
  package var place: String { store ?? environment("ODOGRAPH_STORE") ?? "odograph.sqlite" }

  package func selection() throws(FleetError) -> RecordingSelection {
    var selection = RecordingSelection()
    selection.fleets = vehicles.fleet
    selection.vehicles = vehicles.vehicle
    try selection.setTimes(from: from, to: to)
    if let region { try selection.setRegion(region) }
    return selection
  }
}

/// A selection of a part of a recording.
package struct RecordingSelection: Sendable {
  /// The selected fleets; empty for all.
  package var fleets: [String] = []
  /// The selected vehicles; empty for all.
  package var vehicles: [String] = []
  /// The kinds of messages; empty for all.
  var kinds: [String] = []
  /// The start of the time range by the vehicle's clock, included in the range; nil for no limit.
  package var from: UTCTime?
  /// The end of the time range by the vehicle's clock, excluded from the range; nil for no limit.
  package var to: UTCTime?
  /// The areas that contain the selected positions; empty for no restriction.
  var areas: [Area] = []
  /// The vehicles that the user may see.
  package var scope = RecordingScope.all

  package init() {}

  /// True if the selection includes everything.
  var isAll: Bool {
    fleets.isEmpty && vehicles.isEmpty && kinds.isEmpty && from == nil && to == nil && areas.isEmpty
      && scope == .all
  }

  /// Parses and sets the time range.
  /// - Throws: `FleetError` for an invalid time or range.
  package mutating func setTimes(from: String?, to: String?) throws(FleetError) {
    self.from = try from.map { text throws(FleetError) in try Self.time(text, "--from") }
    self.to = try to.map { text throws(FleetError) in try Self.time(text, "--to") }
    guard let begin = self.from, let end = self.to, end <= begin else { return }
    throw .usage("use", "--to \(end.rfc3339)", "must be after --from")
  }

  /// Reads the areas from the polygons and circles of a GeoJSON, KML, KMZ or WKT file.
  /// - Throws: `FleetError` with the file and the invalid area.
  package mutating func setRegion(_ path: String) throws(FleetError) {
    let document = try RegionFile.read(
      InputFile.read(path, limit: RegionFile.largest), of: path, radius: nil)
    var areas: [Area] = []
    for feature in document.features {
      do throws(JSONError) { areas.append(try feature.area()) } catch {
        throw .usage("use", "region \"\(feature.identifier)\" of \(path)", error.description)
      }
    }
    self.areas = areas
  }

  package func contains(_ coordinate: Coordinate?) -> Bool {
    guard !areas.isEmpty else { return true }
    guard let coordinate else { return false }
    let point = SurfacePoint(coordinate)
    return areas.contains { $0.contains(point) }
  }

  /// Parses an RFC 3339 time, or a day, which means its start at midnight UTC.
  private static func time(_ text: String, _ option: String) throws(FleetError) -> UTCTime {
    if let time = UTCTime(rfc3339: text) ?? UTCTime(rfc3339: text + "T00:00:00Z") { return time }
    throw .usage(
      "use", "\(option) \(text.prefix(40))",
      "write a time as 2026-11-21T08:15:30Z, with an offset like +01:00, or a day as 2026-11-21")
  }
}

extension RecordingSelection {
  /// An SQL condition. Its parameters are numbered, so that each value is bound once even if the condition
  /// occurs twice in a statement.
  struct Condition {
    enum Value {
      case text(String)
      case time(UTCTime)
      case number(Int64)
    }

    var sql: String
    var values: [Value]
  }

  /// Returns the SQL condition of the selection, except its areas, which are checked for each row.
  /// - Parameters:
  ///   - time: the SQL of a row's time.
  ///   - others: columns with their allowed values; an empty list allows all.
  ///   - parameter: returns the SQL of a parameter by its number, from 1.
  func condition(
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
  init(milliseconds: Int64) {
    // Limited to the range of times in nanoseconds; this program records no times outside of it.
    self.init(nanoseconds: min(max(milliseconds, -9_223_372_036_854), 9_223_372_036_854) * 1_000_000)
  }

  /// Milliseconds since 1970, rounded down.
  var milliseconds: Int64 {
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
