package import Fleet
internal import JSON
package import Spatial
internal import Telemetry
internal import VehicleData

/// The vehicles' summaries as JSON, encoded once for each change and shared by all clients.
///
/// A value type without I/O. It counts revisions of its own, because summaries also change by time alone, for
/// example when a vehicle becomes overdue.
package struct SummaryTable: Sendable {
  package struct Entry: Sendable {
    package let key: VehicleKey
    /// The table's revision at the last change of the summary.
    package fileprivate(set) var revision: UInt64 = 0
    /// The table's revision at the last change of any detail.
    package fileprivate(set) var detailRevision: UInt64 = 0
    package fileprivate(set) var state = VehicleState.unknown
    package fileprivate(set) var coordinate: Coordinate?
    package fileprivate(set) var json: [UInt8] = []
    /// True if the vehicle was removed from the fleet: streams then send only the removal.
    package fileprivate(set) var isRemoved = false
    /// The length in bytes of the first part of `json`, which contains the current state.
    fileprivate var currentEnd = 0
    /// The offset in `json` after the revision.
    fileprivate var rest = 0
    /// The vehicle's revision in the roster from which the summary was created; `.max` for none.
    fileprivate var source: UInt64 = .max
    /// Time at which the summary changes without a message, in nanoseconds of UTC; `.max` for never.
    fileprivate var changesAt: UTCTime?

    /// The vehicle's prediction, and the offset in `json`, counted from `rest`, at which the predicted
    /// position is inserted. Nil if there is no prediction.
    fileprivate var prediction: (of: VehiclePrediction, offset: Int)?

    /// Returns the summary visible to a principal, with the position predicted for a time; for a link only the
    /// current state. Removals are visible to all.
    package func json(for principal: Principal, at now: Moment) -> [UInt8] {
      let isPart = principal.isLink && !isRemoved
      let end = isPart ? currentEnd : json.count
      var bytes: [UInt8] = []
      bytes.reserveCapacity(end + 160)
      var start = 0
      if let prediction, let position = predicted(at: now) {
        start = rest + prediction.offset
        bytes += json[..<start]
        bytes += position.member
      }
      bytes += json[start..<end]
      if isPart { bytes.append(UInt8(ascii: "}")) }
      return bytes
    }

    /// Returns the predicted position; nil if there is none.
    package func predicted(at now: Moment) -> PredictedPosition? { prediction?.of.position(at: now) }
  }

  /// The entries in order of the vehicles' first messages. The entry of a removed vehicle remains until
  /// streams have sent the removal; its index is reused later.
  package private(set) var entries: [Entry] = []
  /// Rises with each change of a vehicle.
  package private(set) var revision: UInt64 = 0
  private var places: [VehicleKey: Int] = [:]
  /// The last changes in ascending order of revision. If a vehicle occurs several times, its last change is
  /// valid.
  private var log: [(revision: UInt64, place: Int)] = []
  /// The revision above which all changes are in the log.
  private var logBegin: UInt64 = 0
  /// The table index of each vehicle of the roster, in the roster's order. As long as no vehicle is removed,
  /// new vehicles are only appended.
  private var order: [Int] = []
  private var removals: UInt64 = 0
  /// The indices of removed vehicles with the revisions and times of their removal, oldest first.
  private var leaving: [(place: Int, revision: UInt64, since: Timestamp)] = []
  /// The indices of entries that can be reused.
  private var free: [Int] = []
  /// A number that increases when old removals are dropped. Clients that reconnect must then start again with
  /// all vehicles.
  package private(set) var purges = 0

  /// The seconds for which a removal is sent: longer than any open stream can be behind.
  package static let farewell = 600.0

  package init() {}

  /// Returns the index of a vehicle; nil for an unknown or removed one.
  package func place(of key: VehicleKey) -> Int? {
    places[key].flatMap { entries[$0].isRemoved ? nil : $0 }
  }

  /// Updates the summaries that have changed in the roster or by time alone.
  package mutating func update(from roster: Roster, at now: Moment) {
    // Before vehicles get their entries, so that no returned vehicle has an entry that is free.
    if let oldest = leaving.first, now.timestamp.seconds(since: oldest.since) > Self.farewell { purge(now) }
    if roster.removals != removals {
      removals = roster.removals
      removeMissing(from: roster, at: now)
    }
    for index in roster.vehicles.indices {
      if index == order.count { order.append(newPlace(of: roster.vehicles[index].key)) }
      let place = order[index]
      let isDue = entries[place].changesAt.map { $0 <= now.time } ?? false
      guard isDue || roster.vehicles[index].revision != entries[place].source else { continue }
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
      // The entry retains the vehicle's position, so that clients whose view contains it are notified
      // immediately.
      (entry.json, entry.isRemoved, entry.coordinate) = (json.bytes, true, entries[place].coordinate)
      (entry.revision, entry.detailRevision) = (revision, revision)
      entries[place] = entry
      log.append((revision, place))
      leaving.append((place, revision, now.timestamp))
    }
  }

  /// Drops old removals.
  private mutating func purge(_ now: Moment) {
    let old = leaving.prefix { now.timestamp.seconds(since: $0.since) > Self.farewell }
    // The entry of a vehicle that has returned since its removal remains.
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
    let positionEnd = vehicle.writeCurrent(to: &json, at: now)
    let currentEnd = json.bytes.count
    vehicle.writeDuties(to: &json, at: now)
    json.closeObject()
    entries[place].source = vehicle.revision
    entries[place].detailRevision = revision
    entries[place].state = vehicle.state
    entries[place].coordinate = vehicle.location?.message.location.coordinate
    entries[place].prediction = vehicle.validPrediction.flatMap { prediction in
      positionEnd.map { (prediction, $0 - rest) }
    }
    // A millisecond later than `isOverdue` and `hasRecentGap` change, because of rounding.
    var changes: [UTCTime] = []
    if let contact = vehicle.nextContact, !vehicle.isOverdue(at: now) {
      changes.append(contact.advanced(bySeconds: 300.001))
    }
    if vehicle.hasRecentGap(at: now), let gap = vehicle.lastGap {
      let left = VehicleRecord.gapDuration - now.timestamp.seconds(since: gap.timestamp)
      changes.append(now.time.advanced(bySeconds: left + 0.001))
    }
    if let change = vehicle.nextStaleChange(after: now) { changes.append(change) }
    entries[place].changesAt = changes.min()
    // Messages that the summary does not contain, such as frequent attitudes, do not change it.
    guard json.bytes[rest...] != entries[place].json[entries[place].rest...] else { return }
    (entries[place].json, entries[place].rest) = (json.bytes, rest)
    entries[place].currentEnd = currentEnd
    entries[place].revision = revision
    log.append((revision, place))
  }

  /// Calls `body` with the index of each vehicle that was changed or removed after a revision, unordered,
  /// each once.
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
