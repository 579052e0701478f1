internal import Bytes
internal import Positioning
package import SQLite
package import Sensors
internal import Spatial
internal import Telemetry

/// The file of a `BeaconStore`.
///
/// A row per beacon would cost 20 bytes in addition to the 34 bytes of an entry, and leave a third of each
/// page empty. Therefore beacons are stored in `bucketCount` rows by a hash of their identity: 20,000 beacons
/// require less than 1 MB, finding one reads a row of about 350 bytes, and a scan of twenty beacons changes
/// twenty pages. Each row starts with its checksum, because SQLite does not detect all damage.
package final class BeaconFile {
  package struct Entry: Hashable {
    var beacon: LearnedBeacon
    /// True if the entry comes from the fleet's map and was not heard by this vehicle yet.
    var isShared = false

    /// Value for retention, in days: each sighting, up to 60, counts one day, and entries of the fleet's map
    /// count less than the vehicle's own.
    var worth: Int {
      beacon.place.lastSeen + min(beacon.place.sightings, 60) - (isShared ? 60 : 0)
    }
  }

  package static let bucketCount: UInt64 = 2048
  /// Number of parts of the file, each of neighbouring rows, for writing many entries at once.
  static let partCount: UInt64 = 8
  private static let entrySize = LearnedBeacon.byteCount + 1
  private static let checksumSize = 4
  /// Maximum number of cells of the fleet's map whose versions are stored.
  private static let mostCells = 64

  private static let steps = [
    """
    CREATE TABLE buckets (number INTEGER PRIMARY KEY, beacons BLOB NOT NULL);
    CREATE TABLE cells (cell TEXT PRIMARY KEY, version TEXT NOT NULL, day INTEGER NOT NULL) WITHOUT ROWID;
    """
  ]

  private let path: String
  private let database: Database
  private var reading: Statement
  private var writing: Statement
  /// Number of beacons in the file.
  package private(set) var count = 0
  /// Number of rows read and written since the file was opened.
  private(set) var (reads, writes) = (0, 0)
  /// Cells of the fleet's map that were dropped, completely or partly.
  private var lost: Set<String> = []

  /// Opens the file, or creates it.
  /// - Throws: `SQLiteError`; if `isDamage` is true, set the file aside.
  package init(path: String) throws(SQLiteError) {
    self.path = path
    database = try Database(path: path, access: .create)
    // `secure_delete` overwrites deleted positions. A truncated rollback journal requires less space than a
    // write-ahead log, and writes are rare.
    try database.execute(
      """
      PRAGMA secure_delete = ON; PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = FULL;
      PRAGMA cache_size = -128; PRAGMA temp_store = MEMORY;
      """)
    guard try database.migrate(Self.steps) else {
      throw SQLiteError(code: .notADatabase, message: "a newer version created it", sql: "open", file: path)
    }
    guard try database.text("PRAGMA quick_check(1)") == "ok" else {
      throw SQLiteError(code: .corrupt, message: "its pages are inconsistent", sql: "open", file: path)
    }
    reading = try database.prepare("SELECT beacons FROM buckets WHERE number = ?1")
    writing = try database.prepare("INSERT OR REPLACE INTO buckets (number, beacons) VALUES (?1, ?2)")
    for bucket in 0..<Self.bucketCount { count += try entries(bucket).count / Self.entrySize }
  }

  /// Returns the entries of beacons. All are read under one lock, because locking for each takes longer than
  /// reading.
  func entries(of beacons: some Sequence<Beacon>) throws(SQLiteError) -> [Beacon: Entry] {
    try database.transaction(.deferred) { () throws(SQLiteError) in
      var found: [Beacon: Entry] = [:]
      for beacon in beacons {
        let entries = try self.entries(Self.bucket(beacon))
        if let place = Self.offset(of: beacon, in: entries) { found[beacon] = Self.entry(entries, at: place) }
      }
      return found
    }
  }

  /// Writes changes as one transaction; nil deletes an entry.
  /// - Parameter most: maximum number of entries in a bucket, so that addresses crafted for one bucket cannot
  ///   fill it permanently.
  package func apply(_ changes: [Beacon: Entry?], most: Int) throws(SQLiteError) {
    let buckets = Dictionary(grouping: changes.keys) { Self.bucket($0) }
    try changing { () throws(SQLiteError) in
      for (bucket, beacons) in buckets.sorted(by: { $0.key < $1.key }) {
        var entries = try self.entries(bucket)
        let before = entries.count
        for beacon in beacons {
          let place = Self.offset(of: beacon, in: entries)
          switch (changes[beacon] ?? nil, place) {
          case (let entry?, let place?):
            entries.replaceSubrange(place..<place + Self.entrySize, with: Self.bytes(entry))
          case (let entry?, nil): entries += Self.bytes(entry)
          case (nil, let place?): entries.removeSubrange(place..<place + Self.entrySize)
          case (nil, nil): break
          }
        }
        while entries.count > most * Self.entrySize { lose(Self.removeLeast(&entries)) }
        try write(bucket, entries, before: before)
      }
      try markLost()
    }
  }

  /// Writes pieces of the fleet's map, each row once. Entries heard by this vehicle have precedence.
  /// - Parameter most: maximum number of entries in a bucket.
  package func apply(_ pieces: WaitingPieces, most: Int) throws(SQLiteError) {
    for part in 0..<Self.partCount {
      let words = pieces.words { Self.bucket($0) / (Self.bucketCount / Self.partCount) == part }
      let known = try entries(of: words.keys)
      var changes: [Beacon: Entry?] = [:]
      for (beacon, word) in words where known[beacon]?.isShared ?? true {
        changes.updateValue(Entry(beacon: LearnedBeacon(word), isShared: true), forKey: beacon)
      }
      try apply(changes, most: most)
    }
  }

  /// Deletes entries as one transaction.
  /// - Returns: their number.
  @discardableResult
  func removeAll(where isUnwanted: (Entry) -> Bool) throws(SQLiteError) -> Int {
    try remove(isUnwanted, makesRoom: false)
  }

  /// - Parameter makesRoom: true if entries are dropped for lack of space; their cells of the fleet's map
  ///   then become incomplete.
  @discardableResult
  private func remove(_ isUnwanted: (Entry) -> Bool, makesRoom: Bool) throws(SQLiteError) -> Int {
    let before = count
    try changing { () throws(SQLiteError) in
      for bucket in 0..<Self.bucketCount {
        let entries = try self.entries(bucket)
        var kept: [UInt8] = []
        for place in stride(from: 0, to: entries.count, by: Self.entrySize) {
          guard let entry = Self.entry(entries, at: place) else { continue }
          if isUnwanted(entry) {
            if makesRoom { lose(entry) }
            continue
          }
          kept += entries[place..<place + Self.entrySize]
        }
        if kept.count < entries.count { try write(bucket, kept, before: entries.count) }
      }
      if makesRoom { try markLost() }
    }
    return before - count
  }

  /// Deletes the beacons that were last heard before a day, and above the limit the least valuable ones.
  /// - Parameters:
  ///   - day: the first day that is retained, in days since 1970.
  ///   - limit: maximum number of beacons. Deletion continues to 5 % below it, so that it is not required
  ///     again soon.
  package func forget(before day: Int, limit: Int) throws(SQLiteError) {
    try removeAll { $0.beacon.place.lastSeen < day }
    guard count > limit else { return }
    var byWorth: [Int: Int] = [:]
    for bucket in 0..<Self.bucketCount {
      let entries = try entries(bucket)
      for place in stride(from: 0, to: entries.count, by: Self.entrySize) {
        byWorth[Self.entry(entries, at: place)?.worth ?? .min, default: 0] += 1
      }
    }
    var surplus = count - (limit - limit / 20)
    var rest: [Int: Int] = [:]
    for (worth, count) in byWorth.sorted(by: { $0.key < $1.key }) where surplus > 0 {
      rest[worth] = min(count, surplus)
      surplus -= count
    }
    func isSurplus(_ entry: Entry) -> Bool {
      guard let left = rest[entry.worth], left > 0 else { return false }
      rest[entry.worth] = left - 1
      return true
    }
    try remove(isSurplus, makesRoom: true)
  }

  // MARK: Cells of the fleet's map

  /// Prefix of the version of an incomplete cell.
  static let partial = "-"

  /// Returns the versions of cells, with the prefix `partial` for incomplete ones.
  package func versions() throws(SQLiteError) -> [String: String] {
    var statement = try database.prepare("SELECT cell, version FROM cells", isPersistent: false)
    var versions: [String: String] = [:]
    while try statement.step() { versions[statement.text(0) ?? ""] = statement.text(1) }
    return versions
  }

  /// Returns the cells that became incomplete since the last call.
  package func drainLost() -> Set<String> {
    defer { lost = [] }
    return lost
  }

  private func lose(_ entry: Entry?) {
    guard let entry, let cell = Geohash(entry.beacon.place.coordinate, length: BeaconPiece.cellLength) else {
      return
    }
    lost.insert(cell.text)
  }

  private func markLost() throws(SQLiteError) {
    guard !lost.isEmpty else { return }
    var statement = try database.prepare(
      "UPDATE cells SET version = '\(Self.partial)' || version WHERE cell = ?1 AND version NOT LIKE '\(Self.partial)%'",
      isPersistent: false)
    for cell in lost {
      statement.bind(1, cell)
      try statement.run()
    }
  }

  /// Stores the version of a received cell, marked as incomplete if a part was already dropped.
  package func setVersion(_ version: String, of cell: String, day: Int) throws(SQLiteError) {
    let version = lost.contains(cell) ? Self.partial + version : version
    var statement = try database.prepare(
      "INSERT OR REPLACE INTO cells VALUES (?1, ?2, ?3)", isPersistent: false)
    statement.bind(1, cell)
    statement.bind(2, version)
    statement.bind(3, Int64(day))
    try statement.run()
    try database.execute(
      """
      DELETE FROM cells WHERE cell NOT IN (SELECT cell FROM cells ORDER BY day DESC, cell LIMIT \(Self.mostCells))
      """)
  }

  // MARK: Buckets

  /// Returns the bucket: the high bits of a product distribute consecutive addresses of a manufacturer.
  private static func bucket(_ beacon: Beacon) -> UInt64 {
    (beacon.rawValue &* 0x9e37_79b9_7f4a_7c15) >> 53
  }

  private func entries(_ bucket: UInt64) throws(SQLiteError) -> [UInt8] {
    reads += 1
    reading.bind(1, Int64(bucket))
    guard try reading.step() else { return [] }
    let bytes = reading.bytes(0)
    reading.reset()
    let entries = Array(bytes.dropFirst(Self.checksumSize))
    guard bytes.count >= Self.checksumSize, entries.count.isMultiple(of: Self.entrySize),
      UInt32(little: bytes, at: 0) == FNV1a.hash32(entries)
    else {
      throw SQLiteError(
        code: .corrupt, message: "row \(bucket) has a wrong checksum", sql: "read", file: path)
    }
    return entries
  }

  private func write(_ bucket: UInt64, _ entries: [UInt8], before: Int) throws(SQLiteError) {
    writes += 1
    var bytes: [UInt8] = []
    bytes.append(little: FNV1a.hash32(entries))
    writing.bind(1, Int64(bucket))
    writing.bind(2, blob: bytes + entries)
    try writing.run()
    count += (entries.count - before) / Self.entrySize
  }

  private func changing(_ body: () throws(SQLiteError) -> Void) throws(SQLiteError) {
    let before = count
    do throws(SQLiteError) { try database.transaction { () throws(SQLiteError) in try body() } } catch {
      count = before
      throw error
    }
  }

  // MARK: Entries

  private static func bytes(_ entry: Entry) -> [UInt8] { entry.beacon.bytes + [entry.isShared ? 1 : 0] }

  private static func entry(_ entries: [UInt8], at place: Int) -> Entry? {
    LearnedBeacon(bytes: Array(entries[place..<place + LearnedBeacon.byteCount])).map {
      Entry(beacon: $0, isShared: entries[place + LearnedBeacon.byteCount] != 0)
    }
  }

  private static func offset(of beacon: Beacon, in entries: [UInt8]) -> Int? {
    var identity: [UInt8] = []
    identity.append(little: beacon.rawValue)
    var place = 0
    while place < entries.count {
      // The low byte is compared first, because it differs in nearly all cases.
      if entries[place] == identity[0], entries[place..<place + identity.count].elementsEqual(identity) {
        return place
      }
      place += entrySize
    }
    return nil
  }

  /// Removes the entry with the least value from a bucket.
  /// - Returns: the removed entry; nil if it was invalid.
  private static func removeLeast(_ entries: inout [UInt8]) -> Entry? {
    let least = stride(from: 0, to: entries.count, by: entrySize).min {
      (entry(entries, at: $0)?.worth ?? .min) < (entry(entries, at: $1)?.worth ?? .min)
    }
    guard let least else { return nil }
    defer { entries.removeSubrange(least..<least + entrySize) }
    return entry(entries, at: least)
  }
}
