internal import Telemetry

/// The tables, and the pragmas under which they are used.
///
/// `meta` holds single values by key: `format`, `salvaged` (how far a salvage has come that is not over), `epoch`, `reserved` (no seq at or above it was ever
/// given out), `clock` (the store's clock at the last clean end), `inode` (of the file, to notice that it is
/// a copy), and by `document …` what is preserved beside the records (`PreservedDocument`). `lanes` counts what each lane holds and has dropped, in the same transaction as the change. Each
/// lane has a table of its own, keyed by seq, so that appending goes to its end and draining starts at its
/// front without an index. `dead` keeps what the broker will never take; `overtaken` names by topic the newest record that
/// was delivered ahead of its history.
enum Schema {
  /// 2 checks all that a record is, 1 checked topic and payload.
  static let format: Int64 = 2
  /// Pages in the write-ahead log after which they move into the database: few, because so many may have to
  /// find room there when the disk is full.
  static let checkpointPages = 256

  /// Of the keys of documents in `meta`.
  static let documentPrefix = "document "

  static func table(_ lane: DeliveryLane) -> String {
    switch lane {
    case .events: "events"
    case .state: "state"
    case .tracks: "tracks"
    case .other: "other"
    case .traces: "traces"
    }
  }

  /// The table that counts what each lane holds.
  static let counters = "lanes"

  /// The page at which each table begins in a store that was made by `creation`: for one whose first page is lost.
  ///
  /// Stores of versions that had no traces have an index where that table is, in which no record is found.
  static let roots = ["lanes": 4, "events": 7, "state": 8, "tracks": 9, "other": 10, "traces": 11]
  /// The lanes that every store has.
  static let oldestLanes = 4

  static let columns = "seq, topic, payload, qos, retain, content_type, expiry, created, stored, checksum"

  /// Before anything else, on every open.
  static let pragmas = """
    PRAGMA auto_vacuum = INCREMENTAL;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA wal_autocheckpoint = \(checkpointPages);
    PRAGMA journal_size_limit = 2097152;
    PRAGMA cache_size = -512;
    PRAGMA temp_store = MEMORY;
    """

  static var creation: String {
    let lanes = DeliveryLane.allCases.map { lane in
      """
      CREATE TABLE IF NOT EXISTS \(table(lane)) (seq INTEGER PRIMARY KEY, \(body));
      INSERT OR IGNORE INTO lanes (lane) VALUES (\(lane.rawValue));
      """
    }
    return """
      CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS lanes (
        lane INTEGER PRIMARY KEY, records INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0,
        dropped_space INTEGER NOT NULL DEFAULT 0, dropped_age INTEGER NOT NULL DEFAULT 0,
        damaged INTEGER NOT NULL DEFAULT 0);
      CREATE TABLE IF NOT EXISTS dead (
        seq INTEGER PRIMARY KEY, \(body), lane INTEGER NOT NULL, reason TEXT NOT NULL,
        refused INTEGER NOT NULL);
      CREATE TABLE IF NOT EXISTS overtaken (
        topic TEXT PRIMARY KEY, lane INTEGER NOT NULL, seq INTEGER NOT NULL) WITHOUT ROWID;
      \(lanes.joined(separator: "\n"))
      CREATE UNIQUE INDEX IF NOT EXISTS state_topic ON state (topic);
      """
  }

  private static let body = """
    topic TEXT NOT NULL, payload BLOB NOT NULL, qos INTEGER NOT NULL, retain INTEGER NOT NULL,
    content_type TEXT, expiry INTEGER, created INTEGER NOT NULL, stored INTEGER NOT NULL,
    checksum INTEGER NOT NULL
    """
}
