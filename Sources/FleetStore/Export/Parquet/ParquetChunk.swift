internal import Bytes

/// The values of a column in a row group before they are written as pages.
///
/// Numbers are PLAIN encoded. Text is dictionary encoded: vehicle names are repeated in most rows, and a
/// repeated name then needs about one bit.
struct ParquetChunk {
  let column: ParquetColumn
  /// The number of appended rows.
  private(set) var count = 0
  /// The PLAIN encoded values of a number column, or of a text column's dictionary.
  private var plain: [UInt8] = []
  /// The definition levels: 1 for a row with a value, 0 for null; empty for a required column.
  private var levels: [UInt32] = []
  private var indices: [UInt32] = []
  // The keys are bytes, because two strings that Swift considers equal can have different bytes.
  private var dictionary: [[UInt8]: UInt32] = [:]
  private var last: (text: [UInt8], index: UInt32)?
  private var nulls = 0
  private var doubles: ClosedRange<Double>?
  private var times: ClosedRange<Int64>?

  /// The maximum length in bytes of a text as minimum or maximum in the footer.
  private static let longestBound = 1024

  init(_ column: ParquetColumn) { self.column = column }

  /// The size of the dictionary in bytes; 0 for a number column.
  var dictionarySize: Int { column.type == .text ? plain.count : 0 }

  // MARK: Values

  /// Appends a number. In an optional column, nil and non-finite numbers are null. In a required column,
  /// non-finite numbers are stored, and nil is stored as NaN.
  /// - Precondition: the column's type is `double`.
  mutating func append(_ number: Double?) {
    guard appendLevel(number?.isFinite == true || !column.isOptional) else { return }
    let number = number ?? .nan
    plain.append(little: number.bitPattern)
    guard !number.isNaN else { return }
    doubles = doubles.map { min($0.lowerBound, number)...max($0.upperBound, number) } ?? number...number
  }

  /// Appends a time.
  ///
  /// - Parameter time: milliseconds since 1970; nil is null in an optional column, and 0 in a required one.
  /// - Precondition: the column's type is `time`.
  mutating func append(milliseconds time: Int64?) {
    guard appendLevel(time != nil || !column.isOptional) else { return }
    let time = time ?? 0
    plain.append(little: time)
    times = times.map { min($0.lowerBound, time)...max($0.upperBound, time) } ?? time...time
  }

  /// Appends a text.
  ///
  /// - Parameter text: nil is null in an optional column, and empty in a required one.
  /// - Precondition: the column's type is `text`.
  mutating func append(_ text: String?) {
    guard appendLevel(text != nil || !column.isOptional) else { return }
    let text = text ?? ""
    // Most rows repeat the previous value. Comparing with it first saves a look-up in the dictionary.
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

  /// Appends the dictionary page, if there is one, and the data page to `bytes`.
  /// - Parameter offset: the offset in the file at which the pages start.
  /// - Returns: the offsets and statistics for the footer.
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
      // A dictionary with one entry would need 0 bits per index, but some readers reject this width.
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

  /// The minimum and maximum in the order of the column's type; nil without values, or if a text is longer
  /// than `longestBound`.
  private var bounds: (minimum: [UInt8], maximum: [UInt8])? {
    switch column.type {
    case .double:
      // parquet.thrift requires -0 as the minimum and +0 as the maximum where a bound is zero.
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
