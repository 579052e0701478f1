internal import Fleet
internal import FleetProgram
internal import FleetStore
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

  private var folder: OutputFolder
  /// The path of the existing folder to update; nil for a new folder.
  private let updated: String?
  /// The path of the partition that is being written; empty before the first one.
  private var partition = ""
  private var day: Substring = ""
  private var fleet = ""
  private var file: OutputFile?
  private var table = PositionTable()

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

  mutating func append(_ position: RecordedPosition) throws(FleetError) {
    let day = position.time.rfc3339.prefix { $0 != "T" }
    if day != self.day || position.vehicle.fleet != fleet || partition.isEmpty {
      try endFile()
      (self.day, fleet) = (day, position.vehicle.fleet)
      partition = "date=\(day)/fleet-\(PositionTable.escaped(fleet))"
      if let updated {
        let old = "\(updated)/date=\(day)/fleet=\(PositionTable.escaped(fleet))"
        guard unsafe access(old, F_OK) != 0 else {
          throw .usage(
            "write", old, "it has the layout of an older version; export all days into a new folder")
        }
      }
      file = try OutputFile(path: folder.file(Self.fileName, in: partition), replaces: false)
      table = PositionTable()
    }
    table.append(position)
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
