/// The schema of the alert store. Times are nanoseconds since 1970 in UTC. Migration steps that were released
/// never change.
package enum AlertSchema {
  package static let steps = [
    """
    CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE entries (
      rule TEXT NOT NULL, fleet TEXT NOT NULL, vehicle TEXT NOT NULL, subject TEXT NOT NULL,
      holds INTEGER NOT NULL, since INTEGER NOT NULL, alert INTEGER, value REAL, overdue INTEGER,
      latitude REAL, longitude REAL, before INTEGER NOT NULL,
      PRIMARY KEY (rule, fleet, vehicle, subject)
    ) WITHOUT ROWID;
    CREATE TABLE alerts (
      number INTEGER PRIMARY KEY, rule TEXT NOT NULL, fleet TEXT NOT NULL, vehicle TEXT NOT NULL,
      subject TEXT NOT NULL, severity TEXT NOT NULL, summary TEXT NOT NULL, began INTEGER NOT NULL,
      ended INTEGER, latitude REAL, longitude REAL, value REAL, held INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX alerts_open ON alerts (number) WHERE ended IS NULL OR held = 1;
    CREATE TABLE gathered (
      number INTEGER NOT NULL, transition TEXT NOT NULL, PRIMARY KEY (number, transition)
    );
    CREATE TABLE seen (
      fleet TEXT NOT NULL, vehicle TEXT NOT NULL, keys TEXT NOT NULL, PRIMARY KEY (fleet, vehicle)
    ) WITHOUT ROWID;
    CREATE TABLE silences (
      id INTEGER PRIMARY KEY, rule TEXT, fleet TEXT, vehicle TEXT, until INTEGER NOT NULL
    );
    CREATE TABLE messages (
      number INTEGER PRIMARY KEY, receiver TEXT NOT NULL, key TEXT NOT NULL, created INTEGER NOT NULL,
      subject TEXT NOT NULL, body BLOB NOT NULL, vehicles TEXT NOT NULL,
      attempts INTEGER NOT NULL DEFAULT 0, failure TEXT, gone INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX messages_waiting ON messages (receiver, number) WHERE gone = 0;
    """,
    // `receivers`: the names of an alert's receivers, one per line; NULL if unknown. `rules`: the rules under
    // which conditions are stored. `ends`: alerts that an operator has ended, and that the service has not
    // processed yet.
    """
    ALTER TABLE alerts ADD COLUMN receivers TEXT;
    ALTER TABLE alerts ADD COLUMN reason TEXT;
    CREATE TABLE rules (name TEXT PRIMARY KEY, kind TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE ends (number INTEGER PRIMARY KEY);
    """,
    "ALTER TABLE alerts ADD COLUMN remedy TEXT",
    // The time at which the service noticed the start or the end of the alert; NULL for alerts of earlier versions.
    "ALTER TABLE alerts ADD COLUMN noticed INTEGER",
  ]
}
