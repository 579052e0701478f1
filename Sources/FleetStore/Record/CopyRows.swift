package import Spatial

/// A writer of PostgreSQL's binary COPY format (the manual's page on COPY, "Binary Format"), which the server
/// reads without parsing text.
package struct CopyRows: RowWriter {
  package private(set) var bytes: [UInt8]
  package private(set) var count = 0

  package init(reserving capacity: Int = 0) {
    bytes = Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0] + [UInt8](repeating: 0, count: 8)
    bytes.reserveCapacity(capacity)
  }

  /// The types of array elements; the raw value is the type's number (`pg_type.oid`).
  package enum ElementType: UInt32 {
    case text = 25
    case double = 701
    case timestamp = 1184
  }

  /// Starts a one-dimensional array in the binary format of query parameters. An array element is encoded
  /// like a column of a COPY row.
  package init(arrayOf type: ElementType, count: Int) {
    bytes = []
    bytes.reserveCapacity(20 + 16 * count)
    // The number of dimensions, the null flag, the element type, the number of elements, and the index of the
    // first one.
    for number in [1, 1, type.rawValue, UInt32(clamping: count), 1] { append(number) }
  }

  package mutating func beginRow(columns: Int) {
    count += 1
    append(UInt16(columns))
  }

  /// Writes the end of the data.
  package mutating func finish() { append(UInt16.max) }

  package mutating func null() { append(UInt32.max) }

  package mutating func text(_ value: String?) {
    guard var value else { return null() }
    value.withUTF8 { utf8 in
      append(UInt32(utf8.count))
      unsafe bytes.append(contentsOf: utf8)
    }
  }

  mutating func raw(_ value: [UInt8]) {
    append(UInt32(value.count))
    bytes.append(contentsOf: value)
  }

  package mutating func double(_ value: Double?) {
    guard let value else { return null() }
    append(UInt32(8))
    append(value.bitPattern)
  }

  package mutating func bigint(_ value: Int64?) {
    guard let value else { return null() }
    append(UInt32(8))
    append(UInt64(bitPattern: value))
  }

  package mutating func integer(_ value: Int32) {
    append(UInt32(4))
    append(UInt32(bitPattern: value))
  }

  mutating func smallint(_ value: Int16) {
    append(UInt32(2))
    append(UInt16(bitPattern: value))
  }

  package mutating func bool(_ value: Bool) {
    append(UInt32(1))
    bytes.append(value ? 1 : 0)
  }

  /// Writes a `timestamptz`, which counts microseconds since 2000.
  package mutating func timestamp(_ value: UTCTime?) {
    guard let value else { return null() }
    bigint((value.milliseconds - Self.millenniumMilliseconds) * 1000)
  }

  package mutating func utf8(_ value: [UInt8]) { raw(value) }

  /// Writes a `jsonb`, whose binary format starts with a version number.
  package mutating func json(_ value: [UInt8]?) {
    guard let value else { return null() }
    raw([1] + value)
  }

  private static let millenniumMilliseconds: Int64 = 946_684_800_000

  private mutating func append(_ value: some FixedWidthInteger) {
    unsafe withUnsafeBytes(of: value.bigEndian) { unsafe bytes.append(contentsOf: $0) }
  }
}

/// A day in UTC, counted from 1970-01-01.
package struct Day: Hashable, Comparable {
  package var number: Int

  package init(number: Int) { self.number = number }

  package init(_ time: UTCTime) {
    let milliseconds = time.milliseconds
    number = Int((milliseconds - (milliseconds % 86_400_000 + 86_400_000) % 86_400_000) / 86_400_000)
  }

  /// Parses a day.
  /// - Parameter text: a text such as `2026-11-21`; other texts return nil.
  package init?(text: String) {
    guard let time = UTCTime(rfc3339: text + "T00:00:00Z") else { return nil }
    self.init(time)
  }

  package static func < (a: Day, b: Day) -> Bool { a.number < b.number }

  /// The start of the day in UTC.
  package var beginning: UTCTime { UTCTime(nanoseconds: Int64(clamping: number) * 86_400_000_000_000) }

  package var next: Day { Day(number: number + 1) }

  /// The day as text such as `2026-11-21`.
  package var text: String {
    String(UTCTime(nanoseconds: Int64(clamping: number) * 86_400_000_000_000).rfc3339.prefix(10))
  }
}
