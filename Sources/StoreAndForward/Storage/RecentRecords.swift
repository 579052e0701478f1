internal import Bytes
internal import Platform
internal import Spatial
internal import Telemetry

/// The newest records, in a small file beside the store. The broker is expected to acknowledge them before
/// they must be in the store, where each would cost some pages of flash.
///
/// The file is never synced. It protects against a crash of the process, after which the kernel still has all
/// of its bytes. After a power cut or a restart of the machine, detected by the boot identity, it is ignored.
/// Records older than the permitted loss must therefore be written to the store. The same few pages are
/// rewritten again and again, and reach the flash only at the kernel's intervals of about half a minute.
///
/// All numbers are little-endian. The header:
///
/// | bytes | content |
/// | --- | --- |
/// | 0 ..< 8 | `ODOREC01` |
/// | 8 ..< 16 | FNV-1a 64 of the rest of the header |
/// | 16 ..< 20 | generation: entries of other generations are outdated |
/// | 20 ..< 56 | identity of the machine's boot |
///
/// Entries follow, each with its length (4), its generation (4), FNV-1a 64 of the body (8), and the body: a
/// record, or the number of a completed one.
final class RecentRecords {
  private let file: RandomAccessFile
  private let boot: [UInt8]
  private var generation: UInt32 = 0
  private var position = RecentRecords.headerSize
  /// True if the file's content is valid.
  private var isSound = false

  private static let magic = Array("ODOREC01".utf8)
  private static let headerSize = 56
  private static let entryHeaderSize = 16
  /// Size in bytes after which the records move to the store, so that the file remains small.
  private static let sizeLimit = 256 << 10

  /// Opens the file, and creates it if missing. Nil if that fails, or the boot identity is unavailable.
  init?(path: String) {
    guard let boot = try? AtomicFile.read("/proc/sys/kernel/random/boot_id", limit: 64)?.prefix(36),
      boot.count == 36
    else { return nil }
    guard let file = try? RandomAccessFile(path: path, access: .readWrite, mode: 0o600) else { return nil }
    self.file = file
    self.boot = Array(boot)
  }

  // MARK: Writing

  /// Discards all records. Call it before the first append.
  func reset() {
    let next = generation &+ 1
    isSound = write(header(next), at: 0)
    if isSound { (generation, position) = (next, Self.headerSize) }
  }

  /// Appends records. Returns false if the disk is not writable or the file has reached its limit.
  func append(_ records: [OutboxRecord]) -> Bool {
    guard isSound else { return false }
    var bytes: [UInt8] = []
    for record in records { append(Self.encode(record), to: &bytes) }
    guard position + bytes.count <= Self.sizeLimit, write(bytes, at: position) else { return false }
    position += bytes.count
    return true
  }

  /// Marks some of the records as completed.
  func remove(_ seqs: [UInt64]) {
    guard isSound, !seqs.isEmpty else { return }
    var bytes: [UInt8] = []
    for seq in seqs {
      var body: [UInt8] = [Self.removalKind]
      body.append(little: seq)
      append(body, to: &bytes)
    }
    // If this write fails, the record is sent again after a crash, with the same number.
    if write(bytes, at: position) { position += bytes.count }
  }

  private func append(_ body: [UInt8], to bytes: inout [UInt8]) {
    bytes.append(little: UInt32(body.count))
    bytes.append(little: generation)
    bytes.append(little: FNV1a.hash64(body))
    bytes += body
  }

  private func header(_ generation: UInt32) -> [UInt8] {
    var rest: [UInt8] = []
    rest.append(little: generation)
    rest += boot
    var bytes = Self.magic
    bytes.append(little: FNV1a.hash64(rest))
    return bytes + rest
  }

  private func write(_ bytes: [UInt8], at position: Int) -> Bool {
    do throws(SystemError) {
      try file.write(bytes, at: Int64(position))
      return true
    } catch {
      return false
    }
  }

  // MARK: Reading

