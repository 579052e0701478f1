import Fleet
import FleetFixtures
import FleetStore
import Foundation
import TestSupport
import Testing

/// A replica cancels a query if its primary deletes rows that the query reads.
@Suite struct ReplicaConflictTests {
  @Test(.timeLimit(.minutes(5)), .needs(.postgreSQL)) func anInterruptedQueryHasARemedy()
    async throws
  {
    let primary = try PostgreSQLFixture()
    let store = PostgreSQLStore(address: primary.url)
    _ = try store.store(RecordedRows.of((1...9000).map { RecordedRows.location($0, at: Double($0)) }))
    let replica = try PostgreSQLFixture(
      replicaOf: primary, ["max_standby_streaming_delay=0", "max_standby_archive_delay=0"])
    let recording = PostgreSQLRecording(address: replica.url)
    try recording.open()
    var count = 0
    let error = #expect(throws: FleetError.self) {
      try recording.readPositions(.init()) { _ in
        count += 1
        guard count == 1 else { return true }
        // An answer that has started is not restarted.
        _ = try? primary.query("DROP TABLE odograph.messages_20261121")
        for _ in 0..<600 where (try? replica.hasAll(of: primary)) != true { usleep(100_000) }
        return true
      }
    }
    #expect(
      count < 9000 && "\(error as Any)".contains("a longer max_standby_streaming_delay there"),
      "\(error as Any)")
    // The next query succeeds.
    #expect(try recording.countPositions(.init()) == 0)
  }
}
