/// A column of a Parquet file.
struct ParquetColumn: Hashable, Sendable {
  enum ColumnType: Hashable, Sendable {
    /// IEEE 754 with 64 bits.
    case double
    /// TIMESTAMP(MILLIS, UTC): milliseconds since 1970.
    case time
    /// STRING in UTF-8.
    case text
  }

  var name: String
  var type: ColumnType
  /// True if values can be null.
  var isOptional = false

  /// The number of the column's physical type, `Type` in parquet.thrift.
  var physicalType: Int {
    switch type {
    case .double: 5
    case .time: 2
    case .text: 6
    }
  }

  /// Writes the column's `SchemaElement`, with the logical type and, for older readers, the converted type.
  func write(to thrift: inout ThriftCompactWriter) {
    thrift.int32(1, physicalType)
    thrift.int32(3, isOptional ? 1 : 0)
    thrift.binary(4, Array(name.utf8))
    switch type {
    case .double: break
    case .time:
      thrift.int32(6, 9)
      thrift.structure(10) { logical in
        logical.structure(8) { timestamp in
          timestamp.boolean(1, true)
          timestamp.structure(2) { unit in unit.structure(1) { _ in } }
        }
      }
    case .text:
      thrift.int32(6, 0)
      thrift.structure(10) { logical in logical.structure(1) { _ in } }
    }
  }
}

/// The metadata of a column in a row group, for the footer.
struct ParquetChunkSummary {
  /// The offset of the dictionary page in the file; nil for a column without a dictionary.
  var dictionaryOffset: Int?
  var dataOffset = 0
  /// The size of all pages in bytes, including their headers.
  var size = 0
  /// The number of rows, including nulls.
  var count = 0
  var nulls = 0
  /// The minimum in PLAIN encoding, without the length prefix of texts; nil if the column has no values.
  var minimum: [UInt8]?
  /// The maximum in PLAIN encoding, without the length prefix of texts; nil if the column has no values.
  var maximum: [UInt8]?

  /// Writes the `ColumnChunk` of parquet.thrift.
  func write(_ column: ParquetColumn, to thrift: inout ThriftCompactWriter) {
    thrift.int64(2, 0)
    thrift.structure(3) { meta in
      meta.int32(1, column.physicalType)
      let encodings: [ParquetEncoding] =
        dictionaryOffset == nil ? [.plain, .rle] : [.plain, .rle, .dictionary]
      meta.list(2, of: .int32, count: encodings.count) { list in
        for encoding in encodings { list.element(encoding.rawValue) }
      }
      meta.list(3, of: .binary, count: 1) { $0.element(Array(column.name.utf8)) }
      meta.int32(4, 0)
      meta.int64(5, count)
      meta.int64(6, size)
      meta.int64(7, size)
      meta.int64(9, dataOffset)
      if let dictionaryOffset { meta.int64(11, dictionaryOffset) }
      meta.structure(12) { statistics in
        statistics.int64(3, nulls)
        if let maximum { statistics.binary(5, maximum) }
        if let minimum { statistics.binary(6, minimum) }
      }
    }
  }
}

/// The values of `Encoding` in parquet.thrift that are used here.
enum ParquetEncoding: Int {
  case plain = 0
  case rle = 3
  case dictionary = 8
}
