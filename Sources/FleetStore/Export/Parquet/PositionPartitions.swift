internal import Fleet
internal import FleetCommand
internal import Glibc
internal import Platform
internal import Spatial

/// Positions as Parquet files in folders by day and fleet, `date=2026-11-22/fleet-demo/positions.parquet`.
/// DuckDB, pandas, pyarrow and Spark read them as one table with the column `date`.
///
/// Only the day is a Hive partition. The fleet is a column of the files, because these programs infer types
/// from folder names. `fleet=7` would be a number for some of them, and pyarrow refuses a folder whose
/// partition has another type than the column. Positions arrive sorted by day and fleet, so that only one
/// file with one row group is open at a time.
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
  /// The path of the existing folder to update; nil for a new folder.
  private let updated: String?
  /// The path of the partition that is being written; empty before the first one.
  private var partition = ""
  private var day: Substring = ""
  private var fleet = ""
  private var file: OutputFile?
  private var table = ParquetTable(Self.columns)

  /// Creates the folder.
  ///
  /// - Parameters:
  ///   - path: the folder.
  ///   - replaces: true if existing contents may be replaced.
  ///   - updates: true to replace single partitions in an existing folder.
  ///   - inputs: input files of the command, which must not be overwritten.
  /// - Throws: `FleetError` for an output that cannot or must not be written.
  init(path: String, replaces: Bool, updates: Bool, inputs: [String]) throws(FleetError) {
    folder = try OutputFolder(path: path, replaces: replaces, updates: updates, inputs: inputs) { name in
      // Older versions wrote the files into the day's folder, or into `date=…/fleet=…`.
      name.wholeMatch(of: /date=[0-9-]+\/(fleet[=-][^\/]+\/)?[^\/]+\.parquet/) != nil
    }
    updated = updates ? path : nil
  }

  /// Escapes a folder name as Hive and Spark do: special characters become `%2F` and similar. An escaped `=`
  /// does not make the folder a partition.
  static func escaped(_ name: String) -> String {
    guard !name.isEmpty else { return "__HIVE_DEFAULT_PARTITION__" }
    return name.unicodeScalars.reduce(into: "") { text, character in
      if character.value < 0x20 || character.value == 0x7F
        || "\"#%'*/:=?\\{[]^".unicodeScalars.contains(character)
      {
        let digits = String(character.value, radix: 16, uppercase: true)
        text += "%" + (digits.count < 2 ? "0" : "") + digits
      } else {
        text.unicodeScalars.append(character)
      }
    }
  }

  mutating func append(_ position: RecordedPosition) throws(FleetError) {
    let day = position.time.rfc3339.prefix { $0 != "T" }
    if day != self.day || position.vehicle.fleet != fleet || partition.isEmpty {
      try endFile()
      (self.day, fleet) = (day, position.vehicle.fleet)
      partition = "date=\(day)/fleet-\(Self.escaped(fleet))"
      if let updated {
        let old = "\(updated)/date=\(day)/fleet=\(Self.escaped(fleet))"
        guard unsafe access(old, F_OK) != 0 else {
          throw .usage(
            "write", old, "it has the layout of an older version; export all days into a new folder")
        }
      }
      file = try OutputFile(path: folder.file(Self.fileName, in: partition), replaces: false)
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

  /// Renames the folder to its final name.
  mutating func finish() throws(FleetError) {
    try endFile()
    try folder.finish()
  }

  private mutating func endFile() throws(FleetError) {
    guard !partition.isEmpty else { return }
    table.end(creator: "odograph version \(BuildInformation.current.version)")
    _ = try file?.write(table.takeBytes())
    try file?.finish()
    file = nil
    partition = ""
  }
}
