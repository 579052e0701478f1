internal import Bytes

extension PostgreSQLError {
  /// True if the role has no permission.
  var isPermissionDenied: Bool { state == "42501" }

  /// The remedy for a failed connection; nil if the server's message is sufficient.
  ///
  /// libpq reports the reason of a failed connection as text, without a code. Only English texts are
  /// recognized.
  var connectionRemedy: String? {
    guard state.isEmpty else { return nil }
    if message.contains(text: "no password supplied") {
      return "put the password into ~/.pgpass (mode 0600), or into PGPASSWORD"
    }
    if message.contains(text: "password authentication failed") {
      return "check the user in the address, and the password in PGPASSWORD or ~/.pgpass"
    }
    if message.contains(text: "database \""), message.contains(text: "does not exist") {
      return "create the database with createdb, or check its name at the end of the address"
    }
    return nil
  }

  /// The remedy for a failed command that only reads; nil if there is none.
  var readingRemedy: String? {
    guard isPermissionDenied else { return connectionRemedy }
    return
      "let this role read it: GRANT USAGE ON SCHEMA odograph, and GRANT SELECT ON odograph.schema_version and the "
      + "tables, as in Config/database/README.md"
  }

  /// The remedy for a failed command that records; nil if there is none.
  var recordingRemedy: String? {
    if isDiskFull { return "free space on the server's disk, or retain fewer days with --keep" }
    guard isPermissionDenied else { return connectionRemedy }
    return
      "record as the role that owns the schema odograph; one that makes it needs GRANT CREATE ON DATABASE"
  }
}
