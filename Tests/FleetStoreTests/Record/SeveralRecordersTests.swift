import FleetFixtures
import FleetStore
import Foundation
import Platform
import Telemetry
import TestSupport
import Testing

/// Several recorders into one PostgreSQL: the tables do not depend on the recorder of a message, and recorders continue during a
/// migration.
@Suite struct SeveralRecordersTests {
  private typealias Rows = RecordedRows

  private static let tables = [
    "SELECT topic, time, epoch, seq, hash, latitude, payload FROM odograph.messages ORDER BY 1, 2, 3, 4, 5",
    "SELECT vehicle, time, latitude, seq, place FROM odograph.fixes ORDER BY 1, 2, 3, 4, 5",
    "SELECT vehicle, time, source FROM odograph.latest ORDER BY 1",
    "SELECT vehicle, series, number, revision, phase, distance, payload FROM odograph.trips ORDER BY 1, 2, 3",
    "SELECT vehicle, series, number, ongoing, duration, payload FROM odograph.driving_events ORDER BY 1, 2, 3",
  ]

  private func content(_ server: PostgreSQLFixture) throws -> [[[String]]] {
    try Self.tables.map { try server.query($0) }
  }

  /// Stores messages like a recorder, which retries after a failure.
  private static func storeWithRetries(_ messages: [RecordedMessage], in store: PostgreSQLStore) throws -> (
    added: Int, failures: Int
  ) {
    var failures = 0
    while true {
      do { return (try store.store(messages), failures) } catch {
        failures += 1
        if failures > 20 { throw error }
        usleep(20_000)
      }
    }
  }

