internal import Spatial
internal import Telemetry

/// Which part of a recording is meant.
public struct RecordingSelection: Sendable {
  /// None stands for all.
  public var fleets: [String] = []
  public var vehicles: [String] = []
  /// By the vehicle's clock; from then on, and before that.
  var from: UTCTime?
  var to: UTCTime?
  /// Only positions in one of them; none does not restrict.
  var areas: [Area] = []

  public init() {}

  /// - Throws: `FleetError` for a time that cannot be read, or a span that ends before it begins.
  public mutating func setTimes(from: String?, to: String?) throws(FleetError) {
    self.from = try from.map { text throws(FleetError) in try Self.time(text, "--from") }
    self.to = try to.map { text throws(FleetError) in try Self.time(text, "--to") }
    guard let begin = self.from, let end = self.to, end <= begin else { return }
    throw FleetError(
      operation: "use", object: "--to \(end.rfc3339)", cause: "it is not after --from", exit: .usage)
  }

  /// Reads the polygons, and circles, of a GeoJSON, KML or WKT file.
  /// - Throws: `FleetError` with the file and the region that makes no sense.
  public mutating func setRegion(_ path: String) throws(FleetError) {
    let document = try RegionFile.read(path, radius: nil)
    var areas: [Area] = []
    for feature in document.features {
      do throws(JSONError) { areas.append(try feature.area()) } catch {
        throw FleetError(
          operation: "use", object: "region \"\(feature.identifier)\" of \(path)", cause: error.description,
          exit: .usage)
      }
    }
    self.areas = areas
  }

  func contains(_ coordinate: Coordinate?) -> Bool {
    guard !areas.isEmpty else { return true }
    guard let coordinate else { return false }
    let point = SurfacePoint(coordinate)
    return areas.contains { $0.contains(point) }
  }

  /// An RFC 3339 time, or a day, which begins at midnight UTC.
  private static func time(_ text: String, _ option: String) throws(FleetError) -> UTCTime {
    if let time = UTCTime(rfc3339: text) ?? UTCTime(rfc3339: text + "T00:00:00Z") { return time }
    throw FleetError(
      operation: "use", object: "\(option) \(text.prefix(40))",
      cause: "write a time as 2026-11-21T08:15:30Z, with an offset like +01:00, or a day as 2026-11-21",
      exit: .usage)
  }
}

extension RecordingSelection {
  /// A condition in SQL, with `?` where a value goes.
  struct Condition {
    enum Value {
      case text(String)
      case time(UTCTime)
    }

    var sql: String
    var values: [Value]
  }

  /// What a row must fulfil; regions are looked at afterwards.
  /// - Parameter time: the SQL of its time.
  func condition(time: String) -> Condition {
    var condition = Condition(sql: "true", values: [])
    for (column, names) in [("fleet", fleets), ("vehicle", vehicles)] where !names.isEmpty {
      let marks = names.map { _ in "?" }.joined(separator: ", ")
      condition.sql += " AND \(column) IN (\(marks))"
      condition.values += names.map { .text($0) }
    }
    for (comparison, limit) in [(">=", from), ("<", to)] {
      guard let limit else { continue }
      condition.sql += " AND \(time) \(comparison) ?"
      condition.values.append(.time(limit))
    }
    return condition
  }
}
