import Bytes
import Foundation
import Simulation
import TestSupport
import Testing

@testable import FleetStore

/// Parquet files according to the specification, and read by other implementations.
@Suite struct ParquetTests {
  /// Table: values, their width in bits, and the bytes; the first is the example of Encodings.md.
  @Test func runsAndPackedValues() {
    let cases: [([UInt32], Int, [UInt8])] = [
      (Array(0..<8), 3, [3, 0b1000_1000, 0b1100_0110, 0b1111_1010]),
      ([UInt32](repeating: 1, count: 100), 1, [0xC8, 1, 1]),
      ([UInt32](repeating: 300, count: 8), 9, [16, 0x2C, 1]),
      ([1, 0, 1], 1, [3, 0b101]),
      ([], 1, []),
    ]
    for (values, width, bytes) in cases {
      #expect(RunLengthHybrid.encode(values, width: width) == bytes, "\(values)")
    }
  }

  /// Encodings of thrift-compact-protocol.md: zigzag, differences of field numbers, long lists, a distant field.
  @Test func thriftIsCompact() {
    let bytes = ThriftCompactWriter.structure { thrift in
      thrift.int32(1, -1)
      thrift.boolean(2, true)
      thrift.structure(4) { $0.binary(1, [0x61]) }
      thrift.int64(30, 300)
      thrift.list(31, of: .int32, count: 15) { list in for _ in 0..<15 { list.element(0) } }
    }
    let list: [UInt8] = [0x19, 0xF5, 15] + [UInt8](repeating: 0, count: 15)
    #expect(bytes == [0x15, 1, 0x11, 0x2C, 0x18, 1, 0x61, 0, 0x06, 60, 0xD8, 4] + list + [0])
  }

  @Test func aFileStartsAndEndsWithItsMagicNumber() {
    var table = ParquetTable([ParquetColumn(name: "x", type: .double)])
    table.end(creator: "")
    let bytes = table.takeBytes()
    #expect(bytes.prefix(4) == Array("PAR1".utf8)[...] && bytes.suffix(4) == Array("PAR1".utf8)[...])
    #expect(Int(UInt32(little: bytes, at: bytes.count - 8)) == bytes.count - 12)
  }

  /// Table: a fleet, and the name of its folder in Hive and Spark.
  @Test(arguments: [
    ("demo", "demo"), ("a/b=c", "a%2Fb%3Dc"), ("100 %", "100 %25"), ("\u{1}\u{7F}", "%01%7F"), ("ü", "ü"),
    ("\"#'*:?\\{[]^", "%22%23%27%2A%3A%3F%5C%7B%5B%5D%5E"), ("", "__HIVE_DEFAULT_PARTITION__"),
  ])
  func fleetsAreEscapedAsHiveDoes(fleet: String, name: String) {
    #expect(PositionTable.escaped(fleet) == name)
  }

  /// Random tables through pyarrow and DuckDB: every value, and the bounds of every row group.
  @Test(.timeLimit(.minutes(3)), .needs(.parquetReaders)) func randomTablesAreReadByOtherPrograms() throws {
    let folder = try TemporaryDirectory()
    var generator = SeededGenerator.announced()
    for number in 0..<25 {
      let table = RandomTable(&generator)
      try Data(table.parquet).write(to: URL(fileURLWithPath: folder.file("\(number).parquet")))
      try JSONSerialization.data(withJSONObject: ["columns": table.json]).write(
        to: URL(fileURLWithPath: folder.file("\(number).json")))
    }
    let result = try PythonEnvironment.parquetReaders.run("Parquet/tables.py", [folder.path])
    #expect(result.status == 0, "\(result.output)")
    #expect(ContractScript.counts(result.output)["tables"] == 25)
    print("Parquet tables read by pyarrow and DuckDB: \(result.output.split(separator: "\n"))")
  }
}

/// A table with random columns and values, as Parquet and as JSON.
private struct RandomTable {
  private(set) var parquet: [UInt8] = []
  private(set) var json: [[String: Any]] = []

  init(_ generator: inout SeededGenerator) {
    let columns = (0..<Int.random(in: 1...20, using: &generator)).map { number in
      ParquetColumn(
        name: ["column", "Größe", "a \"b\"", "%s,'"].randomElement(using: &generator)! + "\(number)",
        type: [.double, .time, .text].randomElement(using: &generator)!,
        isOptional: Bool.random(using: &generator))
    }
    let rows = [0, 1, 7, 8, 9, 500, 3000].randomElement(using: &generator)!
    var table = ParquetTable(columns, groupRows: [1, 10, 1000].randomElement(using: &generator)!)
    var values = [[Any]](repeating: [], count: columns.count)
    // Number of texts, and how often a value is repeated: dictionaries and runs of every length.
    let (texts, stay) = (
      [1, 2, 300].randomElement(using: &generator)!, Int.random(in: 1...40, using: &generator)
    )
    var last = [Cell](repeating: .init(), count: columns.count)
    for row in 0..<rows {
      for index in columns.indices {
        if row == 0 || Int.random(in: 0..<stay, using: &generator) == 0 {
          last[index] = Cell(&generator, texts, isOptional: columns[index].isOptional)
        }
        let cell = last[index]
        let value: Any?
        switch columns[index].type {
        case .double:
          table.group[index].append(cell.double)
          value = cell.double.map { String(format: "%016llx", $0.bitPattern) }
        case .time:
          table.group[index].append(milliseconds: cell.time)
          value = cell.time
        case .text:
          table.group[index].append(cell.text)
          value = cell.text
        }
        values[index].append(value ?? NSNull())
      }
      table.endRow()
      if Bool.random(using: &generator) { parquet += table.takeBytes() }
    }
    table.end(creator: "odograph")
    parquet += table.takeBytes()
    json = columns.indices.map { index in
      [
        "name": columns[index].name, "type": "\(columns[index].type)",
        "isOptional": columns[index].isOptional, "values": values[index],
      ]
    }
  }

  /// A value for a column of each type, or all nil.
  private struct Cell {
    var double: Double?
    var time: Int64?
    var text: String?

    init() {}

    init(_ generator: inout SeededGenerator, _ texts: Int, isOptional: Bool) {
      guard !isOptional || Int.random(in: 0..<3, using: &generator) > 0 else { return }
      let special: [Double] = [0, -0.0, 1, .leastNonzeroMagnitude, .greatestFiniteMagnitude]
      double =
        Bool.random(using: &generator)
        ? special.randomElement(using: &generator) : Double.random(in: -1e9...1e9, using: &generator)
      // Required values may be any number.
      if !isOptional, Int.random(in: 0..<9, using: &generator) == 0 {
        double = [.nan, .infinity, -.infinity].randomElement(using: &generator)
      }
      let limit: Int64 = 9_223_372_036_854
      time =
        Bool.random(using: &generator)
        ? Int64.random(in: -limit...limit, using: &generator)
        : [0, -1, limit].randomElement(using: &generator)
      let pieces = [
        "", "van", "ü", "u\u{308}", "😀", "\u{0}", "\u{7F}\n", String(repeating: "long", count: 200),
      ]
      text =
        pieces.randomElement(using: &generator)! + "\(Int.random(in: 0..<texts, using: &generator))"
        + pieces.randomElement(using: &generator)!
    }
  }
}
