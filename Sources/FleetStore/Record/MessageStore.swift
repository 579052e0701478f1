internal import Fleet
internal import MQTT
internal import Spatial
internal import Telemetry

/// Where a recording goes. Used by one thread, one call at a time; calls block.
protocol MessageStore: AnyObject {
  /// For people: a path, or a database's address without its secrets.
  var name: String { get }

  /// Makes the store ready, or ready again after a failure: connects, and brings the schema up to date.
  func open() throws(FleetError)

  /// Stores the messages, all or none of them, such that they would survive a loss of power. One that is there
  /// already changes nothing.
  /// - Returns: how many were not there before.
  func store(_ messages: [RecordedMessage]) throws(FleetError) -> Int

  /// What would make the store answer better than it can; nil where nothing would. Known when it is open.
  var advice: String? { get }

  /// Deletes what is older than a day, by the vehicle's clock where that can be believed, and by the recorder's else.
  /// - Parameter today: by the recorder's clock.
  func expire(before day: Day, today: Day) throws(FleetError) -> StoreExpiry

  /// Leaves the store as others expect to find it.
  func close()
}

/// What was deleted as too old.
struct StoreExpiry: Hashable, Sendable {
  /// Partitions, each with the messages or the fixes of a day.
  var partitions = 0
  /// Rows beside those in partitions.
  var rows = 0
}

/// Of which days a database keeps each apart, counted from the recorder's. A clock that is wrong by decades must not make
/// a partition for each day that it tells.
struct PartitionedDays: Hashable, Sendable {
  var before = 400
  var after = LatestPositions.daysAhead

  /// Until --keep, if that is longer or shorter: what is older than that shall not be there.
  init(keep days: Int? = nil) { before = days ?? before }

  func contains(_ day: Day, receivedOn today: Day) -> Bool {
    (today.number - before...today.number + after).contains(day.number)
  }
}

/// Writes the columns of a row, one after the other. What it writes is the same in every database.
protocol RowWriter: ~Copyable {
  mutating func text(_ value: String?)
  mutating func bigint(_ value: Int64?)
  mutating func integer(_ value: Int32)
  mutating func smallint(_ value: Int16)
  mutating func double(_ value: Double?)
  mutating func bool(_ value: Bool)
  mutating func timestamp(_ value: UTCTime?)
  /// Text as its bytes, which are valid UTF-8 without a zero.
  mutating func utf8(_ value: [UInt8])
  /// A JSON document.
  mutating func json(_ value: [UInt8]?)
}

extension RowWriter where Self: ~Copyable {
  /// In the order of `RecordingColumns.messages`.
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

  /// In the order of `RecordingColumns.fixes`.
  /// - Parameter place: of the fix in its track, from 0.
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

/// The columns that the tables have in every database.
enum RecordingColumns {
  /// All but the payload.
  static let messages = """
    received, time, topic, fleet, vehicle, kind, qos, retain, epoch, seq, hash, event, latitude, longitude, \
    altitude, accuracy, speed, course
    """

  /// Where the position of a `location` comes from, in SQL: `location`, or `coarse` for one that is no fix.
  static let locationSource = "CASE WHEN event = 'coarse' THEN 'coarse' ELSE 'location' END"

  static let fixes = """
    received, fleet, vehicle, time, latitude, longitude, altitude, accuracy, speed, epoch, seq, place
    """

  static let latest = """
    fleet, vehicle, time, received, latitude, longitude, altitude, accuracy, speed, course, source
    """
}
