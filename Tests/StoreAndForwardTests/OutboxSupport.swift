import Glibc
import Platform
import SQLite
import Spatial
import Telemetry
import TestSupport

@testable import StoreAndForward

/// Gathers an outbox's notices.
final class NoticeRecorder: Sendable {
  private let contents = Locked<[OutboxNotice]>([])

  var notices: [OutboxNotice] { contents.withLock { $0 } }

  var handler: @Sendable (OutboxNotice) -> Void {
    { notice in self.contents.withLock { $0.append(notice) } }
  }
}

/// A message whose payload is a text and its identity.
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
  /// The text that the message was made with.
  var text: String {
    String(decoding: payload, as: UTF8.self).split(separator: " ").dropLast(2).joined(separator: " ")
  }

  /// The identity that the payload carries.
  var identity: String {
    String(decoding: payload, as: UTF8.self).split(separator: " ").suffix(2).joined(separator: " ")
  }
}

extension Outbox {
  /// Hands out and removes everything.
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

/// A store as it would be found after the process died, or the power was cut, at this moment.
/// - Parameter syncedLength: bytes of the write-ahead log that had reached the flash; nil means all.
func afterCrash(_ directory: TemporaryDirectory, syncedLength: Int? = nil) throws -> String {
  let place = directory.file("after-crash.sqlite")
  try writeFile(place, readFile(directory.file("outbox.sqlite")))
  let log = try readFile(directory.file("outbox.sqlite-wal"))
  try writeFile(place + "-wal", Array(log.prefix(syncedLength ?? log.count)))
  // What was never synced and a dead process leaves to the kernel.
  if syncedLength == nil {
    try writeFile(place + ".recent", readFile(directory.file("outbox.sqlite.recent")))
  }
  // Only here is the file a copy: SQLite shares its index among a process's users of one inode.
  var status = stat()
  stat(place, &status)
  let database = try Database(path: place, access: .readWrite)
  try database.execute("UPDATE meta SET value = '\(status.st_ino)' WHERE key = 'inode'")
  return place
}

/// Gives every record of a store the checksum of what it is now.
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
