internal import Bytes
internal import Sensors
internal import Spatial

/// The states of regions that a monitor preserves across a restart, by identifier.
struct RegionMemory: Hashable, Sendable {
  struct Dwell: Hashable, Sendable {
    /// Civil time of entry; nil if unknown.
    var since: UTCTime?
    var hasDwelt: Bool
  }

  var stays: [String: Dwell] = [:]
  /// The regions that the vehicle was outside of. Keys are hashes of identifiers: 100,000 of them require 400
  /// kB. Values are the civil times in ns since which the vehicle was outside; `Int64.min` if unknown.
  var outside: [UInt32: Int64] = [:]

  var isEmpty: Bool { stays.isEmpty && outside.isEmpty }

  /// Returns an FNV-1a hash. With 100,000 stored regions, one new region in 40,000 collides. It then counts
  /// as a region that the vehicle was outside of.
  static func hash(_ identifier: String) -> UInt32 { FNV1a.hash32(identifier.utf8) }

  init() {}

  // Layout, little-endian, with numbers of bytes in parentheses. "ODRM", version 2; number of regions inside
  // (4). For each of these: length of the identifier (4), its UTF-8, civil time of entry in ns (8; smallest
  // number for unknown), whether the dwell was reported (1). Then the number of times since which the vehicle
  // was outside of regions (4). For each of these: civil time in ns (8), number of hashes (4), hashes (4
  // each). Last, FNV-1a of all preceding bytes (4). Version 1 has one list of hashes, without a time.
  private static let magic = Array("ODRM".utf8) + [2]
  private static let oldMagic = Array("ODRM".utf8) + [1]

  var encoded: [UInt8] {
    var bytes = Self.magic
    bytes.append(little: UInt32(stays.count))
    for (identifier, stay) in stays.sorted(by: { $0.key < $1.key }) {
      bytes.append(little: UInt32(identifier.utf8.count))
      bytes.append(contentsOf: identifier.utf8)
      bytes.append(little: stay.since?.nanoseconds ?? Int64.min)
      bytes.append(stay.hasDwelt ? 1 : 0)
    }
    // Regions are grouped by time, because most of them share one time: that of the first fix.
    let groups = Dictionary(grouping: outside, by: \.value).sorted { $0.key < $1.key }
    bytes.append(little: UInt32(groups.count))
    for (time, members) in groups {
      bytes.append(little: time)
      bytes.append(little: UInt32(members.count))
      for hash in members.map(\.key).sorted() { bytes.append(little: hash) }
    }
    bytes.append(little: FNV1a.hash32(bytes))
    return bytes
  }

  init(decoding bytes: [UInt8]) throws(StoredStateError) {
    let isOld = bytes.starts(with: Self.oldMagic)
    guard isOld || bytes.starts(with: Self.magic), bytes.count >= Self.magic.count + 12 else {
      throw StoredStateError(description: "is not a region state file of this version")
    }
    let end = bytes.count - 4
    var place = end
    func get<Value: FixedWidthInteger>(_: Value.Type) throws(StoredStateError) -> Value {
      let size = MemoryLayout<Value>.size
      guard place + size <= bytes.count else { throw StoredStateError(description: "is truncated") }
      defer { place += size }
      return Value(little: bytes, at: place)
    }
    guard try get(UInt32.self) == FNV1a.hash32(bytes[..<end]) else {
      throw StoredStateError(description: "is damaged: wrong checksum")
    }
    place = Self.magic.count
    for _ in 0..<(try get(UInt32.self)) {
      let length = Int(try get(UInt32.self))
      guard place + length <= end,
        let identifier = String(validating: bytes[place..<(place + length)], as: UTF8.self)
      else { throw StoredStateError(description: "contains an identifier that is not UTF-8") }
      place += length
      let since = try get(Int64.self)
      let hasDwelt = try get(UInt8.self) != 0
      stays[identifier] = Dwell(
        since: since == .min ? nil : UTCTime(nanoseconds: since), hasDwelt: hasDwelt)
    }
    for _ in 0..<(isOld ? 1 : try get(UInt32.self)) {
      let time = isOld ? Int64.min : try get(Int64.self)
      for _ in 0..<(try get(UInt32.self)) { outside[try get(UInt32.self)] = time }
    }
  }
}
