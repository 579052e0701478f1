internal import Spatial
internal import Telemetry

/// Reads rows of a SQLite table from untrusted pages. Every length is checked against the available data.
struct RowReader {
  enum Value: Equatable {
    case null
    case integer(Int64)
    case text(Range<Int>)
    case blob(Range<Int>)
  }

  /// A row of a table.
  struct Row {
    var key: Int64
    /// Values, whose ranges refer to `bytes`.
    var values: [Value]
    var bytes: ArraySlice<UInt8>
  }

  let pages: PageFile
  /// Number of overflow pages that may still be read, so that the work remains limited if chains are damaged.
  private(set) var budget: Int
  private var overflow = [UInt8](repeating: 0, count: PageFile.pageSize)

  init(_ pages: PageFile) {
    self.pages = pages
    budget = 8 * (pages.last + 16)
  }

  /// Returns the positions of the rows on a leaf page according to its header; nil if the header is invalid.
  static func cells(of page: [UInt8], at start: Int) -> [Int]? {
    guard page[start] == 0x0D else { return nil }
    let count = Int(page[start + 3]) << 8 | Int(page[start + 4])
    guard start + 8 + 2 * count <= page.count else { return nil }
    let cells = (0..<count).map { Int(page[start + 8 + 2 * $0]) << 8 | Int(page[start + 9 + 2 * $0]) }
    // The position of the first row is stored twice, which reveals a row count that is too small.
    let first = Int(page[start + 5]) << 8 | Int(page[start + 6])
    guard first == cells.min() ?? page.count, Set(cells).count == count else { return nil }
    return cells
  }

  /// Returns whether a page is a valid inner page: all of its children exist.
  static func isInner(_ page: [UInt8], last: Int) -> Bool {
    let children = children(of: page, at: 0)
    let count = Int(page[3]) << 8 | Int(page[4])
    return children.count == count + 1 && children.allSatisfy { (2...max(2, last)).contains($0) }
      && Set(children).count == children.count
  }

  /// Returns the children of an inner page.
  static func children(of page: [UInt8], at start: Int) -> [Int] {
    guard page[start] == 0x05 else { return [] }
    let count = Int(page[start + 3]) << 8 | Int(page[start + 4])
    var children: [Int] = []
    for index in 0..<count where start + 14 + 2 * index <= page.count {
      let cell = Int(page[start + 12 + 2 * index]) << 8 | Int(page[start + 13 + 2 * index])
      if cell + 4 <= page.count { children.append(number(page, cell)) }
    }
    return children + [number(page, start + 8)]
  }

  /// Returns possible positions of row headers on a page: a valid header length, followed by the type of the
  /// key column, which is zero.
  static func headers(on page: [UInt8], columns: Int) -> [Int] {
    let lengths = UInt8(columns + 1)...UInt8(3 * columns)
    return unsafe page.withUnsafeBytes { bytes in
      (2..<bytes.count - columns).filter { unsafe bytes[$0 + 1] == 0 && lengths.contains(bytes[$0]) }
    }
  }

  /// Returns the row at a position of a page; nil if there is none.
  /// - Parameter columns: required number of columns.
  mutating func row(at place: Int, of page: [UInt8], columns: Int) -> Row? {
    var index = place
    guard let size = Self.variable(page[...], &index), size > columns, size < 1 << 31,
      let key = Self.variable(page[...], &index)
    else { return nil }
    // Header length and first types exclude most invalid rows before any overflow page is read.
    guard index < page.count, Int(page[index]) > columns, Int(page[index]) < columns * 9 + 1 else {
      return nil
    }
    let bytes: ArraySlice<UInt8>
    let direct = PageFile.pageSize - 35
    if size <= direct {
      guard index + Int(size) <= page.count else { return nil }
      bytes = page[index..<index + Int(size)]
    } else {
      guard let joined = overflowing(page, index, Int(size)) else { return nil }
      bytes = joined[...]
    }
    guard let values = Self.values(bytes, columns: columns) else { return nil }
    return Row(key: Int64(bitPattern: key), values: values, bytes: bytes)
  }

