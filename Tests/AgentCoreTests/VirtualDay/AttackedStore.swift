import Foundation
import Glibc
import Platform
import SQLite
import Telemetry
import TestSupport

@testable import StoreAndForward

/// An outbox with a full disk, kills and damaged files, and a reference list of its messages: each message
/// arrives, waits, or had its bytes destroyed.
final class AttackedStore {
  struct Key: Hashable {
    var topic: String
    var payload: [UInt8]
  }

  private(set) var outbox: Outbox
  /// Messages that must arrive. In the state lane, only the newest of each topic.
  private(set) var waiting: Set<Key> = []
  private var newestState: [String: Key] = [:]
  /// Every message that was ever accepted.
  private var known: Set<Key> = []
  private(set) var destroyed = 0
  private(set) var arrivals = 0
  private(set) var problems: [String] = []
  /// Sequence of operations, to find the cause of a loss.
  private(set) var history: [String] = []
  private let notices = Locked<[String]>([])
  private(set) var isFull = false
  private var path: String
  private var generation = 0
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.file("outbox-0.sqlite")
    outbox = try Self.open(path, notices)
  }

  private static func open(_ path: String, _ notices: Locked<[String]>) throws -> Outbox {
    try Outbox(path: path, notice: { notice in notices.withLock { $0.append("\(notice)") } })
  }

  private func note(_ action: String) {
    let said = notices.withLock { notices in
      defer { notices = [] }
      return notices
    }
    history.append(
      "\(known.count) accepted, \(waiting.count) wait, \(outbox.status.records) kept: \(action) \(said)")
  }

  var accepted: Int { known.count }

  func accept(_ publications: [Publication]) {
    guard !publications.isEmpty else { return }
    let identities = outbox.append(publications)
    if identities.count != publications.count {
      problems.append("\(identities.count) of \(publications.count) accepted")
    }
    for (publication, identity) in zip(publications, identities) {
      let record = publication.record(as: identity)
      let key = Key(topic: record.topic, payload: record.payload)
      if !known.insert(key).inserted, publication.lane != .state {
        problems.append(
          "\(key.topic) published twice with one identity: \(String(decoding: key.payload, as: UTF8.self))")
      }
      if publication.lane == .state, let older = newestState.updateValue(key, forKey: key.topic) {
        waiting.remove(older)
      }
      waiting.insert(key)
    }
  }

  /// Registers a record that the broker received.
  func arrived(_ record: OutboxRecord) {
    arrivals += 1
    let key = Key(topic: record.topic, payload: record.payload)
    waiting.remove(key)
    if !known.contains(key) {
      problems.append(
        "\(record.topic) was never accepted: \(String(decoding: record.payload, as: UTF8.self))")
    }
  }

  // MARK: The disk

  /// Prevents the store from growing.
  func fillDisk() throws {
    try limitPages { try $0.integer("PRAGMA page_count") ?? 0 }
    isFull = true
    note("disk full")
  }

  func emptyDisk() throws {
    note("before")
    guard isFull else { return }
    try limitPages { _ in 1 << 30 }
    isFull = false
    outbox.flush()
    note("room again")
    if outbox.status.mode != .durable { problems.append("space again, but mode \(outbox.status.mode)") }
  }

  private func limitPages(_ count: (borrowing Database) throws -> Int64) throws {
    try outbox.keeper.withLock { keeper in
      guard let store = keeper.store else { return }
      let pages = try count(store.database)
      try store.database.execute("PRAGMA max_page_count = \(pages)")
    }
  }

  // MARK: Kills and damage

  /// Kills the process and continues with a copy of the files at this time.
  func kill() throws {
    // Messages in memory are lost with the process, as `status` states; a full disk is emptied first.
    try emptyDisk()
    generation += 1
    let next = directory.file("outbox-\(generation).sqlite")
    try outbox.keeper.withLock { _ in
      for suffix in ["", "-wal", ".recent"] where access(path + suffix, F_OK) == 0 {
        try Data(contentsOf: URL(fileURLWithPath: path + suffix)).write(
          to: URL(fileURLWithPath: next + suffix))
      }
    }
    outbox.close()
    for suffix in ["", "-wal", "-shm", ".recent", ".lock"] { unlink(path + suffix) }
    path = next
    var status = stat()
    stat(path, &status)
    // The copy represents the same file: update the stored inode number.
    try Database(path: path, access: .readWrite)
      .execute("UPDATE meta SET value = '\(status.st_ino)' WHERE key = 'inode'")
    outbox = try Self.open(path, notices)
    note("kill")
  }

  /// Stops the process, damages sectors of its file, and starts it again.
  func damage(using random: inout SplitMix) throws {
    try emptyDisk()
    outbox.close()
    var bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
    var sectors: [Range<Int>] = []
    for _ in 0...Int.random(in: 0...2, using: &random) {
      let start = 512 * Int.random(in: 0..<bytes.count / 512, using: &random)
      sectors.append(start..<start + 512)
    }
    forget(where: sectors, in: bytes)
    let fill = Int.random(in: 0..<3, using: &random)
    for sector in sectors {
      for index in sector {
        bytes[index] = fill == 0 ? 0 : fill == 1 ? 0xFF : UInt8(truncatingIfNeeded: random.next())
      }
    }
    let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    try handle.write(contentsOf: Data(bytes))
    try handle.close()
    outbox = try Self.open(path, notices)
    note("damage of \(sectors.map { $0.lowerBound / 512 }) of \(bytes.count / 512) by \(fill)")
  }

  /// Removes messages with bytes in one of the sectors from the list: they need not arrive.
  private func forget(where sectors: [Range<Int>], in bytes: [UInt8]) {
    for sector in sectors {
      let start = max(0, sector.lowerBound - 8192)
      let window = Array(bytes[start..<min(bytes.count, sector.upperBound + 8192)])
      for key in waiting {
        // A row that exceeds a page is stored in several pages.
        let isHit =
          key.payload.count > 3800
          || Self.places(of: key.payload, in: window).contains { place in
            // The topic and the row header precede the payload; the remaining columns follow it.
            let row = start + place - key.topic.utf8.count - 64..<start + place + key.payload.count + 48
            return row.overlaps(sector)
          }
        guard isHit else { continue }
        waiting.remove(key)
        destroyed += 1
      }
    }
  }

  private static func places(of part: [UInt8], in whole: [UInt8]) -> [Int] {
    whole.withUnsafeBytes { whole in
      part.withUnsafeBytes { part in
        var found: [Int] = []
        var start = 0
        while start + part.count <= whole.count,
          let first = memchr(whole.baseAddress! + start, Int32(part[0]), whole.count - start - part.count + 1)
        {
          let place = UnsafeRawPointer(first) - whole.baseAddress!
          if memcmp(first, part.baseAddress!, part.count) == 0 { found.append(place) }
          start = place + 1
        }
        return found
      }
    }
  }
}
