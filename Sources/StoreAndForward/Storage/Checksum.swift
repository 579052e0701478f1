internal import Spatial

/// Checksum of a record's whole content, including its number. SQLite does not detect bit errors in values.
///
/// Eight bytes at a time pass the finalizer of SplitMix64 (Steele, Lea, Flood, 2014), which is bijective: two
/// values that differ in one position never have the same checksum.
enum Checksum {
  static func of(_ record: OutboxRecord) -> Int64 {
    var sum = contents(of: record)
    if var contentType = record.contentType {
      sum = contentType.withUTF8 { unsafe mix(UnsafeRawBufferPointer($0), sum) }
    }
    let flags = UInt64(record.qos) << 2 | (record.retain ? 2 : 0) | (record.contentType == nil ? 0 : 1)
    for word in [
      flags, record.expiry.map { UInt64($0) + 1 } ?? 0, record.seq,
      UInt64(bitPattern: record.createdAt.nanoseconds),
      UInt64(bitPattern: record.storedAt),
    ] {
      sum = step(sum, word)
    }
    return Int64(bitPattern: sum)
  }

  static func of(_ document: PreservedDocument) -> Int64 {
    var name = document.name
    let sum = name.withUTF8 { unsafe mix(UnsafeRawBufferPointer($0), 0) }
    return Int64(bitPattern: unsafe document.bytes.withUnsafeBytes { unsafe mix($0, sum) })
  }

  /// Returns the checksum of the first format, of topic and payload alone.
  static func ofFormat1(_ record: OutboxRecord) -> Int64 { Int64(bitPattern: contents(of: record)) }

  private static func contents(of record: OutboxRecord) -> UInt64 {
    var topic = record.topic
    let sum = topic.withUTF8 { unsafe mix(UnsafeRawBufferPointer($0), 0) }
    return unsafe record.payload.withUnsafeBytes { unsafe mix($0, sum) }
  }

  private static func mix(_ bytes: UnsafeRawBufferPointer, _ start: UInt64) -> UInt64 {
    var sum = step(start, UInt64(bytes.count))
    var index = 0
    while index + 8 <= bytes.count {
      sum = unsafe step(
        sum, UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)))
      index += 8
    }
    var rest: UInt64 = 0
    while index < bytes.count {
      rest = unsafe rest << 8 | UInt64(bytes[index])
      index += 1
    }
    return step(sum, rest)
  }

  private static func step(_ sum: UInt64, _ word: UInt64) -> UInt64 {
    var z = (sum ^ word) &+ 0x9E37_79B9_7F4A_7C15
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
