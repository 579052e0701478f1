package import Fleet
internal import MQTT
internal import Spatial
internal import Telemetry

/// The store of a recording. It is used by one thread, one call at a time; calls block.
package protocol MessageStore: AnyObject {
  /// The name for display: a path, or a database's address without credentials.
  var name: String { get }

  /// Opens the store, or reopens it after a failure: connects, and migrates the schema.
  func open() throws(FleetError)

  /// Stores messages in one transaction that survives a power loss. Messages that were stored before are
  /// ignored.
  /// - Returns: the number of new messages.
  func store(_ messages: [RecordedMessage]) throws(FleetError) -> Int

  /// A recommendation that makes queries faster; nil if there is none. It is determined when the store opens.
  var advice: String? { get }

  /// Deletes rows older than a day. A row's age is by the vehicle's clock if credible, otherwise by the
  /// recorder's.
  /// - Parameters:
  ///   - day: the first day to retain.
  ///   - today: the current day by the recorder's clock.
  func expire(before day: Day, today: Day) throws(FleetError) -> StoreExpiry

  /// Closes the store in a clean state for other programs.
  func close()
}

/// The amount of deleted data.
package struct StoreExpiry: Hashable, Sendable {
  /// The number of deleted partitions, each with the messages or fixes of a day.
  package var partitions = 0
  /// The number of deleted rows that were in no daily partition.
  package var rows = 0

  package init(partitions: Int = 0, rows: Int = 0) { (self.partitions, self.rows) = (partitions, rows) }
}

/// The range of days that get partitions of their own, relative to the day of reception. The range is
/// limited, because a vehicle's clock that is wrong by decades must not create thousands of partitions.
package struct PartitionedDays: Hashable, Sendable {
  package var before = 400
  package var after = LatestPositions.daysAhead

  /// Creates a range that reaches back as far as `--keep`, because older days are deleted.
  package init(keep days: Int? = nil) { before = days ?? before }

  package func contains(_ day: Day, receivedOn today: Day) -> Bool {
    (today.number - before...today.number + after).contains(day.number)
  }
}

/// A writer of the columns of a row, one after another, in the same order for every database.
protocol RowWriter: ~Copyable {
  mutating func text(_ value: String?)
  mutating func bigint(_ value: Int64?)
  mutating func integer(_ value: Int32)
  mutating func smallint(_ value: Int16)
  mutating func double(_ value: Double?)
  mutating func bool(_ value: Bool)
  mutating func timestamp(_ value: UTCTime?)
  /// Writes a text as bytes, which must be valid UTF-8 without NUL.
  mutating func utf8(_ value: [UInt8])
  /// Writes a JSON document.
  mutating func json(_ value: [UInt8]?)
}

extension RowWriter where Self: ~Copyable {
  /// Writes the columns in the order of `RecordingColumns.messages`.
  mutating func columns(of message: RecordedMessage) {
    let fields = message.fields
    timestamp(message.received)
    timestamp(fields.time)
    text(message.topic)
    text(message.fleet)
    text(message.vehicle)
    text(message.kind)
    smallint(Int16(message.qos.rawValue))
    bool(message.retain)
    text(fields.epoch)
    bigint(fields.seq)
    bigint(message.hash)
    text(fields.event)
    double(fields.latitude)
    double(fields.longitude)
    double(fields.altitude)
    double(fields.accuracy)
    double(fields.speed)
    double(fields.course)
  }

  /// Writes the columns in the order of `RecordingColumns.fixes`.
  /// - Parameter place: the index of the fix in its track, from 0.
  mutating func columns(of fix: TrackMessage.Fix, at place: Int, in message: RecordedMessage) {
    timestamp(message.received)
    text(message.fleet)
    text(message.vehicle)
    timestamp(fix.time)
    double(fix.coordinate.latitude)
    double(fix.coordinate.longitude)
    double(fix.altitude)
    double(fix.horizontalAccuracy)
    double(fix.speed)
    text(message.fields.epoch)
    bigint(message.fields.seq)
    integer(Int32(clamping: place))
  }
}

/// The columns of the tables in every database.
enum RecordingColumns {
  /// The columns without the payload.
  static let messages = """
    received, time, topic, fleet, vehicle, kind, qos, retain, epoch, seq, hash, event, latitude, longitude, \
    altitude, accuracy, speed, course
    """

  /// The schema version that introduced the source `suspect`; it is the same in SQLite and PostgreSQL.
  static let suspectVersion = 7

  /// The SQL for the source of a `location`: `location`, `coarse` for a position from radio beacons, or
  /// `suspect` for one that another measurement contradicts.
  static let locationSource = "CASE WHEN event IN ('coarse', 'suspect') THEN event ELSE 'location' END"

  /// The SQL for the number of a `location`'s source, as in `TrackSample.Source`.
  static let sourceNumber = "CASE event WHEN 'coarse' THEN 2 WHEN 'suspect' THEN 3 ELSE 0 END"

  /// The SQL condition that a row of `messages` has a position that lines include: neither suspect nor from
  /// radio beacons.
  static let isOnPath = """
    kind = 'location' AND latitude IS NOT NULL AND (event IS NULL OR event NOT IN ('coarse', 'suspect'))
    """

  /// Returns the SQL that marks the suspect positions of older recordings, which stored them as fixes.
  /// - Parameter schema: the prefix of table names.
  static func markSuspects(_ schema: String) -> String {
    """
    UPDATE \(schema)messages SET event = 'suspect'
      WHERE kind = 'location' AND (event IS NULL OR event <> 'suspect') AND payload LIKE '%"suspect":%';
    """
  }

  static let fixes = """
    received, fleet, vehicle, time, latitude, longitude, altitude, accuracy, speed, epoch, seq, place
    """

  static let latest = """
    fleet, vehicle, time, received, latitude, longitude, altitude, accuracy, speed, course, source
    """

  /// The time in s after which a report with a later time is not used for predictions.
  static let futureLimit = 60

  /// The SQL condition that a new row is later than the row in `latest`.
  ///
  /// A time more than five minutes after the reception is from a wrong clock. The time of reception replaces
  /// it, so that the vehicle's next positions are later after the clock was set back. A repeated message
  /// changes nothing.
  /// - Parameter tolerance: the five minutes as an SQL expression.
  static func follows(_ table: String, tolerance: String) -> String {
    func moment(_ row: String) -> String {
      "CASE WHEN \(row).time > \(row).received + \(tolerance) THEN \(row).received ELSE \(row).time END"
    }
    return """
      excluded.time <> \(table).time
        AND (\(moment("excluded")), excluded.time) > (\(moment(table)), \(table).time)
      """
  }

  /// The SQL condition that a new row has the same time as the row in `latest` and is more accurate. It is
  /// false if one of them is from a track.
  static func refines(_ table: String) -> String {
    """
    excluded.time = \(table).time AND excluded.source <> 'track' AND \(table).source <> 'track'
          AND excluded.accuracy IS NOT NULL AND (\(table).accuracy IS NULL OR excluded.accuracy < \(table).accuracy)
    """
  }
}
