internal import Fleet
internal import FleetConsole
internal import Platform
internal import Spatial

/// Positions as Parquet in a folder for each day, `date=2026-11-22/positions.parquet`, as Hive names them: DuckDB, pyarrow and
/// Spark read the folder as one table with a column `date`.
///
/// Positions come by day, so that no more than one file, and of it a row group, is open at a time.
struct PositionPartitions: ~Copyable {
  private static let fileName = "positions.parquet"
  private static let columns = [
    ParquetColumn(name: "fleet", type: .text), ParquetColumn(name: "vehicle", type: .text),
    ParquetColumn(name: "time", type: .time),
    ParquetColumn(name: "latitude", type: .double), ParquetColumn(name: "longitude", type: .double),
    ParquetColumn(name: "altitude", type: .double, isOptional: true),
    ParquetColumn(name: "accuracy", type: .double, isOptional: true),
    ParquetColumn(name: "speed", type: .double, isOptional: true),
    ParquetColumn(name: "course", type: .double, isOptional: true),
    ParquetColumn(name: "source", type: .text),
  ]

  private var folder: OutputFolder
  private var day: Substring = ""
  private var file: OutputFile?
  private var table = ParquetTable(Self.columns)

  /// - Parameters:
  ///   - path: of the folder that is made.
  ///   - replaces: whether the partitions that are there may be replaced.
  ///   - inputs: files that the command reads.
  /// - Throws: `FleetError` for what cannot, or is not to, be written.
  init(path: String, replaces: Bool, inputs: [String]) throws(FleetError) {
    folder = try OutputFolder(path: path, replaces: replaces, inputs: inputs) { name in
      name.starts(with: /date=[0-9-]+\//) && name.hasSuffix(".parquet")
    }
  }

  mutating func append(_ position: RecordedPosition) throws(FleetError) {
    let day = position.time.rfc3339.prefix { $0 != "T" }
    if day != self.day {
      try endFile()
      self.day = day
      file = try OutputFile(path: folder.file(Self.fileName, in: "date=\(day)"), replaces: false)
      table = ParquetTable(Self.columns)
    }
    table.group[0].append(position.vehicle.fleet)
    table.group[1].append(position.vehicle.vehicle)
    table.group[2].append(milliseconds: position.time.milliseconds)
    table.group[3].append(position.coordinate.latitude)
    table.group[4].append(position.coordinate.longitude)
    table.group[5].append(position.altitude)
    table.group[6].append(position.accuracy)
    table.group[7].append(position.speed)
    table.group[8].append(position.course)
    table.group[9].append(position.source.rawValue)
    table.endRow()
    if table.hasBytes { _ = try file?.write(table.takeBytes()) }
  }

  /// Gives the folder its name.
  mutating func finish() throws(FleetError) {
    try endFile()
    try folder.finish()
  }

  private mutating func endFile() throws(FleetError) {
    guard !day.isEmpty else { return }
    table.end(creator: "odograph version \(BuildInformation.current.version)")
    _ = try file?.write(table.takeBytes())
    try file?.finish()
    file = nil
    day = ""
  }
}
