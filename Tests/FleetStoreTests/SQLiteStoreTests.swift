import Fleet
import FleetFixtures
import FleetStore
import Glibc
import MQTT
import Platform
import SQLite
import Spatial
import Telemetry
import TestSupport
import Testing
import VehicleData

@Suite struct SQLiteStoreTests {
  private func rows(_ messages: [(String, String)]) -> [RecordedMessage] {
    var recording = MessageRecording(root: "odograph/v1")
    return messages.map { topic, text in
      recording.record(MQTTMessage(topic: topic, text: text, qos: .atLeastOnce), at: moment(0))
    }
  }

  private let location = "odograph/v1/demo/van/location"

  @Test func aMessageIsStoredOnce() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("fleet.sqlite")
    let store = SQLiteStore(path: path)
    try store.open()
    let first = locationJSON(48, at: 0, epoch: "e", seq: 1)
    let second = locationJSON(48, at: 1, epoch: "e", seq: 2)
    #expect(try store.store(rows([(location, first), (location, first)])) == 1)
    let timed = #"{"time":"2026-11-21T12:00:00.000Z"}"#
    #expect(try store.store(rows([(location, first), (location, second), ("a/b/c", timed)])) == 2)
    #expect(try store.store(rows([("a/b/c", timed)])) == 0)
    // The same number of another vehicle is another message.
    #expect(try store.store(rows([("odograph/v1/demo/car/location", first)])) == 1)
    store.close()
    #expect(
      try SQLiteReader(path).rows("SELECT vehicle, seq FROM messages ORDER BY id") == [
        ["van", "1"], ["van", "2"], [nil, nil], ["car", "1"],
      ])
    // The recording is a single file that can be copied.
    #expect(access(directory.file("fleet.sqlite-wal"), F_OK) != 0)
  }

  /// A message with neither number nor time may be repeated, for example by a switch that is turned on twice.
  @Test func messagesWithoutIdentityAreStoredEachTime() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("switch.sqlite")
    let store = SQLiteStore(path: path)
    try store.open()
    let switched = ["on", "off", "on"].map { ("sensors/switch", $0) }
    #expect(try store.store(rows(switched)) == 3)
    #expect(try store.store(rows([switched[0]])) == 1)
    store.close()
    #expect(
      try SQLiteReader(path).rows("SELECT payload FROM messages ORDER BY id") == [
        ["on"], ["off"], ["on"], ["on"],
      ])
  }

  /// Messages with a number and without a time are distinguished by the number.
  @Test func numbersWithoutATimeAreSufficient() throws {
    let directory = try TemporaryDirectory()
    let store = SQLiteStore(path: directory.file("fleet.sqlite"))
    try store.open()
    let message = ("odograph/v1/demo/van/motion", #"{"epoch":"e","seq":1}"#)
    #expect(try store.store(rows([message, message])) == 1)
    #expect(try store.store(rows([message])) == 0)
    store.close()
  }

  /// Messages are not reported as stored if their file was deleted; the store creates a new one.
  @Test func aDeletedFileIsCreatedAgain() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("fleet.sqlite")
    let store = SQLiteStore(path: path)
    try store.open()
    #expect(try store.store(rows([(location, locationJSON(48, at: 0, epoch: "e", seq: 1))])) == 1)
    for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
    let second = rows([(location, locationJSON(48, at: 1, epoch: "e", seq: 2))])
    #expect { try store.store(second) } throws: { "\($0)".contains("deleted or replaced") }
    #expect(try store.store(second) == 1)
    store.close()
    #expect(try SQLiteReader(path).rows("SELECT seq FROM messages") == [["2"]])
  }

  /// Creates a recording of released versions with GRDB: its table of migrations, and no `user_version`.
  private func oldRecording(_ path: String, migrations: [String]) throws -> SQLiteReader {
    let reader = try SQLiteReader(path)
    try reader.run("PRAGMA journal_mode = WAL")
    try reader.run("PRAGMA application_id = \(SQLiteSchema.applicationID)")
    try reader.run("CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY)")
    let database = try Database(path: path, access: .readWrite)
    for (migration, step) in zip(migrations, SQLiteSchema.steps) {
      try database.execute(step)
      try reader.run("INSERT INTO grdb_migrations VALUES ('\(migration)')")
    }
    try reader.run(
      """
      INSERT INTO messages (received, time, topic, fleet, vehicle, kind, qos, retain, epoch, seq, payload)
        VALUES (0, \(noon.milliseconds), '\(location)', 'demo', 'van', 'location', 1, 0, 'e', 1, '{}')
      """)
    return reader
  }

  @Test(arguments: [["1 messages"], ["1 messages", "2 identity with time"]])
  func aRecordingOfAnOldVersionIsContinued(migrations: [String]) throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("fleet.sqlite")
    let reader = try oldRecording(path, migrations: migrations)
    let store = SQLiteStore(path: path)
    try store.open()
    #expect(try store.store(rows([(location, locationJSON(48, at: 0, epoch: "e", seq: 1))])) == 0)
    #expect(try store.store(rows([(location, locationJSON(48, at: 1, epoch: "e", seq: 2))])) == 1)
    store.close()
    #expect(try reader.rows("SELECT seq FROM messages ORDER BY id") == [["1"], ["2"]])
    let indexes = try reader.rows("SELECT name FROM sqlite_master WHERE name LIKE 'messages_%' ORDER BY name")
    #expect(
      indexes == [["messages_content"], ["messages_identity"], ["messages_timeless"], ["messages_traces"]])
  }

  @Test func aRecordingOfAnOldVersionIsRead() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("fleet.sqlite")
    _ = try oldRecording(path, migrations: ["1 messages", "2 identity with time"])
    let recording = SQLiteRecording(path: path)
    try recording.open()
    #expect(try recording.extent(.init()).count == 1)
    // Its tracks had no altitude and speed.
    try recording.readPositions(.init()) { _ in true }
    let first = directory.file("first.sqlite")
    _ = try oldRecording(first, migrations: ["1 messages"])
    #expect { try SQLiteRecording(path: first).open() } throws: { "\($0)".contains("an older odograph") }
  }

  @Test func aRecordingOfANewerVersionIsUnchanged() throws {
    let directory = try TemporaryDirectory()
    let old = directory.file("old.sqlite")
    try oldRecording(old, migrations: ["1 messages", "2 identity with time"])
      .run("INSERT INTO grdb_migrations VALUES ('\(SQLiteSchema.steps.count + 1) more')")
    let new = directory.file("new.sqlite")
    let store = SQLiteStore(path: new)
    try store.open()
    store.close()
    try SQLiteReader(new).run("PRAGMA user_version = \(SQLiteSchema.steps.count + 1)")
    for path in [old, new] {
      #expect { try SQLiteStore(path: path).open() } throws: { "\($0)".contains("a newer odograph") }
      #expect { try SQLiteRecording(path: path).open() } throws: { "\($0)".contains("a newer odograph") }
    }
  }

  @Test func columnsMatchTheMessage() throws {
    let directory = try TemporaryDirectory()
    let store = SQLiteStore(path: directory.file("fleet.sqlite"))
    try store.open()
    _ = try store.store(rows([(location, locationJSON(48.25, at: 1, epoch: "e", seq: 1, speed: 2.5))]))
    let fix = TrackMessage.Fix(
      time: noon.advanced(bySeconds: 2),
      coordinate: PrivacyPolicy.unrestricted(Coordinate(latitude: 48.5, longitude: 11)),
      horizontalAccuracy: 2)
    let track = TrackMessage(identity: MessageIdentity(epoch: "e", seq: 2), fixes: [fix, fix])
    let message = ("odograph/v1/demo/van/track", String(decoding: track.payload, as: UTF8.self))
    #expect(try store.store(rows([message, message])) == 1)
    #expect(try store.store(rows([message])) == 0)
    store.close()
    let reader = try SQLiteReader(directory.file("fleet.sqlite"))
    #expect(
      try reader.rows("SELECT time, latitude, longitude, speed, source FROM positions ORDER BY time") == [
        ["1795262401000", "48.25", "11.5", "2.5", "location"],
        ["1795262402000", "48.5", "11.0", nil, "track"], ["1795262402000", "48.5", "11.0", nil, "track"],
      ])
    #expect(
      try reader.rows("SELECT place, accuracy, seq FROM fixes") == [["0", "2.0", "2"], ["1", "2.0", "2"]])
  }

  @Test func foreignFilesAreRefused() throws {
    let directory = try TemporaryDirectory()
    let text = try directory.write("text", "this is no database, and long enough to tell, one would think\n")
    #expect { try SQLiteStore(path: text).open() } throws: { "\($0)".contains("name another file") }
    let other = directory.file("other.sqlite")
    try SQLiteReader(other).run("CREATE TABLE t (a)")
    #expect { try SQLiteStore(path: other).open() } throws: { "\($0)".contains("another program") }
    #expect { try SQLiteStore(path: directory.file("no/such/folder")).open() } throws: {
      "\($0)".contains("no such folder:")
    }
  }

  /// A lock of another program is waited for, and reported if it lasts too long; batches are atomic.
  @Test func storesAgainAfterAFailure() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("fleet.sqlite")
    let store = SQLiteStore(path: path)
    try store.open()
    let reader = try SQLiteReader(path)
    try reader.run(
      "CREATE TRIGGER full BEFORE INSERT ON messages WHEN NEW.seq = 2 BEGIN SELECT RAISE(ABORT, 'full'); END")
    let both = rows([
      (location, locationJSON(48, at: 0, epoch: "e", seq: 1)),
      (location, locationJSON(48, at: 1, epoch: "e", seq: 2)),
    ])
    #expect { try store.store(both) } throws: { "\($0)".contains("full") }
    #expect(try reader.rows("SELECT count(*) FROM messages") == [["0"]])
    try reader.run("DROP TRIGGER full")
    #expect(try store.store(both) == 2)
    store.close()
  }
}
