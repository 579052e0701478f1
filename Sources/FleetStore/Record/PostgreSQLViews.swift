/// The views and functions for other programs that query the database. `near` has the same signature with and
/// without PostGIS.
enum PostgreSQLViews {
  /// The SQL of all views and functions that do not need PostGIS.
  static let creation = """
    \(positions)
    CREATE FUNCTION odograph.distance(double precision, double precision, double precision, double precision)
      RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
      SELECT 12742017.6 * asin(sqrt(least(1, sind(($3 - $1) / 2) ^ 2 + cosd($1) * cosd($3) * sind(($4 - $2) / 2) ^ 2)))
      $$;
    COMMENT ON FUNCTION odograph.distance IS 'metres on the sphere between two latitudes and longitudes, in degrees';
    CREATE FUNCTION odograph.jsonb(payload text) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE STRICT AS $$
      BEGIN RETURN payload::jsonb; EXCEPTION WHEN OTHERS THEN RETURN NULL; END $$;
    COMMENT ON FUNCTION odograph.jsonb IS 'the payload as jsonb; NULL if it is not valid JSON';
    CREATE VIEW odograph.documents AS
      SELECT received, time, topic, fleet, vehicle, kind, event, retain, odograph.jsonb(payload) AS body
        FROM odograph.messages;
    \(nearWithoutPostGIS)
    \(predicted)
    """

  /// True if the function `predicted` is missing or of an older version, which predicted beyond the poles, and did not
  /// add the accuracy to the radius.
  static let lacksPredicted = """
    SELECT coalesce((SELECT prosrc NOT LIKE '%89.9%' OR prosrc NOT LIKE '%late + l.accuracy%' FROM pg_proc
      WHERE oid = to_regprocedure('odograph.predicted(timestamptz)')), true)
    """

  /// The SQL of `predicted`, which computes the vehicles' predicted positions from their newest reports, with
  /// the model of `ReportPredictor`.
  ///
  /// 0.00669438 is the square of WGS 84's eccentricity. 110,574.2758 and 111,319.4908 are metres per degree
  /// to the north and to the east at the equator.
  ///
  /// A vehicle is offline if its newest status is `offline`, or if the broker has published the will of that
  /// status's session. The time of a will is the start of its session. The newest status is never more than a
  /// day older than the report: a vehicle publishes one at least that often (`status.interval`).
  static let predicted = """
    CREATE OR REPLACE FUNCTION odograph.instant(text) RETURNS timestamptz LANGUAGE plpgsql STABLE STRICT AS $$
      BEGIN RETURN $1::timestamptz; EXCEPTION WHEN OTHERS THEN RETURN NULL; END $$;
    COMMENT ON FUNCTION odograph.instant IS 'the time in a text; NULL if it is not a valid time';
    CREATE OR REPLACE FUNCTION odograph.predicted(at timestamptz DEFAULT now())
      RETURNS TABLE (fleet text, vehicle text, "time" timestamptz, latitude double precision,
        longitude double precision, radius double precision, accuracy double precision, speed double precision,
        course double precision, source text, reported timestamptz)
      LANGUAGE sql STABLE AS $$
      SELECT l.fleet, l.vehicle, coalesce(m.moment, l.time),
          coalesce(l.latitude + m.north * power(m.curve, 1.5) / 110574.2758, l.latitude),
          coalesce(m.east - 360 * floor((m.east + 180) / 360), l.longitude),
          m.bound + m.growth * m.late + l.accuracy, l.accuracy, l.speed, l.course, l.source, l.time
        FROM odograph.latest l LEFT JOIN LATERAL (
          SELECT r.moment, r.bound, r.growth, r.curve, r.north * r.elapsed AS north,
              l.longitude + r.east * r.elapsed * sqrt(r.curve) / (111319.4908 * cosd(l.latitude)) AS east,
              greatest(0, r.elapsed - r.validity) AS late
            FROM (
              SELECT p.moment, extract(epoch FROM p.moment - l.time)::double precision AS elapsed,
                  1 - 0.00669438 * sind(l.latitude) ^ 2 AS curve,
                  (p.predict->>'velocityEast')::double precision AS east,
                  (p.predict->>'velocityNorth')::double precision AS north,
                  (p.predict->>'bound')::double precision AS bound,
                  coalesce((p.predict->>'validity')::double precision, 'infinity') AS validity,
                  coalesce((p.predict->>'growth')::double precision, 0) AS growth
                FROM (
                  SELECT f.predict, greatest(
                      l.time, $1 - make_interval(secs => coalesce((f.predict->>'delay')::double precision, 0))) AS moment
                    FROM (
                      SELECT odograph.jsonb(s.payload)->'predict' AS predict FROM odograph.messages s
                        WHERE s.vehicle = l.vehicle AND s.fleet = l.fleet AND s.time = l.time AND s.kind = 'location'
                          AND l.source = 'location'
                        ORDER BY s.received DESC, s.seq DESC LIMIT 1) AS f
                    WHERE f.predict IS NOT NULL) AS p) AS r
            WHERE r.elapsed - r.validity <= 120
              AND abs(l.latitude + r.north * r.elapsed * power(r.curve, 1.5) / 110574.2758) <= 89.9 AND l.time <= $1 + interval '\(RecordingColumns.futureLimit) s'
              AND NOT coalesce((
                SELECT s.event = 'offline' OR EXISTS (
                    SELECT FROM odograph.messages w
                      WHERE w.vehicle = l.vehicle AND w.fleet = l.fleet AND w.kind = 'status' AND w.event = 'offline'
                        AND w.time = odograph.instant(odograph.jsonb(s.payload)->>'sessionStart'))
                  FROM odograph.messages s
                  WHERE s.vehicle = l.vehicle AND s.fleet = l.fleet AND s.kind = 'status'
                    AND s.time > l.time - interval '1 day' AND s.time <= s.received + interval '5 minutes'
                  ORDER BY s.time DESC, s.seq DESC LIMIT 1), false)) AS m ON true
      $$;
    COMMENT ON FUNCTION odograph.predicted IS
      'the rows of latest, with positions predicted for a time; radius in metres: bound plus accuracy; NULL for an unknown accuracy and for a position that is not predicted, as that of an offline vehicle';
    """

