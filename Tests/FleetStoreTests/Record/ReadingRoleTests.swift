import Fleet
import TestSupport
import Testing

@testable import FleetStore

/// A read-only role as documented in Config/database/README.md, and errors with missing permissions.
@Suite struct ReadingRoleTests {
  private static let grants = """
    CREATE ROLE dashboard LOGIN;
    GRANT USAGE ON SCHEMA odograph TO dashboard;
    GRANT SELECT ON odograph.messages, odograph.fixes, odograph.latest, odograph.positions,
      odograph.documents, odograph.trips, odograph.driving_events TO dashboard;
    """

  @Test(.needs(.postgreSQL)) func aReadingRoleNeedsTheVersionToo() throws {
    let server = try PostgreSQLFixture()
    let store = PostgreSQLStore(address: server.url)
    try store.open()
    _ = try store.store(RecordedRows.of([RecordedRows.location(1, at: 10)]))
    _ = try server.query(Self.grants)
    let address = "postgres://dashboard@127.0.0.1:\(server.port)/postgres"
    let denied = try #require(throws: FleetError.self) { try PostgreSQLRecording(address: address).open() }
    #expect(denied.cause.contains("permission denied for table schema_version"), "\(denied)")
    #expect(denied.cause.contains("GRANT SELECT ON odograph.schema_version"), "\(denied)")
    _ = try server.query("GRANT SELECT ON odograph.schema_version TO dashboard")
    let recording = PostgreSQLRecording(address: address)
    try recording.open()
    #expect(try recording.countPositions(.init()) == 1)
    // The role cannot record.
    let more = RecordedRows.of([RecordedRows.location(2, at: 20)])
    let reader = PostgreSQLStore(address: address)
    let refused = try #require(throws: FleetError.self) { _ = try reader.store(more) }
    #expect(refused.cause.contains("record as the role that owns"), "\(refused)")
  }

  @Test(.needs(.postgreSQL)) func aMissingDatabaseHasARemedy() throws {
    let server = try PostgreSQLFixture()
    let recording = PostgreSQLRecording(address: "postgres://fleet@127.0.0.1:\(server.port)/nowhere")
    let error = try #require(throws: FleetError.self) { try recording.open() }
    #expect(error.cause.contains("createdb"), "\(error)")
  }

  /// Table: messages of libpq, and the remedy.
  @Test(arguments: [
    ("server at \"db\" (10.0.0.1), port 5432: fe_sendauth: no password supplied", "PGPASSWORD"),
    ("FATAL:  password authentication failed for user \"fleet\"", "~/.pgpass"),
    ("FATAL:  database \"fleet\" does not exist", "createdb"),
  ])
  func failedConnectionsHaveARemedy(message: String, remedy: String) {
    let error = PostgreSQLError(state: "", message: message)
    #expect(error.readingRemedy?.contains(remedy) == true)
    #expect(error.recordingRemedy?.contains(remedy) == true)
    // Errors of commands have no remedy of the connection.
    #expect(PostgreSQLError(state: "42P01", message: message).readingRemedy == nil)
  }
}
