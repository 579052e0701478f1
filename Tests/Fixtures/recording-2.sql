-- A recording of `odograph record` in PostgreSQL before version 3 (up to 2026-11-22), without daily partitions.
CREATE SCHEMA odograph;
CREATE TABLE odograph.schema_version (version integer NOT NULL, hypertables boolean NOT NULL);
INSERT INTO odograph.schema_version VALUES (2, false);
CREATE TABLE odograph.messages (
  day date NOT NULL, received timestamptz NOT NULL, time timestamptz, topic text NOT NULL,
  fleet text, vehicle text, kind text, qos smallint NOT NULL, retain boolean NOT NULL, epoch text, seq bigint,
  hash bigint, event text, latitude double precision, longitude double precision,
  altitude double precision, accuracy double precision, speed double precision, course double precision,
  payload text, payload_binary bytea
) PARTITION BY RANGE (day);
CREATE UNIQUE INDEX messages_identity ON odograph.messages (vehicle, fleet, time, epoch, seq, day);
CREATE UNIQUE INDEX messages_timeless ON odograph.messages (vehicle, fleet, epoch, seq, day)
  WHERE time IS NULL AND epoch IS NOT NULL;
CREATE UNIQUE INDEX messages_content ON odograph.messages (topic, hash, day) WHERE hash IS NOT NULL;
CREATE TABLE odograph.fixes (
  day date NOT NULL, fleet text NOT NULL, vehicle text NOT NULL, time timestamptz NOT NULL,
  latitude double precision NOT NULL, longitude double precision NOT NULL, accuracy double precision,
  epoch text, seq bigint, place integer NOT NULL
) PARTITION BY RANGE (day);
CREATE INDEX fixes_time ON odograph.fixes (vehicle, fleet, time);
CREATE VIEW odograph.positions AS
  SELECT fleet, vehicle, time, latitude, longitude, accuracy, speed, course, 'location' AS source
    FROM odograph.messages WHERE kind = 'location' AND latitude IS NOT NULL
  UNION ALL
  SELECT fleet, vehicle, time, latitude, longitude, accuracy, NULL, NULL, 'track' FROM odograph.fixes;
CREATE TABLE odograph.messages_default PARTITION OF odograph.messages DEFAULT;
CREATE TABLE odograph.fixes_default PARTITION OF odograph.fixes DEFAULT;