  /// Returns the bytes of a row that does not fit on a page.
  private mutating func overflowing(_ page: [UInt8], _ index: Int, _ size: Int) -> [UInt8]? {
    let usable = PageFile.pageSize
    let least = (usable - 12) * 32 / 255 - 23
    let fitting = least + (size - least) % (usable - 4)
    let local = fitting <= usable - 35 ? fitting : least
    guard index + local + 4 <= page.count, size <= pages.last * usable else { return nil }
    // The part of the row on this page must be plausible before overflow pages are read.
    guard Self.types(page[index..<index + local], count: nil) != nil else { return nil }
    var bytes = Array(page[index..<index + local])
    var next = Self.number(page, index + local)
    while bytes.count < size {
      guard budget > 0, next > 0, pages.read(next, into: &overflow) else { return nil }
      budget -= 1
      bytes += overflow[4..<min(usable, 4 + size - bytes.count)]
      next = Self.number(overflow, 0)
    }
    return bytes
  }

  // MARK: The record format

  private static func types(_ bytes: ArraySlice<UInt8>, count: Int?) -> (types: [UInt64], body: Int)? {
    var index = bytes.startIndex
    guard let size = variable(bytes, &index), size <= 1000, bytes.startIndex + Int(size) <= bytes.endIndex
    else {
      return nil
    }
    let end = bytes.startIndex + Int(size)
    var types: [UInt64] = []
    while index < end {
      guard let type = variable(bytes, &index), type != 10, type != 11 else { return nil }
      types.append(type)
    }
    guard index == end, count == nil || types.count == count else { return nil }
    return (types, end)
  }

  private static func values(_ bytes: ArraySlice<UInt8>, columns: Int) -> [Value]? {
    guard let (types, body) = types(bytes, count: columns) else { return nil }
    var index = body
    var values: [Value] = []
    for type in types {
      switch type {
      case 0: values.append(.null)
      case 8: values.append(.integer(0))
      case 9: values.append(.integer(1))
      case 1...6:
        let size = [0, 1, 2, 3, 4, 6, 8][Int(type)]
        guard index + size <= bytes.endIndex else { return nil }
        let first = bytes[index] > 127 ? Int64(-1) : 0
        values.append(.integer(bytes[index..<index + size].reduce(first) { $0 << 8 | Int64($1) }))
        index += size
      case 7: return nil
      default:
        let size = Int(clamping: (type - 12) / 2)
        guard size <= bytes.endIndex - index else { return nil }
        values.append(type % 2 == 0 ? .blob(index..<index + size) : .text(index..<index + size))
        index += size
      }
    }
    return index == bytes.endIndex ? values : nil
  }

  /// Reads a number of one to nine bytes; nil if the bytes end before the number does.
  private static func variable(_ bytes: ArraySlice<UInt8>, _ index: inout Int) -> UInt64? {
    var value: UInt64 = 0
    for count in 0..<9 {
      guard index < bytes.endIndex else { return nil }
      let byte = bytes[index]
      index += 1
      if count == 8 { return value << 8 | UInt64(byte) }
      value = value << 7 | UInt64(byte & 127)
      if byte < 128 { return value }
    }
    return nil
  }

  private static func number(_ bytes: [UInt8], _ offset: Int) -> Int {
    bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
  }
}

extension OutboxRecord {
  /// Decodes a row of a lane; nil unless its checksum is valid.
  init?(_ row: RowReader.Row, lane: DeliveryLane, isFormat1: Bool) {
    guard row.key > 0, row.values.count == 10, case .text(let topic) = row.values[1],
      case .blob(let payload) = row.values[2],
      case .integer(let qos) = row.values[3], (0...2).contains(qos),
      case .integer(let retain) = row.values[4],
      (0...1).contains(retain),
      case .integer(let created) = row.values[7], case .integer(let stored) = row.values[8],
      case .integer(let checksum) = row.values[9],
      let name = String(validating: row.bytes[topic], as: UTF8.self)
    else { return nil }
    var contentType: String?
    if case .text(let range) = row.values[5] {
      guard let text = String(validating: row.bytes[range], as: UTF8.self) else { return nil }
      contentType = text
    }
    var expiry: UInt32?
    if case .integer(let seconds) = row.values[6] {
      guard let seconds = UInt32(exactly: seconds) else { return nil }
      expiry = seconds
    }
    self.init(
      lane: lane, topic: name, payload: Array(row.bytes[payload]), qos: UInt8(qos), retain: retain == 1,
      contentType: contentType, expiry: expiry, createdAt: UTCTime(nanoseconds: created))
    seq = UInt64(row.key)
    storedAt = stored
    guard checksum == (isFormat1 ? Checksum.ofFormat1(self) : Checksum.of(self)) else { return nil }
  }
}