  /// Returns the records left by a process of this boot, in order. If the broker has accepted a newer record
  /// of a retained topic, older ones lose their retain flag, because the retained message must not go back in
  /// time.
  func recover() -> [OutboxRecord] {
    guard let bytes = try? file.read(count: Self.sizeLimit + Self.headerSize, at: 0),
      bytes.count >= Self.headerSize, Array(bytes[..<8]) == Self.magic,
      UInt64(little: bytes, at: 8) == FNV1a.hash64(bytes[16..<Self.headerSize]),
      Array(bytes[20..<Self.headerSize]) == boot
    else { return [] }
    generation = UInt32(little: bytes, at: 16)
    var records: [OutboxRecord] = []
    var done: Set<UInt64> = []
    var place = Self.headerSize
    while place + Self.entryHeaderSize <= bytes.count {
      let count = Int(UInt32(little: bytes, at: place))
      let start = place + Self.entryHeaderSize
      guard UInt32(little: bytes, at: place + 4) == generation, count <= bytes.count - start,
        UInt64(little: bytes, at: place + 8) == FNV1a.hash64(bytes[start..<start + count])
      else { break }
      var reader = BodyReader(bytes: bytes, place: start, end: start + count)
      switch reader.number(UInt8.self) {
      case Self.removalKind: if let seq = reader.number(UInt64.self) { done.insert(seq) }
      case Self.recordKind: if let record = reader.record() { records.append(record) }
      default: break
      }
      place = start + count
    }
    var taken: [String: UInt64] = [:]
    for record in records where record.retain && done.contains(record.seq) {
      taken[record.topic] = record.seq
    }
    return records.filter { !done.contains($0.seq) }.map { record in
      var record = record
      if LastKnown.concerns(record.lane), taken[record.topic] ?? 0 > record.seq { record.retain = false }
      return record
    }
  }

  // MARK: Bodies

  private static let recordKind: UInt8 = 1
  private static let removalKind: UInt8 = 2

  private static func encode(_ record: OutboxRecord) -> [UInt8] {
    var body: [UInt8] = [recordKind, UInt8(truncatingIfNeeded: record.lane.rawValue), record.qos]
    body.reserveCapacity(record.cost + 64)
    body.append(record.retain ? 1 : 0)
    body.append(little: record.seq)
    body.append(little: record.createdAt.nanoseconds)
    body.append(little: record.storedAt)
    body.append(little: record.expiry.map { UInt64($0) } ?? .max)
    append(Array(record.topic.utf8), to: &body)
    body.append(record.contentType == nil ? 0 : 1)
    append(Array((record.contentType ?? "").utf8), to: &body)
    append(record.payload, to: &body)
    return body
  }

  private static func append(_ bytes: [UInt8], to body: inout [UInt8]) {
    body.append(little: UInt32(bytes.count))
    body += bytes
  }
}

/// Reads the fields of a body; nil after its end.
private struct BodyReader {
  let bytes: [UInt8]
  var place: Int
  let end: Int

  mutating func number<Number: FixedWidthInteger>(_ type: Number.Type) -> Number? {
    guard end - place >= Number.bitWidth / 8 else { return nil }
    defer { place += Number.bitWidth / 8 }
    return Number(little: bytes, at: place)
  }

  mutating func array() -> [UInt8]? {
    guard let count = number(UInt32.self), end - place >= Int(count) else { return nil }
    defer { place += Int(count) }
    return Array(bytes[place..<place + Int(count)])
  }

  mutating func record() -> OutboxRecord? {
    guard let lane = number(UInt8.self).flatMap({ DeliveryLane(rawValue: Int($0)) }),
      let qos = number(UInt8.self), let retain = number(UInt8.self), let seq = number(UInt64.self),
      let createdAt = number(Int64.self), let storedAt = number(Int64.self),
      let expiry = number(UInt64.self), let topic = array(), let hasContentType = number(UInt8.self),
      let contentType = array(), let payload = array()
    else { return nil }
    var record = OutboxRecord(
      lane: lane, topic: String(decoding: topic, as: UTF8.self), payload: payload, qos: qos,
      retain: retain != 0,
      contentType: hasContentType != 0 ? String(decoding: contentType, as: UTF8.self) : nil,
      expiry: UInt32(exactly: expiry), createdAt: UTCTime(nanoseconds: createdAt))
    (record.seq, record.storedAt) = (seq, storedAt)
    return record
  }
}
