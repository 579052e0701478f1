internal import Fleet
internal import JSON
package import Spatial
package import Telemetry

/// A message about a trip or driving event as a row of `trips` or `driving_events`.
///
/// Each message contains the complete state of its trip or event, so a table only contains one row for each.
/// `JournalTable.rank` selects the message by its content alone. The tables are therefore independent of the
/// messages' order and of duplicates.
package struct JournalRow: Hashable, Sendable {
  package enum Entry: Hashable, Sendable {
    case trip(TripMessage)
    case drivingEvent(DrivingEventMessage)
  }

  package var fleet: String
  package var vehicle: String
  /// The time of reception by the recorder's clock.
  package var received: UTCTime
  package var payload: [UInt8]
  package var entry: Entry

  /// The kinds of messages that have a table of this type.
  package static let kinds = [MessageKind.trip.rawValue, MessageKind.drivingEvent.rawValue]

  /// Decodes a message; nil for other kinds, messages without a vehicle, and invalid payloads.
  /// - Parameter kind: the topic's native path below the vehicle.
  package init?(fleet: String?, vehicle: String?, kind: String?, received: UTCTime, payload: [UInt8]) {
    guard let kind, Self.kinds.contains(kind), let fleet, let vehicle,
      let json = try? JSONValue(parsing: payload)
    else { return nil }
    if kind == MessageKind.trip.rawValue {
      guard let trip = try? TripMessage(json: json) else { return nil }
      entry = .trip(trip)
    } else {
      guard let event = try? DrivingEventMessage(json: json) else { return nil }
      entry = .drivingEvent(event)
    }
    (self.fleet, self.vehicle, self.received, self.payload) = (fleet, vehicle, received, payload)
  }

  package init?(_ message: RecordedMessage) {
    self.init(
      fleet: message.fleet, vehicle: message.vehicle, kind: message.kind, received: message.received,
      payload: message.payload)
  }

  /// Returns the rows for the messages about trips and driving events in a batch.
  package static func rows(of messages: [RecordedMessage]) -> [JournalRow] {
    var rows: [JournalRow] = []
    // Elements of a span are accessed in place; a loop over the array would copy each message.
    let span = messages.span
    for index in span.indices {
      guard let kind = span[index].kind, kinds.contains(kind), let row = JournalRow(span[index]) else {
        continue
      }
      rows.append(row)
    }
    return rows
  }
}

extension RowWriter where Self: ~Copyable {
  /// Writes the columns in the order of `JournalTable.trips.columns`.
  mutating func columns(of trip: TripMessage, in row: JournalRow) {
    key(trip.trip, of: row)
    bigint(Int64(trip.revision))
    timestamp(row.received)
    text(trip.phase.rawValue)
    text(Self.sound(trip.kind.name))
    columns(of: trip.start)
    columns(of: trip.end)
    for number in [trip.distance, trip.estimated, trip.moving, trip.standing] { double(number) }
    for number in [trip.idling, trip.greatestSpeed, trip.meanSpeed, trip.fuel, trip.electricity] {
      double(number)
    }
    json(
      trip.events.isEmpty
        ? nil
        : JSONWriter.object { json in
          for (name, count) in trip.events.sorted(by: { $0.key < $1.key }) where !name.utf8.contains(0) {
            json.key(name)
            json.value(count)
          }
        })
    text(Self.sound(trip.driver))
    text(Self.sound(trip.purpose))
    columns(of: trip.identity)
    utf8(row.payload)
  }

  /// Writes the columns in the order of `JournalTable.drivingEvents.columns`.
  mutating func columns(of event: DrivingEventMessage, in row: JournalRow) {
    key(event.journal, of: row)
    timestamp(row.received)
    timestamp(event.time)
    text(Self.sound(event.event.name))
    bool(event.isOngoing)
    bigint(event.trip)
    double(event.coordinate?.latitude)
    double(event.coordinate?.longitude)
    for number in [event.horizontalAccuracy, event.speed, event.peak, event.limit, event.duration] {
      double(number)
    }
    text(event.severity.rawValue)
    double(event.confidence)
    text(Self.sound(event.region))
    columns(of: event.identity)
    utf8(row.payload)
  }

  private mutating func key(_ number: JournalNumber, of row: JournalRow) {
    text(row.fleet)
    text(row.vehicle)
    text(number.series)
    bigint(number.number)
  }

  private mutating func columns(of end: TripMessage.End) {
    timestamp(end.time)
    double(end.coordinate?.latitude)
    double(end.coordinate?.longitude)
    double(end.horizontalAccuracy)
    double(end.odometer)
  }

  private mutating func columns(of identity: MessageIdentity?) {
    // An epoch that a database cannot store is ignored, as in other messages.
    let isSound = identity.map { !$0.epoch.utf8.contains(0) && $0.epoch.utf8.count <= 128 } ?? false
    text(isSound ? identity?.epoch : nil)
    bigint(isSound ? identity.map { Int64(clamping: $0.seq) } : nil)
  }

  /// Removes NUL characters, which PostgreSQL's texts cannot contain.
  private static func sound(_ text: String?) -> String? {
    guard let text, text.utf8.contains(0) else { return text }
    return String(String.UnicodeScalarView(text.unicodeScalars.filter { $0.value != 0 }))
  }
}
