import Glibc
import Platform
import SQLite
import Spatial
import Telemetry
import TestSupport

@testable import StoreAndForward

/// Collects the notices of an outbox.
final class NoticeRecorder: Sendable {
  private let contents = Locked<[OutboxNotice]>([])

  var notices: [OutboxNotice] { contents.withLock { $0 } }

  var handler: @Sendable (OutboxNotice) -> Void {
    { notice in self.contents.withLock { $0.append(notice) } }
  }
}

/// A message whose payload contains a text and the identity.
struct TextMessage: OutboxMessage {
  var lane: DeliveryLane
  var text: String
  var topic: String
  var retain: Bool
  var expiry: UInt32?

  func record(as identity: MessageIdentity) -> OutboxRecord {
    OutboxRecord(
      lane: lane, topic: topic, payload: Array("\(text) \(identity.epoch) \(identity.seq)".utf8),
      retain: retain,
      contentType: "text/plain", expiry: expiry, createdAt: UTCTime(nanoseconds: 1))
  }
}

func draft(
  _ lane: DeliveryLane, _ text: String, topic: String = "t", retain: Bool = false, expiry: UInt32? = nil
) -> TextMessage {
  TextMessage(lane: lane, text: text, topic: topic, retain: retain, expiry: expiry)
}

extension OutboxRecord {
  /// Text of the message.
  var text: String {
    String(decoding: payload, as: UTF8.self).split(separator: " ").dropLast(2).joined(separator: " ")
  }

  /// Identity in the payload.
  var identity: String {
    String(decoding: payload, as: UTF8.self).split(separator: " ").suffix(2).joined(separator: " ")
  }
}

extension Outbox {
  /// Hands out and removes all records.
  func drain(portion: Int = 100) -> [OutboxRecord] {
    var all: [OutboxRecord] = []
    while true {
      let records = next(limit: portion)
      if records.isEmpty { return all }
      all += records
      remove(records.map(\.seq))
    }
  }
}

/// Copies the store as found after a kill or a power cut at this moment.
/// - Parameter syncedLength: bytes of the write-ahead log that were synced; nil means all.
func afterCrash(_ directory: TemporaryDirectory, syncedLength: Int? = nil) throws -> String {
  let place = directory.file("after-crash.sqlite")
  try writeFile(place, readFile(directory.file("outbox.sqlite")))
  let log = try readFile(directory.file("outbox.sqlite-wal"))
  try writeFile(place + "-wal", Array(log.prefix(syncedLength ?? log.count)))
  // The kernel still has the unsynced file of recent records after a kill, but not after a power cut.
  if syncedLength == nil {
    try writeFile(place + ".recent", readFile(directory.file("outbox.sqlite.recent")))
  }
  // The copy has another inode. It needs one: SQLite shares its index between all users of an inode in a process.
  var status = stat()
  stat(place, &status)
  let database = try Database(path: place, access: .readWrite)
  try database.execute("UPDATE meta SET value = '\(status.st_ino)' WHERE key = 'inode'")
  return place
}

/// Recalculates the checksum of each record.
func renewChecksums(_ database: borrowing Database) throws {
  for lane in DeliveryLane.allCases {
    var reading = try database.prepare("SELECT \(Schema.columns) FROM \(Schema.table(lane))")
    var sums: [(UInt64, Int64)] = []
    while try reading.step() {
      let record = OutboxRecord(reading, lane)
      sums.append((record.seq, Checksum.of(record)))
    }
    for (seq, sum) in sums {
      try database.execute("UPDATE \(Schema.table(lane)) SET checksum = \(sum) WHERE seq = \(seq)")
    }
  }
}
