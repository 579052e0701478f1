internal import Bytes
package import Platform
internal import Positioning
package import Spatial
package import Telemetry

/// The fixes of the last days in a bounded ring on disk, for the command `track`. The outbox deletes
/// acknowledged messages.
///
/// The file is an array of independent slots of 4096 bytes. All numbers are little-endian.
///
/// | bytes | content |
/// | --- | --- |
/// | 0 ..< 8 | `ODOFIX01` |
/// | 8 ..< 16 | FNV-1a 64 of the rest up to the last fix |
/// | 16 ..< 24 | sequence number, from 1; the slot with the largest precedes the oldest |
/// | 24 ..< 32 | count, 1 ... 203 |
/// | from 32 | for each fix: ms since 1970 (8), latitude and longitude in 1e-7 degrees (4 and 4), decimetres
/// of accuracy plus one or 0 (4) |
///
/// A slot is written when it is full, so an unexpected end loses at most 203 fixes.
package struct FixHistory: ~Copyable {
  /// A stored fix. Its position was published, but a privacy zone may have been added since.
  package struct Fix: Hashable {
    package var time: UTCTime
    package var coordinate: Coordinate
    /// Horizontal accuracy in m (68 %); nil if unknown.
    package var horizontalAccuracy: Double?

    package init(time: UTCTime, coordinate: Coordinate, horizontalAccuracy: Double? = nil) {
      (self.time, self.coordinate, self.horizontalAccuracy) = (time, coordinate, horizontalAccuracy)
    }
  }

  private let file: RandomAccessFile
  private let slotLimit: Int
  fileprivate var slots: [Slot]
  private var next = 0
  private var sequence: UInt64 = 1
  private var pending: [Fix] = []

  fileprivate struct Slot {
    var sequence: UInt64
    var first: UTCTime
    var last: UTCTime
  }

  package static let slotSize = 4096
  package static let capacity = 203

  /// Opens the history, or creates it.
  /// - Parameter limit: maximum size of the file in bytes.
  package init(path: String, limit: Int) throws(SystemError) {
    let file = try RandomAccessFile(path: path, access: .readWrite)
    let slotLimit = max(1, limit / Self.slotSize)
    if try file.size > Int64(slotLimit * Self.slotSize) {
      try file.truncate(to: Int64(slotLimit * Self.slotSize))
    }
    var slots: [Slot] = []
    var newest: (sequence: UInt64, slot: Int) = (0, -1)
    let count = try Int(file.size) / Self.slotSize
    for index in 0..<count {
      let bytes = try file.read(count: Self.slotSize, at: Int64(index * Self.slotSize))
      let decoded = Self.decode(bytes)
      slots.append(decoded.map { Slot($0.sequence, $0.fixes) } ?? .empty)
      if let decoded, decoded.sequence > newest.sequence { newest = (decoded.sequence, index) }
    }
    self.file = file
    self.slotLimit = slotLimit
    self.slots = slots
    next = (newest.slot + 1) % slotLimit
    sequence = newest.sequence + 1
  }

  /// Records the fix of a message. If the disk is not writable, the slot to be written is lost.
  package mutating func record(_ message: LocationMessage) throws(SystemError) {
    let location = message.location
    guard location.coordinate.isValid else { return }
    pending.append(
      Fix(
        time: message.time, coordinate: location.coordinate, horizontalAccuracy: location.horizontalAccuracy))
    if pending.count == Self.capacity { try flush() }
  }

  /// Writes the pending fixes.
  package mutating func flush() throws(SystemError) {
    guard !pending.isEmpty else { return }
    let fixes = pending
    pending = []
    try file.write(Self.encode(fixes, sequence: sequence), at: Int64(next * Self.slotSize))
    while slots.count <= next { slots.append(.empty) }
    slots[next] = Slot(sequence, fixes)
    next = (next + 1) % slotLimit
    sequence += 1
  }

  /// Returns the first `limit` fixes of a time span in the order of recording.
  package func fixes(from: UTCTime, to: UTCTime, limit: Int) -> [Fix] {
    var found: [Fix] = []
    let order = slots.indices.filter {
      slots[$0].sequence > 0 && slots[$0].first <= to && slots[$0].last >= from
    }
    .sorted { slots[$0].sequence < slots[$1].sequence }
    for index in order {
      // An unreadable slot is treated as missing.
      guard let bytes = try? file.read(count: Self.slotSize, at: Int64(index * Self.slotSize)),
        let slot = Self.decode(bytes)
      else { continue }
      found += slot.fixes.filter { from <= $0.time && $0.time <= to }
      if found.count >= limit { return Array(found.prefix(limit)) }
    }
    found += pending.filter { from <= $0.time && $0.time <= to }
    return Array(found.prefix(limit))
  }
}

extension FixHistory.Slot {
  fileprivate static var empty: Self {
    Self(sequence: 0, first: UTCTime(nanoseconds: 0), last: UTCTime(nanoseconds: 0))
  }

  fileprivate init(_ sequence: UInt64, _ fixes: [FixHistory.Fix]) {
    let times = fixes.map(\.time)
    let zero = UTCTime(nanoseconds: 0)
    self.init(sequence: sequence, first: times.min() ?? zero, last: times.max() ?? zero)
  }
}

// MARK: Slots

extension FixHistory {
  private static let magic = Array("ODOFIX01".utf8)
  private static let headerSize = 32
  private static let fixSize = 20

  package static func encode(_ fixes: [Fix], sequence: UInt64) -> [UInt8] {
    var body: [UInt8] = []
    body.reserveCapacity(slotSize)
    body.append(little: sequence)
    body.append(little: UInt64(fixes.count))
    for fix in fixes {
      body.append(little: fix.time.nanoseconds / 1_000_000)
      body.append(little: Int32((fix.coordinate.latitude * 1e7).rounded()))
      body.append(little: Int32((fix.coordinate.longitude * 1e7).rounded()))
      let accuracy = fix.horizontalAccuracy.map { UInt32((max(0, min($0, 1e8)) * 10).rounded(.up)) + 1 } ?? 0
      body.append(little: accuracy)
    }
    var slot = magic
    slot.append(little: FNV1a.hash64(body))
    slot += body
    slot += repeatElement(0, count: slotSize - slot.count)
    return slot
  }

  package static func decode(_ bytes: [UInt8]) -> (sequence: UInt64, fixes: [Fix])? {
    guard bytes.count == slotSize, bytes.starts(with: magic) else { return nil }
    let count = UInt64(little: bytes, at: 24)
    guard (1...UInt64(capacity)).contains(count) else { return nil }
    let end = headerSize + Int(count) * fixSize
    guard FNV1a.hash64(bytes[16..<end]) == UInt64(little: bytes, at: 8) else { return nil }
    let fixes = (0..<Int(count)).map { index in
      let place = headerSize + index * fixSize
      let time = Int64(little: bytes, at: place)
      var fix = Fix(
        time: UTCTime(nanoseconds: time.multipliedReportingOverflow(by: 1_000_000).partialValue),
        coordinate: Coordinate(
          latitude: bytes.degrees(at: place + 8), longitude: bytes.degrees(at: place + 12)))
      let accuracy = UInt32(little: bytes, at: place + 16)
      if accuracy > 0 { fix.horizontalAccuracy = Double(accuracy - 1) / 10 }
      return fix
    }
    return (UInt64(little: bytes, at: 16), fixes)
  }
}

extension [UInt8] {
  fileprivate func degrees(at place: Int) -> Double { Double(Int32(little: self, at: place)) / 1e7 }
}
