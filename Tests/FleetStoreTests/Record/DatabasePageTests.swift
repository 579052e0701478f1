import FleetFixtures
import FleetStore
import Foundation
import Telemetry
import TestSupport
import Testing

/// Runs the queries of Config/database/README.md unchanged.
@Suite struct DatabasePageTests {
  /// The page's blocks of SQL for a database.
  private func blocks(_ database: String) throws -> [String] {
    let page = URL(filePath: #filePath).deletingLastPathComponent().appending(
      path: "../../../Config/database/README.md")
    let parts = try String(contentsOf: page, encoding: .utf8).components(separatedBy: "```sql \(database)\n")
    return parts.dropFirst().compactMap { $0.components(separatedBy: "\n```").first }
  }

  private func rows() -> [RecordedMessage] {
    let near = RecordedRows.location("van-1", 1, at: 0, latitude: 48.1371, longitude: 11.5751)
    let far = RecordedRows.location("van-2", 1, at: 0, latitude: 48.15, longitude: 11.5751)
    let status = (
      "van-1/status", #"{"state":"online","time":"\#(wireTime(1))","version":"1.2","epoch":"e","seq":2}"#
    )
    let yesterday = RecordedRows.location("van-1", 3, at: -86_400, latitude: 48.137, longitude: 11.575)
    let trip = JournalMessages.trip(3, vehicle: "van-1")
    let event = JournalMessages.event(8, .kerb, vehicle: "van-1", trip: 3)
    return RecordedRows.of([near, far, status, yesterday, trip, event])
  }

  @Test(.needs(.postgreSQL)) func postgreSQL() throws {
    let server = try PostgreSQLFixture()
    let store = PostgreSQLStore(address: server.url)
    try store.open()
    _ = try store.store(rows())
    let blocks = try blocks("postgresql")
    try #require(blocks.count == 8)
    let answers = try blocks.map { try server.query($0) }
    #expect(answers[0].map { $0[0] } == ["van-1", "van-2"])
    #expect(answers[1].map { $0[1] } == ["48.1371"])
    #expect(answers[2].map { $0[0] } == ["van-1"] && (Double(answers[2][0][1]) ?? 0) > 13)
    #expect(answers[3].map { Array($0.dropFirst()) } == [["online", "1.2"]])
    #expect(answers[6] == [["van-1", "1", "0.5", "0.15"]])
    #expect(answers[7].map { [$0[0], $0[2], $0[3], $0[4]] } == [["3", "kerb", "medium", "4.25"]])
    // The custom index of the page is used.
    let plan = try server.query(
      "SET enable_seqscan = off; EXPLAIN SELECT 1 FROM odograph.documents WHERE kind = 'status' AND body->>'state' = 'online'"
    )
    #expect("\(plan)".contains("Index Cond"), "\(plan)")
    // The role reads existing and later rows, and cannot write.
    _ = try store.store(RecordedRows.of([RecordedRows.location("van-1", 9, at: 86_400)]))
    for block in blocks.prefix(4) + blocks.suffix(2) { _ = try server.query("SET ROLE dashboard; " + block) }
    #expect(try server.query("SET ROLE dashboard; SELECT count(*) FROM odograph.positions") == [["4"]])
    for sql in [
      "DELETE FROM odograph.latest", "DROP TABLE odograph.messages_20261121",
      "UPDATE odograph.messages SET qos = 0",
    ] {
      #expect(throws: (any Error).self) { try server.query("SET ROLE dashboard; " + sql) }
    }
  }

  @Test func sqlite() throws {
    let directory = try TemporaryDirectory()
    let store = SQLiteStore(path: directory.file("fleet.sqlite"))
    try store.open()
    _ = try store.store(rows())
    let blocks = try blocks("sqlite")
    try #require(blocks.count == 5)
    let reader = try SQLiteReader(directory.file("fleet.sqlite"))
    let answers = try blocks.map { try reader.rows($0) }
    #expect(answers[0].map { $0[0] } == ["van-1", "van-2"] && answers[0][0][1] == "1795262400000")
    #expect(answers[1].map { $0[1] } == ["48.1371"])
    #expect(answers[2].map { $0[0] } == ["van-1"])
    #expect(answers[3].map { $0[1] } == ["online"])
    #expect(answers[4] == [["van-1", "1", "0.5", "0.15"]])
    store.close()
  }
}
