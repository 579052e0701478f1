/// The migration of older recordings.
///
/// From version 3 only views change, which now distinguish positions of radio beacons from fixes. From
/// version 4 tables are added and filled from existing messages. From version 5 an index is added
/// (`PostgreSQLTraceIndex`). Versions 1 and 2 were partitioned by a column `day`, which queries by time could
/// not use, or were hypertables. Their tables are renamed, their rows are copied, and the old tables are
/// dropped, in one transaction, so that an interruption or a full disk changes nothing. It needs as much
/// additional space as the tables.
enum PostgreSQLMigration {
  /// The number of rows above which even a day long ago gets its own partition.
  private static let manyRows = 1000

  /// The last version with different tables.
  static let otherTables = 2

  /// From version 3, after everything except the index of traces.
  static let isRenewed = "UPDATE odograph.schema_version SET version = \(JournalTable.version)"

  /// After the index was created, too.
  static let isIndexed =
    "UPDATE odograph.schema_version SET version = \(TraceIndex.version) WHERE version < \(TraceIndex.version)"

  /// Before the new tables are created. Views of other owners on the old tables stop it, with their names.
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

  /// The newest time by the recorder's clock.
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

  /// Moves the rows; fixes had no time of arrival. Restores the tables' permissions.
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
