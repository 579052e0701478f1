import Glibc
import Platform
import SQLite
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

func draft(
  _ lane: Lane, _ text: String, topic: String = "t", retain: Bool = false, expiry: UInt32? = nil
) -> RecordDraft {
  RecordDraft(
    lane: lane, topic: topic, retain: retain, contentType: "text/plain", expiry: expiry, createdAt: 1
  ) { identity in
    Array("\(text) \(identity.epoch) \(identity.seq)".utf8)
  }
}

extension Record {
  /// The text that the draft was made with.
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
  func drain(portion: Int = 100) -> [Record] {
    var all: [Record] = []
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
  // Only here is the file a copy: SQLite shares its index among a process's users of one inode.
  var status = stat()
  stat(place, &status)
  let database = try Database(path: place, access: .readWrite)
  try database.execute("UPDATE meta SET value = '\(status.st_ino)' WHERE key = 'inode'")
  return place
}
