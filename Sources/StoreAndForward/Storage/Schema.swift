internal import Telemetry

/// The tables, and the pragmas under which they are used.
///
/// `meta` contains single values by key: `format`, `salvaged` (progress of an incomplete salvage), `epoch`,
/// `reserved` (no number at or above it was ever assigned), `clock` (the store's clock at the last clean
/// end), and `inode` (of the file, to detect a copy). `documents` contains the program's state by name
/// (`PreservedDocument`), each with a checksum; in earlier stores it is in `meta` as `document …`. `lanes` counts
/// the records and drops of each lane, in the same transaction as the change. Each lane has its own table, keyed
/// by seq, so that appending writes to its end and draining reads from its front without an index. `dead`
/// contains dead letters; `overtaken` contains by topic the newest record delivered before older ones.
enum Schema {
  /// Format version: in 2 the checksum covers the whole record, in 1 it covered topic and payload.
  static let format: Int64 = 2
  /// Size of the write-ahead log in pages from which it is checkpointed into the database. It is small,
  /// because a checkpoint may need this number of additional pages in the database while the disk is full
  /// (`SpaceReserve`).
  static let checkpointPages = 256

  static func table(_ lane: DeliveryLane) -> String {
    switch lane {
    case .events: "events"
    case .state: "state"
    case .tracks: "tracks"
    case .other: "other"
    case .traces: "traces"
    }
  }

  /// The table with the counters of each lane.
  static let counters = "lanes"
  static let documents = "documents"

  /// Root page of each table in a store made by `creation`, for stores whose first page is lost.
  ///
  /// Stores of versions without traces have an index at the page of `traces`, in which no record is found.
  static let roots = [
    "lanes": 4, "events": 7, "state": 8, "tracks": 9, "other": 10, "traces": 11, "documents": 13,
  ]
  /// Number of lanes that every store has.
  static let oldestLanes = 4

  static let columns = "seq, topic, payload, qos, retain, content_type, expiry, created, stored, checksum"

  /// Executed first at every open.
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
      CREATE TABLE IF NOT EXISTS documents (
        name TEXT PRIMARY KEY NOT NULL, content BLOB, checksum INTEGER NOT NULL);
      """
  }

  private static let body = """
    topic TEXT NOT NULL, payload BLOB NOT NULL, qos INTEGER NOT NULL, retain INTEGER NOT NULL,
    content_type TEXT, expiry INTEGER, created INTEGER NOT NULL, stored INTEGER NOT NULL,
    checksum INTEGER NOT NULL
    """
}
