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
    /// Whether the vehicle has been taken out of the fleet: that is told to streams, and nothing else of it.
    package fileprivate(set) var isRemoved = false
    /// How much of it is the vehicle as it is now, which comes first.
    fileprivate var currentEnd = 0
    /// Behind the revision in it.
    fileprivate var rest = 0
    /// The roster's revision that it was made of.
    fileprivate var source: UInt64 = .max
    /// When the passage of time alone changes the summary, in nanoseconds of UTC; `.max` for never.
    fileprivate var changesAt = Int64.max

    /// The summary as a principal may know it: for a link it ends behind what is now. That a vehicle was taken out all are told.
    package func json(for principal: Principal) -> [UInt8] {
      principal.isLink && !isRemoved ? json.prefix(currentEnd) + [UInt8(ascii: "}")] : json
    }
  }

  /// In the order in which they were first heard of. A vehicle that is taken out leaves an entry that says so, for all streams to be
  /// told; later its place is another's.
  package private(set) var entries: [Entry] = []
  /// Seconds after which a stored position that is still valid is checked again.
  private static let staleCheckInterval = 5.0
  /// Rises with each change of a vehicle.
  package private(set) var revision: UInt64 = 0
  private var places: [VehicleKey: Int] = [:]
  /// What changed last, by rising revision: a vehicle may stand there more than once, and its last place counts.
  private var log: [(revision: UInt64, place: Int)] = []
  /// All changes above it are in the log.
  private var logBegin: UInt64 = 0
  /// Where each of the roster's vehicles is; as long as none is taken out, more come behind it only.
  private var order: [Int] = []
  private var removals: UInt64 = 0
  /// Places of those that were taken out, and since when: oldest first.
  private var leaving: [(place: Int, revision: UInt64, since: Timestamp)] = []
  /// Places that another vehicle may have.
  private var free: [Int] = []
  /// Rises when it can no longer be told who has been taken out: what was told before begins anew then.
  package private(set) var purges = 0

  /// Seconds for which it is told that a vehicle was taken out: longer than any open stream is behind.
  package static let farewell = 600.0

  package init() {}

  /// Where a vehicle of the fleet is; nil for one that is not known, or no longer.
  package func place(of key: VehicleKey) -> Int? {
    places[key].flatMap { entries[$0].isRemoved ? nil : $0 }
  }

  /// Takes in what has changed in the roster, and what the time has.
  package mutating func update(from roster: Roster, at now: Moment) {
    if roster.removals != removals {
      removals = roster.removals
      removeMissing(from: roster, at: now)
    }
    if let oldest = leaving.first, now.timestamp.seconds(since: oldest.since) > Self.farewell { purge(now) }
    let time = now.time.nanoseconds
    for index in roster.vehicles.indices {
      if index == order.count { order.append(newPlace(of: roster.vehicles[index].key)) }
      let place = order[index]
      guard roster.vehicles[index].revision != entries[place].source || entries[place].changesAt <= time
      else { continue }
      write(roster.vehicles[index], at: place, now)
    }
    if log.count > 4 * entries.count + 1024 {
      let removed = log.count / 2
      logBegin = log[removed - 1].revision
      log.removeFirst(removed)
    }
  }

  private mutating func newPlace(of key: VehicleKey) -> Int {
    if let place = places[key] { return place }
    let place = free.popLast() ?? entries.count
    if place == entries.count { entries.append(Entry(key: key)) } else { entries[place] = Entry(key: key) }
    places[key] = place
    return place
  }

  private mutating func removeMissing(from roster: Roster, at now: Moment) {
    order = roster.vehicles.map { newPlace(of: $0.key) }
    let present = Set(order)
    for (key, place) in places where !entries[place].isRemoved && !present.contains(place) {
      revision += 1
      var json = JSONWriter(capacity: 128)
      json.openObject()
      json.field("revision", revision)
      json.field("fleet", key.fleet)
      json.field("vehicle", key.vehicle)
      json.field("removed", true)
      json.closeObject()
      var entry = Entry(key: key)
      // Whoever looked at where it was is told at once.
      (entry.json, entry.isRemoved, entry.coordinate) = (json.bytes, true, entries[place].coordinate)
      (entry.revision, entry.detailRevision) = (revision, revision)
      entries[place] = entry
      log.append((revision, place))
      leaving.append((place, revision, now.timestamp))
    }
  }

  /// Forgets those that were taken out long ago.
  private mutating func purge(_ now: Moment) {
    let old = leaving.prefix { now.timestamp.seconds(since: $0.since) > Self.farewell }
    // One may have come back meanwhile.
    for (place, revision, _) in old where entries[place].isRemoved && entries[place].revision == revision {
      places[entries[place].key] = nil
      entries[place].json = []
      free.append(place)
    }
    leaving.removeFirst(old.count)
    purges += 1
  }

  private mutating func write(_ vehicle: VehicleRecord, at place: Int, _ now: Moment) {
    revision += 1
    entries[place].isRemoved = false
    var json = JSONWriter(capacity: 512)
    json.openObject()
    json.field("revision", revision)
    let rest = json.bytes.count
    vehicle.writeCurrent(to: &json, at: now)
    let currentEnd = json.bytes.count
    vehicle.writeDuties(to: &json, at: now)
    json.closeObject()
    entries[place].source = vehicle.revision
    entries[place].detailRevision = revision
    entries[place].state = vehicle.state
    entries[place].coordinate = vehicle.location?.message.location.coordinate
    // A millisecond more than `isOverdue` and `hasRecentGap` count, for rounding.
    var changes: [UTCTime] = []
    if let contact = vehicle.nextContact, !vehicle.isOverdue(at: now) {
      changes.append(contact.advanced(bySeconds: 300.001))
    }
    if vehicle.hasRecentGap(at: now), let gap = vehicle.lastGap {
      let left = VehicleRecord.gapDuration - now.timestamp.seconds(since: gap.timestamp)
      changes.append(now.time.advanced(bySeconds: left + 0.001))
    }
    if vehicle.location?.isRetained == true, !vehicle.isLocationStale(at: now) {
      changes.append(now.time.advanced(bySeconds: Self.staleCheckInterval))
    }
    entries[place].changesAt = changes.map(\.nanoseconds).min() ?? .max
    // An attitude, many times a second, is of no summary.
    guard json.bytes[rest...] != entries[place].json[entries[place].rest...] else { return }
    (entries[place].json, entries[place].rest) = (json.bytes, rest)
    entries[place].currentEnd = currentEnd
    entries[place].revision = revision
    log.append((revision, place))
  }

  /// Calls `body` with the place of each vehicle that changed after a revision, or was taken out, in no order, each once.
  package func forEachChange(since revision: UInt64, _ body: (Int) -> Void) {
    guard revision < self.revision else { return }
    guard revision >= logBegin else {
      for place in entries.indices where entries[place].revision > revision && !entries[place].json.isEmpty {
        body(place)
      }
      return
    }
    var low = 0
    var high = log.count
    while low < high {
      let middle = (low + high) / 2
      if log[middle].revision > revision { high = middle } else { low = middle + 1 }
    }
    for (revision, place) in log[low...]
    where entries[place].revision == revision && !entries[place].json.isEmpty {
      body(place)
    }
  }
}
