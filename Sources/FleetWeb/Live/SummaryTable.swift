package import Fleet
internal import JSON
internal import Positioning
package import Spatial
internal import Telemetry

/// Each vehicle's summary as JSON, written once for each change and shared by all who are told.
///
/// A value without any I/O. Its revisions are its own: what time alone changes, as a vehicle that is overdue, counts too.
package struct SummaryTable: Sendable {
  package struct Entry: Sendable {
    package let key: VehicleKey
    /// The table's revision at the last change of the summary.
    package fileprivate(set) var revision: UInt64 = 0
    /// The table's revision at the last change of anything.
    package fileprivate(set) var detailRevision: UInt64 = 0
    package fileprivate(set) var state = VehicleState.unknown
    package fileprivate(set) var coordinate: Coordinate?
    package fileprivate(set) var json: [UInt8] = []
    /// How much of it is the vehicle as it is now, which comes first.
    fileprivate var currentEnd = 0
    /// Behind the revision in it.
    fileprivate var rest = 0
    /// The roster's revision that it was made of.
    fileprivate var source: UInt64 = .max
    /// When it will be overdue, by the calendar; `.max` for never, or already.
    fileprivate var overdueAt = Int64.max

    /// The summary as a principal may know it: for a link it ends behind what is now.
    package func json(for principal: Principal) -> [UInt8] {
      principal.isLink ? json[..<currentEnd] + [UInt8(ascii: "}")] : json
    }
  }

  /// In the order in which they were first heard of; none is ever taken out.
  package private(set) var entries: [Entry] = []
  /// Rises with each change of a vehicle.
  package private(set) var revision: UInt64 = 0
  private var places: [VehicleKey: Int] = [:]
  /// What changed last, by rising revision: a vehicle may stand there more than once, and its last place counts.
  private var log: [(revision: UInt64, place: Int)] = []
  /// All changes above it are in the log.
  private var logBegin: UInt64 = 0

  package init() {}

  package func place(of key: VehicleKey) -> Int? { places[key] }

  /// Takes in what has changed in the roster, and what the time has.
  package mutating func update(from roster: Roster, at now: Moment) {
    let time = now.time.nanoseconds
    for place in roster.vehicles.indices {
      if place == entries.count {
        let key = roster.vehicles[place].key
        places[key] = place
        entries.append(Entry(key: key))
      }
      guard roster.vehicles[place].revision != entries[place].source || entries[place].overdueAt <= time
      else { continue }
      write(roster.vehicles[place], at: place, now)
    }
    if log.count > 4 * entries.count + 1024 {
      let removed = log.count / 2
      logBegin = log[removed - 1].revision
      log.removeFirst(removed)
    }
  }

  private mutating func write(_ vehicle: VehicleRecord, at place: Int, _ now: Moment) {
    revision += 1
    var json = JSONWriter(capacity: 512)
    json.openObject()
    json.field("revision", revision)
    let rest = json.bytes.count
    vehicle.writeCurrent(to: &json, at: now)
    let currentEnd = json.bytes.count
    vehicle.writeDuties(to: &json)
    json.closeObject()
    entries[place].source = vehicle.revision
    entries[place].detailRevision = revision
    entries[place].state = vehicle.state
    entries[place].coordinate = vehicle.location?.message.location.coordinate
    entries[place].overdueAt = .max
    if let contact = vehicle.nextContact, !vehicle.isOverdue(at: now) {
      // As `isOverdue` has it, and a millisecond for its rounding.
      entries[place].overdueAt = contact.advanced(bySeconds: 300.001).nanoseconds
    }
    // An attitude, many times a second, is of no summary.
    guard json.bytes[rest...] != entries[place].json[entries[place].rest...] else { return }
    (entries[place].json, entries[place].rest) = (json.bytes, rest)
    entries[place].currentEnd = currentEnd
    entries[place].revision = revision
    log.append((revision, place))
  }

  /// Calls `body` with the place of each vehicle that changed after a revision, in no order, each once.
  package func forEachChange(since revision: UInt64, _ body: (Int) -> Void) {
    guard revision < self.revision else { return }
    guard revision >= logBegin else {
      for place in entries.indices where entries[place].revision > revision { body(place) }
      return
    }
    var low = 0
    var high = log.count
    while low < high {
      let middle = (low + high) / 2
      if log[middle].revision > revision { high = middle } else { low = middle + 1 }
    }
    for (revision, place) in log[low...] where entries[place].revision == revision { body(place) }
  }
}
