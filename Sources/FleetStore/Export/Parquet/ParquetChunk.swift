internal import Bytes

/// The values of a column within a row group, on their way into pages.
///
/// Numbers are PLAIN. Text has a dictionary: names of vehicles repeat in every row, and take a bit of each then.
struct ParquetChunk {
  let column: ParquetColumn
  /// Rows so far.
  private(set) var count = 0
  /// PLAIN, of the column, or of the dictionary of a text column.
  private var plain: [UInt8] = []
  /// 1 for a row with a value; empty for a column where all have one.
  private var levels: [UInt32] = []
  private var indices: [UInt32] = []
  // By bytes: texts that Swift holds equal may differ in them.
  private var dictionary: [[UInt8]: UInt32] = [:]
  private var last: (text: [UInt8], index: UInt32)?
  private var nulls = 0
  private var doubles: ClosedRange<Double>?
  private var times: ClosedRange<Int64>?

  /// Names longer than that have no place in a footer.
  private static let longestBound = 1024

  init(_ column: ParquetColumn) { self.column = column }

  /// Bytes of the dictionary.
  var dictionarySize: Int { column.type == .text ? plain.count : 0 }

  // MARK: Values

  /// What is not finite is no value; where there must be one it stays, and nil is NaN.
  /// - Precondition: the column's type is `double`.
  mutating func append(_ number: Double?) {
    guard appendLevel(number?.isFinite == true || !column.isOptional) else { return }
    let number = number ?? .nan
    plain.append(little: number.bitPattern)
    guard !number.isNaN else { return }
    doubles = doubles.map { min($0.lowerBound, number)...max($0.upperBound, number) } ?? number...number
  }

  /// - Parameter time: milliseconds since 1970; nil only where a row may have none, and else 0.
  /// - Precondition: the column's type is `time`.
  mutating func append(milliseconds time: Int64?) {
    guard appendLevel(time != nil || !column.isOptional) else { return }
    let time = time ?? 0
    plain.append(little: time)
    times = times.map { min($0.lowerBound, time)...max($0.upperBound, time) } ?? time...time
  }

  /// - Parameter text: nil only where a row may have none, and else empty.
  /// - Precondition: the column's type is `text`.
  mutating func append(_ text: String?) {
    guard appendLevel(text != nil || !column.isOptional) else { return }
    let text = text ?? ""
    // Most rows say what the one before said.
    if let last, last.text.elementsEqual(text.utf8) {
      indices.append(last.index)
      return
    }
    let bytes = Array(text.utf8)
    let index = dictionary[bytes] ?? UInt32(dictionary.count)
    if index == dictionary.count {
      dictionary[bytes] = index
      plain.append(little: UInt32(bytes.count))
      plain.append(contentsOf: bytes)
    }
    indices.append(index)
    last = (bytes, index)
  }

  private mutating func appendLevel(_ hasValue: Bool) -> Bool {
    count += 1
    if column.isOptional { levels.append(hasValue ? 1 : 0) }
    if !hasValue { nulls += 1 }
    return hasValue
  }

  // MARK: Pages

  /// Appends the pages, the dictionary's first, and returns where they are.
  /// - Parameter offset: of the end of `bytes` from the start of the file.
  func write(to bytes: inout [UInt8], at offset: Int) -> ParquetChunkSummary {
    let begin = bytes.count
    var summary = ParquetChunkSummary(dataOffset: offset, count: count, nulls: nulls)
    (summary.minimum, summary.maximum) = bounds ?? (nil, nil)
    var page: [UInt8] = []
    if column.isOptional {
      let encoded = RunLengthHybrid.encode(levels, width: 1)
      page.append(little: UInt32(encoded.count))
      page.append(contentsOf: encoded)
    }
    if column.type == .text {
      Self.append(page: plain, to: &bytes) { header in
        header.int32(1, 2)
        header.int32(2, plain.count)
        header.int32(3, plain.count)
        header.structure(7) { part in
          part.int32(1, dictionary.count)
          part.int32(2, ParquetEncoding.plain.rawValue)
        }
      }
      summary.dictionaryOffset = offset
      summary.dataOffset = offset + bytes.count - begin
      // Some readers take no width of 0, which a dictionary of one text could have.
      let width = max(1, UInt32.bitWidth - UInt32(max(0, dictionary.count - 1)).leadingZeroBitCount)
      page.append(UInt8(width))
      page.append(contentsOf: RunLengthHybrid.encode(indices, width: width))
    } else {
      page.append(contentsOf: plain)
    }
    let encoding: ParquetEncoding = column.type == .text ? .dictionary : .plain
    Self.append(page: page, to: &bytes) { header in
      header.int32(1, 0)
      header.int32(2, page.count)
      header.int32(3, page.count)
      header.structure(5) { part in
        part.int32(1, count)
        part.int32(2, encoding.rawValue)
        part.int32(3, ParquetEncoding.rle.rawValue)
        part.int32(4, ParquetEncoding.rle.rawValue)
      }
    }
    summary.size = bytes.count - begin
    return summary
  }

  private static func append(
    page: [UInt8], to bytes: inout [UInt8], _ header: (inout ThriftCompactWriter) -> Void
  ) {
    bytes.append(contentsOf: ThriftCompactWriter.structure(header))
    bytes.append(contentsOf: page)
  }

  /// The least and greatest value, in the order of the column's type.
  private var bounds: (minimum: [UInt8], maximum: [UInt8])? {
    switch column.type {
    case .double:
      // A zero may have either sign: parquet.thrift asks for the outer one.
      return doubles.map { range in
        let (low, high) = (
          range.lowerBound == 0 ? -0.0 : range.lowerBound, range.upperBound == 0 ? 0.0 : range.upperBound
        )
        return (Self.little(low.bitPattern), Self.little(high.bitPattern))
      }
    case .time: return times.map { (Self.little($0.lowerBound), Self.little($0.upperBound)) }
    case .text:
      guard let least = dictionary.keys.min(by: { $0.lexicographicallyPrecedes($1) }),
        let greatest = dictionary.keys.max(by: { $0.lexicographicallyPrecedes($1) }),
        max(least.count, greatest.count) <= Self.longestBound
      else { return nil }
      return (least, greatest)
    }
  }

  private static func little(_ number: some FixedWidthInteger) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(little: number)
    return bytes
  }
}
