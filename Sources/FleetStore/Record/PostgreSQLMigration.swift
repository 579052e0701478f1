/// The migration of recordings of older versions.
///
/// - Versions 1 and 2: their tables were hypertables, or were partitioned by a column `day`, which queries by
///   time could not use. The tables are renamed, their rows are copied to new tables, and the old tables are
///   dropped. This is one transaction, so that an interruption or a full disk changes nothing. It needs as
///   much additional disk space as the tables.
/// - Version 3: only views change, which now distinguish positions of radio beacons from fixes.
/// - Up to version 4: the tables of trips and driving events are added, and filled from existing messages.
/// - Up to version 5: an index is added (`PostgreSQLTraceIndex`).
/// - Up to version 6: suspect positions are marked, and the views distinguish them from fixes.
enum PostgreSQLMigration {
  /// The number of rows from which a day outside of the range of partitioned days gets its own partition.
  private static let manyRows = 1000

  /// The last version whose tables must be replaced.
  static let otherTables = 2

  /// Sets the version after everything except the index of traces is migrated, for recordings from version 3
  /// on. Without the index, the version remains lower, so that the next start creates it.
  static let isRenewed = """
    UPDATE odograph.schema_version SET version =
      CASE WHEN version < \(TraceIndex.version) THEN \(JournalTable.version) ELSE \(PostgreSQLSchema.version) END
    """

  /// Sets the version after the index of traces is created.
  static let isIndexed = """
    UPDATE odograph.schema_version SET version = \(PostgreSQLSchema.version)
      WHERE version < \(PostgreSQLSchema.version)
    """

  /// Moves the old tables out of the way before new ones are created. If views of other owners depend on the
  /// old tables, the migration fails with the names of these views.
  static let putAside = """
    CREATE SCHEMA odograph_before;
    CREATE TEMPORARY TABLE former_grants ON COMMIT DROP AS
      SELECT relname::text, privilege_type,
          CASE WHEN grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END AS grantee
        FROM pg_class, aclexplode(relacl)
        WHERE relnamespace = 'odograph'::regnamespace AND grantee <> relowner
          AND relname IN ('messages', 'fixes', 'positions', 'points', 'schema_version');
    DROP VIEW IF EXISTS odograph.points;
    DROP VIEW odograph.positions;
    DO $$ DECLARE part regclass; BEGIN
      FOR part IN SELECT inhrelid FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
        WHERE inhparent IN ('odograph.messages'::regclass, 'odograph.fixes'::regclass)
          AND relnamespace = 'odograph'::regnamespace
      LOOP EXECUTE format('ALTER TABLE %s SET SCHEMA odograph_before', part); END LOOP;
    END $$;
    ALTER TABLE odograph.messages SET SCHEMA odograph_before;
    ALTER TABLE odograph.fixes SET SCHEMA odograph_before;
    ALTER TABLE odograph.schema_version SET SCHEMA odograph_before;
    """

  /// The SQL for the newest time by the recorder's clock in the old tables.
  private static let newest = "(SELECT max(received) FROM odograph_before.messages)"

  /// Returns the days that need a partition, such as `2026-11-21`.
  static func days(before: Int, after: Int) -> String {
    """
    SELECT to_char(time AT TIME ZONE 'UTC', 'YYYY-MM-DD')
      FROM (SELECT time FROM odograph_before.messages UNION ALL SELECT time FROM odograph_before.fixes) AS times
      WHERE time IS NOT NULL GROUP BY 1
      HAVING max(time) < \(newest) + interval '\(after) days'
        AND (min(time) > \(newest) - interval '\(before) days' OR count(*) >= \(manyRows))
    """
  }

  private static let formerFixes = "fleet, vehicle, time, latitude, longitude, accuracy, epoch, seq, place"

  /// Returns the SQL that copies the rows, and restores the tables' permissions. Old fixes have no time of
  /// arrival; their own time replaces it.
  /// - Parameter ahead: the maximum number of days by which a vehicle's clock may be ahead, for `latest`.
  static func move(ahead: Int) -> String {
    """
    INSERT INTO odograph.messages (\(PostgreSQLSchema.messageColumns))
      SELECT \(PostgreSQLSchema.messageColumns) FROM odograph_before.messages;
    INSERT INTO odograph.fixes (received, \(formerFixes)) SELECT time, \(formerFixes) FROM odograph_before.fixes;
    INSERT INTO odograph.latest (\(RecordingColumns.latest))
      SELECT DISTINCT ON (fleet, vehicle) \(RecordingColumns.latest)
        FROM (
          SELECT fleet, vehicle, time, received, latitude, longitude, altitude, accuracy, speed, course,
              'location' AS source
            FROM odograph.messages
            WHERE kind = 'location' AND latitude IS NOT NULL AND vehicle IS NOT NULL AND fleet IS NOT NULL
              AND time <= received + interval '\(ahead) days'
          UNION ALL
          SELECT fleet, vehicle, time, received, latitude, longitude, NULL, accuracy, NULL, NULL, 'track'
            FROM odograph.fixes WHERE time <= \(newest) + interval '\(ahead) days') AS known
        ORDER BY fleet, vehicle, time DESC;
    DROP TABLE odograph_before.messages;
    DROP TABLE odograph_before.fixes;
    DROP TABLE odograph_before.schema_version;
    DROP SCHEMA odograph_before;
    DO $$ DECLARE grant_of record; BEGIN
      FOR grant_of IN SELECT * FROM former_grants WHERE relname <> 'points'
      LOOP EXECUTE format('GRANT %s ON odograph.%I TO %s', grant_of.privilege_type, grant_of.relname,
        grant_of.grantee); END LOOP;
    END $$;
    ANALYZE odograph.messages;
    ANALYZE odograph.fixes;
    """
  }
}
