import FleetFixtures
import FleetStore
import Foundation
import Spatial
import TestSupport
import Testing

/// Traces of a day are found without reading other messages of the vehicle.
@Suite struct TraceIndexTests {
  private func sql(_ kinds: [String], _ dialect: RecordingDialect) throws -> String {
    var selection = RecordingSelection()
    (selection.fleets, selection.vehicles, selection.kinds) = (["demo"], ["van"], kinds)
    try selection.setTimes(from: "2026-11-21", to: "2026-11-22")
    return selection.condition(time: "coalesce(time, received)") { number, value in
      switch value {
      case .text(let text): dialect.schema.isEmpty ? "?\(number)" : "'\(text)'"
      case .time(let time): dialect.schema.isEmpty ? "?\(number)" : "'\(time.rfc3339)'::timestamptz"
      case .number(let number): "\(number)"
      }
    }.sql
  }

  @Test(arguments: TraceIndex.kinds) func sqliteReadsARangeOfTheIndex(kind: String) throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("fleet.sqlite")
    let store = SQLiteStore(path: path)
    try store.open()
    let query = SQLiteRecording(path: "").messagesSQL(
      where: try sql([kind], SQLiteRecording.dialect), kinds: [kind])
    let plan = try SQLiteReader(path).rows("EXPLAIN QUERY PLAN \(query)").map { $0[3] ?? "" }
    #expect(
      plan.contains {
        $0.contains(
          "USING INDEX messages_traces (kind=? AND vehicle=? AND fleet=? AND <expr>>? AND <expr><?)")
      },
      "\(plan)")
    // Other kinds are found as before.
    let location = SQLiteRecording(path: "").messagesSQL(
      where: try sql(["location"], SQLiteRecording.dialect), kinds: ["location"])
    let other = try SQLiteReader(path).rows("EXPLAIN QUERY PLAN \(location)").map { $0[3] ?? "" }
    #expect(other.contains { $0.contains("messages_identity (vehicle=? AND fleet=?)") }, "\(other)")
  }

  @Test(.needs(.postgreSQL)) func postgreSQLReadsARangeOfTheIndex() throws {
    let server = try PostgreSQLFixture()
    let store = PostgreSQLStore(address: server.url)
    try store.open()
    // Enough rows that the index is worthwhile.
    for day in 0..<2 {
      _ = try store.store(
        RecordedRows.of(
          (0..<5000).map {
            RecordedRows.location(day * 5000 + $0, at: Double($0) - Double(day) * RecordedRows.day)
          }))
    }
    _ = try server.query("ANALYZE odograph.messages")
    let query = PostgreSQLRecording(address: "").messagesSQL(
      where: try sql(["trace"], PostgreSQLRecording.dialect), kinds: ["trace"])
    let plan = try server.query("EXPLAIN \(query)").map { $0[0] }.joined(separator: "\n")
    // The partition of rows without a day is empty here.
    let scans = plan.split(separator: "\n").filter { $0.contains("Seq Scan") }
    #expect(scans.allSatisfy { $0.contains("messages_default") }, "\(plan)")
    #expect(
      plan.components(separatedBy: "Index Cond: ((kind = 'trace'::text) AND (vehicle = 'van'::text)").count
        == 3)
  }
}
