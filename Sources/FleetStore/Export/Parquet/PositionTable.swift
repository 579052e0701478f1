internal import Fleet
internal import Spatial

/// A writer of a Parquet file with positions, one row group at a time.
package struct PositionTable {
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

  private var table = ParquetTable(Self.columns)

  package init() {}

  /// Escapes a folder name as Hive and Spark do: special characters become `%2F` and similar. An escaped `=`
  /// does not make the folder a partition.
  package static func escaped(_ name: String) -> String {
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

  /// True if a complete row group is available.
  package var hasBytes: Bool { table.hasBytes }

  /// Returns the bytes of the file since the last call.
  package mutating func takeBytes() -> [UInt8] { table.takeBytes() }

  package mutating func append(_ position: RecordedPosition) {
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
  }

  /// Writes the last row group and the footer.
  /// - Parameter creator: the program, such as "odograph version 1.0".
  package mutating func end(creator: String) { table.end(creator: creator) }
}
