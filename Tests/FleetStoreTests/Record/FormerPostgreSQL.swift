import Foundation

/// The schema that released versions of `odograph record` created in PostgreSQL before version 3.
enum FormerPostgreSQL {
  static func versionTwo() throws -> String {
    let tests = (0..<3).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
    return try String(contentsOf: tests.appending(path: "Fixtures/recording-2.sql"), encoding: .utf8)
      + partitions
  }

  private static let partitions = """
    CREATE TABLE odograph.messages_20261121 PARTITION OF odograph.messages
      FOR VALUES FROM ('2026-11-21') TO ('2026-11-22');
    CREATE TABLE odograph.fixes_20261121 PARTITION OF odograph.fixes FOR VALUES FROM ('2026-11-21') TO ('2026-11-22');
    """

  /// Locations of a van on 2026-11-21 with numbers 1 to 3 (of which 2 is the newest), one of 1970, one without a time, a third-party
  /// message and a track of two fixes.
  static let rows = """
    INSERT INTO odograph.messages (day, received, time, topic, fleet, vehicle, kind, qos, retain, epoch, seq, hash,
        latitude, longitude, speed, payload)
      SELECT time::date, '2026-11-21 12:00Z', time, 'odograph/v1/demo/van/location', 'demo', 'van', 'location', 1, false,
          'e', seq, NULL, 48 + seq, 11, 2.5, '{"seq":' || seq || '}'
        FROM (VALUES (1, '2026-11-21 08:00Z'::timestamptz), (2, '2026-11-21 10:00Z'), (3, '2026-11-21 09:00Z'),
          (4, '1970-01-01 00:00Z')) AS given (seq, time);
    INSERT INTO odograph.messages (day, received, topic, fleet, vehicle, kind, qos, retain, epoch, seq, payload)
      VALUES ('1970-01-01', '2026-11-21 12:00Z', 'odograph/v1/demo/van/motion', 'demo', 'van', 'motion', 1, false, 'e', 5,
        '{"epoch":"e","seq":5}');
    INSERT INTO odograph.messages (day, received, topic, qos, retain, hash, payload_binary)
      VALUES ('1970-01-01', '2026-11-21 12:00Z', 'a/b', 0, true, 77, '\\xff00');
    INSERT INTO odograph.fixes VALUES
      ('2026-11-21', 'demo', 'van', '2026-11-21 10:30Z', 50, 11, 2.5, 'e', 6, 0),
      ('2026-11-21', 'demo', 'van', '2026-11-21 10:31Z', 51, 11, 2.5, 'e', 6, 1);
    """
}
