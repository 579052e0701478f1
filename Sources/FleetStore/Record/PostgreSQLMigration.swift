/// How a recording of an older version becomes one of today's.
///
/// From version 3 only views change, which tell since what radios said from fixes; from version 4 tables are added, which
/// are filled from the messages that are there; from version 5 an index is (`PostgreSQLTraceIndex`). Versions 1 and 2 were
/// partitioned by a column `day`, which no query by time could use, or were hypertables. The old tables are put aside, their
/// rows copied into new ones, and they go when that is done: one transaction, so that an interruption or a full disk leaves
/// everything as it was. It wants as much room again as the tables have.
enum PostgreSQLMigration {
  /// A day of this many rows gets a partition of its own however long ago it was.
  private static let manyRows = 1000

  /// The last version with other tables.
  static let otherTables = 2

  /// From version 3, once all but the index of traces is done.
  static let isRenewed = "UPDATE odograph.schema_version SET version = \(JournalTable.version)"

  /// Once that is there, too.
  static let isIndexed =
    "UPDATE odograph.schema_version SET version = \(TraceIndex.version) WHERE version < \(TraceIndex.version)"

  /// Before the new tables are made. Views of others that stand on the old tables stop it, with their names.
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

  /// By the recorder's clock.
  private static let newest = "(SELECT max(received) FROM odograph_before.messages)"

  /// The days that want a partition, as `2026-11-21`.
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

  /// Moves the rows, of fixes without when they came, which was not kept, and says to whom the tables were granted.
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