  /// A recorder that was stopped during a COPY has locked rows that another one needs. Its session is terminated; nothing is lost or
  /// duplicated.
  @Test(.needs(.postgreSQL), .timeLimit(.minutes(2))) func aStoppedRecorderIsTerminated() throws {
    let server = try PostgreSQLFixture()
    let said = Locked<[String]>([])
    let store = PostgreSQLStore(address: server.url, stall: 1) { sentence in
      said.withLock { $0.append(sentence) }
    }
    try store.open()
    let messages = Rows.of([Rows.location(1, at: 0), Rows.location(2, at: 10)])
    #expect(try store.store(messages) == 2)
    let begun = "BEGIN; DELETE FROM odograph.messages; COPY odograph.messages (received, topic) FROM STDIN;"
    let other = try ChildProcess(
      "sh", ["-c", "{ echo '\(begun)'; sleep 60; } | psql -X -q \(server.url)"],
      environment: ["PGAPPNAME": "odograph"])
    #expect(
      waitUntil {
        (try? server.query(
          "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'COPY%' AND wait_event = 'ClientRead'"))
          == [["1"]]
      })
    #expect(try store.store(messages + Rows.of([Rows.location(3, at: 20)])) == 1)
    #expect(
      said.withLock {
        $0.contains {
          $0.hasSuffix("terminated the connection of a recorder that was blocked during a batch")
        }
      })
    #expect(try server.query("SELECT seq FROM odograph.messages ORDER BY 1") == [["1"], ["2"], ["3"]])
    other.kill()
  }

  /// Messages of 30 vehicles over three days in random order: locations, tracks, trips and ongoing events.
  private func messages(_ random: inout SplitMix) -> [RecordedMessage] {
    var all: [(String, String)] = []
    for vehicle in 0..<30 {
      let name = "van-\(vehicle)"
      for number in 1...40 {
        let second = Double(number * 60) - Double(number % 3) * Rows.day
        all.append(Rows.location(name, number, at: second, latitude: 40 + Double(number) / 10))
      }
      all.append(Rows.track(name, 41, at: 30, latitudes: [48, 49, 50]))
    }
    for revision in 1...6 {
      let told = JournalMessages.trip(7, revision: revision, seq: UInt64(100 + revision), driver: "anna")
      all.append(told)
    }
    all.append(JournalMessages.event(2, .overSpeed, trip: 7, severity: .high, seq: 200, region: "depot"))
    return Rows.of(all.shuffled(using: &random))
  }

  @Test(.timeLimit(.minutes(10)), .needs(.postgreSQL)) func theTablesDoNotDependOnTheRecorders() async throws
  {
    var random = SplitMix.announced()
    let all = messages(&random)
    let single = try PostgreSQLFixture()
    #expect(try Self.storeWithRetries(all, in: PostgreSQLStore(address: single.url)).added == all.count)
    let wanted = try content(single)
    for _ in 0..<3 {
      let server = try PostgreSQLFixture()
      // Each of four recorders gets a share, in batches of any size, and some messages go to two of them.
      var shares = [[RecordedMessage]](repeating: [], count: 4)
      for message in all.shuffled(using: &random) {
        shares[Int.random(in: 0..<4, using: &random)].append(message)
        if Int.random(in: 0..<10, using: &random) == 0 {
          shares[Int.random(in: 0..<4, using: &random)].append(message)
        }
      }
      let size = Int.random(in: 1...200, using: &random)
      let url = server.url
      let (added, failures) = try await withThrowingTaskGroup(of: (Int, Int).self) { group in
        for share in shares {
          group.addTask {
            let store = PostgreSQLStore(address: url)
            var (added, failures) = (0, 0)
            for begin in stride(from: 0, to: share.count, by: size) {
              let kept = try Self.storeWithRetries(
                Array(share[begin..<min(begin + size, share.count)]), in: store)
              (added, failures) = (added + kept.added, failures + kept.failures)
            }
            return (added, failures)
          }
        }
        return try await group.reduce((0, 0)) { ($0.0 + $1.0, $0.1 + $1.1) }
      }
      #expect(added == all.count && failures == 0, "batches of \(size)")
      #expect(try content(server) == wanted, "batches of \(size)")
      #expect(
        try server.query("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == [
          ["0"]
        ])
    }
  }

  /// A database of version 5 is migrated while four recorders continue.
  @Test(.timeLimit(.minutes(10)), .needs(.postgreSQL)) func theSchemaChangesWhileOthersRecord() async throws {
    let server = try PostgreSQLFixture()
    let url = server.url
    try PostgreSQLStore(address: url).open()
    // The recorders started before, and are not informed of the migration.
    let isOver = Locked(false)
    let stored = Locked(0)
    let (ready, problems) = (Locked(0), Locked<[String]>([]))
    let isBegun = Locked(false)
    // Recorders block, and therefore have threads of their own instead of tasks.
    let ended = Locked<[(added: Int, failures: Int, told: Int)]>([])
    for recorder in 0..<4 {
      Thread.detachNewThread {
        let store = PostgreSQLStore(address: url)
        var (added, failures, number) = (0, 0, 0)
        try? store.open()
        ready.withLock { $0 += 1 }
        while !isBegun.withLock({ $0 }) { usleep(1000) }
        while !isOver.withLock({ $0 }) {
          // Each day is new for every recorder once.
          let rows = (0..<50).map { vehicle in
            Rows.location(
              "van-\(recorder)-\(vehicle)", number + 1, at: -Double(number % 40) * Rows.day + Double(number))
          }
          let kept: (added: Int, failures: Int)
          do { kept = (try store.store(Rows.of(rows)), 0) } catch {
            problems.withLock { $0.append("\(error)") }
            failures += 1
            continue
          }
          (added, failures, number) = (added + kept.added, failures + kept.failures, number + 1)
          stored.withLock { $0 += kept.added }
        }
        ended.withLock { $0.append((added, failures, number * 50)) }
      }
    }
    while ready.withLock({ $0 }) < 4 { try await Task.sleep(for: .milliseconds(20)) }
    _ = try server.query(
      "DROP INDEX odograph.messages_traces; UPDATE odograph.schema_version SET version = 5")
    isBegun.withLock { $0 = true }
    while stored.withLock({ $0 }) < 1000 { try await Task.sleep(for: .milliseconds(20)) }
    // An index from a migration that was interrupted.
    _ = try server.query(
      "CREATE INDEX messages_default_traces ON odograph.messages_default (kind) WHERE kind = 'trace'")
    let before = stored.withLock { $0 }
    var said: [String] = []
    let migrating = PostgreSQLStore(address: url) { said.append($0) }
    try migrating.open()
    #expect(said.count == 1 && said[0].contains("starts when it is complete"), "\(said)")
    #expect(
      try server.query("SELECT version FROM odograph.schema_version") == [["\(SQLiteSchema.steps.count)"]])
    while stored.withLock({ $0 }) < before + 1000 { try await Task.sleep(for: .milliseconds(20)) }
    isOver.withLock { $0 = true }
    while ended.withLock({ $0.count }) < 4 { try await Task.sleep(for: .milliseconds(20)) }
    var (sum, attempts) = (0, 0)
    for (added, failures, told) in ended.withLock({ $0 }) {
      #expect(added == told)
      attempts += failures
      sum += added
    }
    #expect(try server.query("SELECT count(*) FROM odograph.messages") == [["\(sum)"]])
    // If a new partition and the index of the same table conflicted, one of the two was retried, and nothing else failed.
    let failed = problems.withLock { $0 }
    #expect(failed.count == attempts && failed.allSatisfy { $0.contains("deadlock detected") }, "\(failed)")
    let missing = try server.query(PostgreSQLTraceIndex.missing)
    #expect(missing.isEmpty, "\(missing)")
    #expect(
      try server.query(
        "SELECT indisvalid FROM pg_index WHERE indexrelid = 'odograph.messages_traces'::regclass")
        == [["t"]])
  }

  @Test(.timeLimit(.minutes(3)), .needs(.postgreSQL)) func aRecorderOfAnOlderProgramHasARemedy() throws {
    let server = try PostgreSQLFixture()
    try PostgreSQLStore(address: server.url).open()
    _ = try server.query("UPDATE odograph.schema_version SET version = \(SQLiteSchema.steps.count + 1)")
    #expect { try PostgreSQLStore(address: server.url).open() } throws: {
      "\($0)".contains("created by a newer odograph; use that version or a newer one")
    }
  }
}
