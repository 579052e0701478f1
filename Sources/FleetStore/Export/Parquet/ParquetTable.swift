internal import Bytes

/// A Parquet file (apache/parquet-format 2) as it is written, row group by row group: `PAR1`, the pages, the footer in
/// Thrift's compact protocol, its length, `PAR1`. Nothing is compressed. Each row group holds the least and greatest value of
/// each column, so that readers pass over those that a filter leaves out.
struct ParquetTable {
  /// Rows of a row group at most: some 8 MB of memory, and pages of 1 MB.
  static let groupRows = 1 << 17
  /// Bytes of dictionaries after which a row group ends sooner.
  private static let dictionaryLimit = 8 << 20

  let columns: [ParquetColumn]
  /// The row group that is filled: a value is appended to each column, and then `endRow` is called.
  var group: [ParquetChunk]
  private let groupRows: Int
  /// What was written and not yet taken away.
  private var bytes: [UInt8]
  /// Bytes that were taken away.
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

  /// Whether a row group's worth of bytes is there.
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

  /// Writes what is left, and the footer.
  /// - Parameter creator: of the file, as in "odograph version 1.0".
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

  /// `FileMetaData`.
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
      // Without the order, readers trust no bounds: that of each column's type.
      thrift.list(7, of: .structure, count: columns.count) { list in
        for _ in columns { list.element { order in order.structure(1) { _ in } } }
      }
    }
  }

  /// `RowGroup`.
  private func write(_ rows: Int, _ chunks: [ParquetChunkSummary], to thrift: inout ThriftCompactWriter) {
    thrift.list(1, of: .structure, count: chunks.count) { list in
      for (column, chunk) in zip(columns, chunks) { list.element { chunk.write(column, to: &$0) } }
    }
    thrift.int64(2, chunks.reduce(0) { $0 + $1.size })
    thrift.int64(3, rows)
  }
}