  static let positions = """
    CREATE OR REPLACE VIEW odograph.positions AS
      SELECT fleet, vehicle, time, latitude, longitude, accuracy, speed, course,
          \(RecordingColumns.locationSource) AS source, altitude
        FROM odograph.messages WHERE kind = 'location' AND latitude IS NOT NULL
      UNION ALL
      SELECT fleet, vehicle, time, latitude, longitude, accuracy, speed, NULL, 'track', altitude FROM odograph.fixes;
    COMMENT ON COLUMN odograph.messages.event IS 'the event or the state in the message; for a location: coarse if it is from radio beacons, suspect if another measurement contradicts it';
    COMMENT ON VIEW odograph.positions IS
      'source: location for a live position, track for a position sent later, coarse for a live position from radio beacons, suspect for a live position that another measurement contradicts';
    """

  /// The SQL of `near` without PostGIS: it reads the positions in a band of latitude on the requested days.
  static let nearWithoutPostGIS = near(
    from: "odograph.positions", where: "p.latitude BETWEEN $1 - \(degrees) AND $1 + \(degrees)")

  /// True if the existing function `near` uses PostGIS.
  static let usesPostGIS =
    "SELECT prosrc LIKE '%odograph.points%' FROM pg_proc WHERE oid = 'odograph.near'::regproc"

  /// Returns the SQL for an index of all positions as points, and for a view and a version of `near` that use
  /// it.
  ///
  /// Only the index contains the points: a column would add 32 bytes to every row. `near` searches the index
  /// by a bounding box, which can cross the antimeridian, and then checks the distance.
  /// - Parameter schema: the quoted schema in which PostGIS is installed.
  static func postGIS(in schema: String) -> String {
    let point = "\(schema).ST_SetSRID(\(schema).ST_MakePoint(longitude, latitude), 4326)"
    let boxes = [0, 360, -360].map { turn in
      "p.geometry OPERATOR(\(schema).&&) odograph.box($1, $2 + \(turn), $3)"
    }
    return """
      CREATE INDEX IF NOT EXISTS messages_geometry ON odograph.messages USING gist ((\(point)))
        WHERE kind = 'location' AND latitude IS NOT NULL;
      CREATE INDEX IF NOT EXISTS fixes_geometry ON odograph.fixes USING gist ((\(point)));
      CREATE OR REPLACE VIEW odograph.points AS
        SELECT fleet, vehicle, time, \(point)::\(schema).geography AS point, accuracy,
            \(RecordingColumns.locationSource) AS source, \(point) AS geometry, latitude, longitude, altitude,
            speed, course
          FROM odograph.messages WHERE kind = 'location' AND latitude IS NOT NULL
        UNION ALL
        SELECT fleet, vehicle, time, \(point)::\(schema).geography, accuracy, 'track',
            \(point), latitude, longitude, altitude, speed, NULL
          FROM odograph.fixes;
      CREATE OR REPLACE FUNCTION odograph.box(double precision, double precision, double precision)
        RETURNS \(schema).geometry LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT \(schema).ST_MakeEnvelope($2 - w, $1 - h, $2 + w, $1 + h, 4326) FROM (SELECT $3 / 111195 AS h,
          least(180, $3 / 111195 / greatest(cosd(least(90, abs($1) + $3 / 111195)), 1e-6)) AS w) AS size
        $$;
      \(near(from: "odograph.points", where: boxes.joined(separator: " OR ")))
      """
  }

  /// The SQL that converts `near`'s third parameter from metres to degrees of latitude.
  private static let degrees = "$3 / 111195"

  /// Returns the SQL of `near`.
  ///
  /// - Parameters:
  ///   - view: the view with the positions.
  ///   - box: the condition that preselects positions before their distance is computed.
  private static func near(from view: String, where box: String) -> String {
    """
    CREATE OR REPLACE FUNCTION odograph.near(
        at_latitude double precision, at_longitude double precision, metres double precision,
        since timestamptz, until timestamptz)
      RETURNS TABLE (fleet text, vehicle text, "time" timestamptz, latitude double precision,
        longitude double precision, altitude double precision, accuracy double precision, speed double precision,
        course double precision, source text, distance double precision)
      LANGUAGE sql STABLE AS $$
      SELECT p.fleet, p.vehicle, p.time, p.latitude, p.longitude, p.altitude, p.accuracy, p.speed, p.course, p.source,
          odograph.distance($1, $2, p.latitude, p.longitude)
        FROM \(view) p
        WHERE p.time >= $4 AND p.time < $5 AND (\(box))
          AND odograph.distance($1, $2, p.latitude, p.longitude) <= $3
      $$;
    COMMENT ON FUNCTION odograph.near IS
      'positions within a distance in metres of a point, from since (included) to until (excluded), with their distance';
    """
  }
}
