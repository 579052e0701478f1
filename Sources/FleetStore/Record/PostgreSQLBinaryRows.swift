internal import CPostgreSQL

/// The rows of a query in PostgreSQL's binary format, which avoids parsing numbers. Rows and columns count
/// from 0. The corresponding C type is `PGresult`.
@safe struct BinaryRows: ~Copyable {
  private let result: OpaquePointer
  let count: Int

  /// Takes ownership of a result, which is freed with this value.
  init(result: OpaquePointer) {
    unsafe self.result = unsafe result
    count = unsafe Int(PQntuples(result))
  }

  deinit { unsafe PQclear(result) }

  /// Returns the bits of a number and its size in bytes; nil for null or an unexpected size.
  private func bits(_ row: Int, _ column: Int) -> (UInt64, size: Int)? {
    let (row, column) = (Int32(clamping: row), Int32(clamping: column))
    guard unsafe PQgetisnull(result, row, column) == 0 else { return nil }
    let size = unsafe Int(PQgetlength(result, row, column))
    guard [2, 4, 8].contains(size), let start = unsafe PQgetvalue(result, row, column) else { return nil }
    var bits: UInt64 = 0
    for place in 0..<size { bits = bits << 8 | UInt64(UInt8(bitPattern: unsafe start[place])) }
    return (bits, size)
  }

  /// Returns a `double precision` column; nil for null or another type.
  func double(_ row: Int, _ column: Int) -> Double? {
    guard let (bits, size) = bits(row, column), size == 8 else { return nil }
    return Double(bitPattern: bits)
  }

  /// Returns a `smallint`, `integer` or `bigint` column; nil for null or another type.
  func integer(_ row: Int, _ column: Int) -> Int64? {
    guard let (bits, size) = bits(row, column) else { return nil }
    let shift = UInt64(64 - 8 * size)
    return Int64(bitPattern: bits << shift) >> Int64(shift)
  }

  /// Returns a `timestamptz` column as milliseconds since 1970, rounded down. The server counts microseconds
  /// since 2000. Nil for null and infinity.
  func milliseconds(_ row: Int, _ column: Int) -> Int64? {
    guard let microseconds = integer(row, column), microseconds != .max, microseconds != .min else {
      return nil
    }
    let (quotient, rest) = microseconds.quotientAndRemainder(dividingBy: 1000)
    return quotient - (rest < 0 ? 1 : 0) + Self.epoch
  }

  /// The milliseconds from 1970 to 2000.
  private static let epoch: Int64 = 946_684_800_000
}
