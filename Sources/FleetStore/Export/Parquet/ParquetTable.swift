internal import Bytes

/// A writer of a Parquet file (apache/parquet-format 2), one row group at a time. The file consists of
/// `PAR1`, pages, a footer in Thrift's compact protocol, the footer's length, and `PAR1`. It is not
/// compressed. The footer has the minimum and maximum of each column in each row group, so that readers can
/// skip row groups without matching rows.
struct ParquetTable {
  /// The maximum number of rows in a row group. A full row group needs about 8 MB of memory, and has pages of
  /// 1 MB.
  static let groupRows = 1 << 17
  /// The total size of the dictionaries in bytes at which a row group ends before it has `groupRows` rows.
  private static let dictionaryLimit = 8 << 20

  let columns: [ParquetColumn]
  /// The current row group: append a value to each column, then call `endRow`.
  var group: [ParquetChunk]
  private let groupRows: Int
  /// The bytes of the file that `takeBytes()` has not returned yet.
  private var bytes: [UInt8]
  /// The number of bytes that `takeBytes()` has returned.
  private var taken = 0
  private var rows = 0
  private var groups: [(rows: Int, chunks: [ParquetChunkSummary])] = []

  init(_ columns: [ParquetColumn], groupRows: Int = Self.groupRows) {
    self.columns = columns
    self.groupRows = groupRows
    group = columns.map { ParquetChunk($0) }
    bytes = Self.magic
  }

  private static let magic = Array("PAR1".utf8)

  /// True if a complete row group is available.
  var hasBytes: Bool { bytes.count > Self.magic.count }

  mutating func takeBytes() -> [UInt8] {
    defer { bytes = [] }
    taken += bytes.count
    return bytes
  }

  mutating func endRow() {
    rows += 1
    let dictionaries = group.reduce(0) { $0 + $1.dictionarySize }
    if group.first?.count == groupRows || dictionaries > Self.dictionaryLimit { endGroup() }
  }

  /// Writes the last row group and the footer.
  /// - Parameter creator: the program for the footer's `created_by`, such as "odograph version 1.0".
  mutating func end(creator: String) {
    if let first = group.first, first.count > 0 { endGroup() }
    let footer = footer(creator)
    bytes.append(contentsOf: footer)
    bytes.append(little: UInt32(footer.count))
    bytes.append(contentsOf: Self.magic)
  }

  private mutating func endGroup() {
    let rows = group.first?.count ?? 0
    let chunks = group.map { chunk in chunk.write(to: &bytes, at: taken + bytes.count) }
    groups.append((rows, chunks))
    group = columns.map { ParquetChunk($0) }
  }

  /// Returns the footer, a `FileMetaData` of parquet.thrift.
  private func footer(_ creator: String) -> [UInt8] {
    ThriftCompactWriter.structure { thrift in
      thrift.int32(1, 2)
      thrift.list(2, of: .structure, count: columns.count + 1) { list in
        list.element { root in
          root.binary(4, Array("schema".utf8))
          root.int32(5, columns.count)
        }
        for column in columns { list.element { column.write(to: &$0) } }
      }
      thrift.int64(3, rows)
      thrift.list(4, of: .structure, count: groups.count) { list in
        for group in groups { list.element { write(group.rows, group.chunks, to: &$0) } }
      }
      thrift.binary(6, Array(creator.utf8))
      // Readers only use minimum and maximum if the file declares a column order; here it is the order of
      // each column's type.
      thrift.list(7, of: .structure, count: columns.count) { list in
        for _ in columns { list.element { order in order.structure(1) { _ in } } }
      }
    }
  }

  /// Writes a `RowGroup` of parquet.thrift.
  private func write(_ rows: Int, _ chunks: [ParquetChunkSummary], to thrift: inout ThriftCompactWriter) {
    thrift.list(1, of: .structure, count: chunks.count) { list in
      for (column, chunk) in zip(columns, chunks) { list.element { chunk.write(column, to: &$0) } }
    }
    thrift.int64(2, chunks.reduce(0) { $0 + $1.size })
    thrift.int64(3, rows)
  }
}
