public import Sensors
public import Spatial
public import VehicleData

/// Monitors any number of regions and reports entries, exits and dwells.
///
/// A fix is not treated as a point. The probability that the vehicle is inside follows from the boundary's
/// shape and the fix's accuracy (a normal error, equal in all directions). A state changes only with
/// sufficient certainty, from one fix or from several independent ones: 99 % in motion, practically certain
/// at rest. A vehicle parked on a boundary therefore changes the state at most once. If the accuracy is
/// insufficient, nothing is decided.
///
/// As in Core Location, events are crossings: the first decision about a region sets its state without an
/// event. A region that replaces one with the same identifier inherits its state, so that entries and exits
/// alternate for each identifier. The dwell continues unless the vehicle is found outside of the new shape. A
/// removed region causes no further events.
///
/// A value type without I/O: locations go in with their time, events come out in the order in which they
/// happened, with exits before the entries that replace them. The cost of a fix depends on the regions near
/// the line from the previous one, not on all regions.
public struct RegionMonitor: Sendable {
  public let settings: Settings

  /// Number of locations ignored since the start because they were not later than the previous one.
  public private(set) var unorderedCount = 0

  private(set) var regions: [WatchedRegion] = []
  private(set) var states: [WatchState] = []
  /// Civil time since which each region has had its state; nil if unknown.
  private(set) var since: [UTCTime?] = []
  private(set) var places: [String: Int] = [:]
  private(set) var tree = BoxTree()
  /// Evaluation states by region index. Regions that the vehicle is certainly outside of have none.
  private var tracks: [Int: RegionTrack] = [:]
  /// Regions that were not evaluated since they were added, changed or reset.
  private var unseen: [Int] = []
  /// States from before a restart, for regions that are not monitored yet.
  private var memory = RegionMemory()
  private(set) var newest: RegionFix?
  private var firstFix: Timestamp?
  /// True if a gap separates the newest fix from the next one.
  private var isInterrupted = false
  /// True if the newest position was withheld for privacy.
  private var isHidden = false
  private var nearby: [Int] = []
  /// True if any region has a `desiredAccuracy`.
  private(set) var hasOwnAccuracies = false
  /// True if any region has a speed limit.
  private(set) var hasSpeedLimits = false

  /// The next end of a dwell time, at which `advance` must be called; nil for none.
  public private(set) var nextDeadline: Timestamp?
  /// Counter that increases with every change of `encoded` except for positions.
  public private(set) var revision = 0

  public init(settings: Settings = Settings()) {
    self.settings = settings
  }

  /// Number of monitored regions.
  public var count: Int { regions.count }

  /// Returns the state of a region; nil if it is not monitored.
  public func state(of identifier: String) -> RegionState? { places[identifier].map { states[$0].told } }

  /// True if states of regions that are not monitored (any more) are preserved.
  public var hasOtherStates: Bool { !memory.isEmpty }

  /// Identifiers of the regions whose decided state is inside, sorted.
  public var inside: [String] { placesInside.map { regions[$0].identifier }.sorted() }

  var placesInside: [Int] { tracks.keys.filter { states[$0] == .inside } }

  /// Processes a location. Returns the resulting events.
  public mutating func process(_ location: Location) -> [RegionEvent] {
    guard location.coordinate.isValid else { return [] }
    if let newest, location.timestamp <= newest.timestamp {
      unorderedCount += 1
      return []
    }
    let fix = RegionFix(location, settings)
    let step = RegionStep(from: isInterrupted ? nil : newest, to: fix, settings)
    (newest, isInterrupted, isHidden) = (fix, false, false)
    let first = firstFix ?? fix.timestamp
    firstFix = first
    // Regions that were not added again within `memorySpan` after the first fix were removed.
    if fix.timestamp.seconds(since: first) > Self.memorySpan { memory = RegionMemory() }
    guard !regions.isEmpty else { return [] }

    var events = RegionEventList()
    nearby.removeAll(keepingCapacity: true)
    tree.forEach(meeting: step.box) { nearby.append($0) }
    if !tracks.isEmpty {
      let found = Set(nearby)
      for place in tracks.keys where !found.contains(place) { nearby.append(place) }
    }
    nearby.sort()
    for place in nearby { evaluate(place, step, first: first, into: &events) }
    for place in unseen where tracks[place] == nil {
      if states[place] == .unknown { since[place] = fix.time }
      states[place] = .outside
    }
    if !unseen.isEmpty {
      unseen.removeAll()
      revision += 1
    }
    reportStays(until: fix.timestamp, in: step, into: &events)
    return events.ordered
  }

  /// True if a region has no state yet, or a changed boundary that was not evaluated.
  public var hasUndecided: Bool { !unseen.isEmpty }

  /// Decides the states of undecided regions by the current position, in the same way as by a fix. Other
  /// regions are unaffected. Does nothing while positions are withheld.
  /// - Parameter location: the position at `timestamp`. The accuracy includes the distance that the vehicle
  ///   may have moved since the position was measured.
  public mutating func evaluateUndecided(at location: Location) -> [RegionEvent] {
    guard !unseen.isEmpty, !isHidden, location.coordinate.isValid else { return [] }
    let fix = RegionFix(location, settings)
    let step = RegionStep(from: nil, to: fix, settings)
    var near: Set<Int> = []
    tree.forEach(meeting: step.box) { near.insert($0) }
    var events = RegionEventList()
    var open: [Int] = []
    for place in unseen {
      if near.contains(place) || tracks[place] != nil {
        evaluate(place, step, first: firstFix ?? fix.timestamp, into: &events)
      } else {
        if states[place] == .unknown { since[place] = fix.time }
        states[place] = .outside
      }
      if states[place] == .unknown { open.append(place) }
    }
    if open.count < unseen.count { revision += 1 }
    unseen = open
    isInterrupted = false
    reportStays(until: fix.timestamp, in: step, into: &events)
    return events.ordered
  }

  /// Resets all states to unknown. The next call of `evaluateUndecided(at:)`, or the next fix, sets each
  /// state again without an event. The regions are unchanged.
  public mutating func forgetStates() {
    states = Array(repeating: .unknown, count: regions.count)
    since = Array(repeating: nil, count: regions.count)
    unseen = Array(regions.indices)
    tracks = [:]
    memory = RegionMemory()
    isInterrupted = true
    nextDeadline = nil
    revision += 1
  }

  /// Starts a gap in which positions are withheld: the fixes before and after it are not connected, no region is decided and
  /// no dwell is reported before the next fix.
  public mutating func interrupt() { (isInterrupted, isHidden) = (true, true) }

  /// Like `interrupt()`, and also forgets where boundaries were crossed, because other positions than before are
  /// private from now on.
  package mutating func forgetPositions() {
    interrupt()
    for place in tracks.keys { tracks[place]?.crossing = nil }
  }

  /// Advances the time without a location. Returns dwell events that are due.
  public mutating func advance(to time: Timestamp) -> [RegionEvent] {
    var events = RegionEventList()
    let step = newest.map { RegionStep(from: nil, to: $0, settings) }
    reportStays(until: time, in: step, into: &events)
    return events.ordered
  }

  /// Evaluates one region for a step.
  private mutating func evaluate(
    _ place: Int, _ step: RegionStep, first: Timestamp, into events: inout RegionEventList
  ) {
    let track = tracks[place] ?? RegionTrack()
    if let clearance = track.clearance, states[place] == .inside, track.evidence.isEmpty,
      (step.end.position - clearance.position).length < clearance.metres - step.reach
    {
      return
    }
    var evaluation = RegionEvaluation(
      region: regions[place], step: step, first: first, state: states[place], track: track)
    if evaluation.run(into: &events) {
      revision += 1
      since[place] = evaluation.changeTime
    }
    states[place] = evaluation.state
    tracks[place] = evaluation.isForgettable ? nil : evaluation.track
  }

  /// - Parameter step: the newest motion; nil before the first fix.
  private mutating func reportStays(
    until time: Timestamp, in step: RegionStep?, into events: inout RegionEventList
  ) {
    var next: Timestamp?
    for (place, track) in tracks where states[place] == .inside && !track.hasDwelt {
      guard let due = regions[place].dwellEnd(track) else { continue }
      // No dwell is reported for a vehicle that may have left already.
      if let step, due <= time, track.isInside == true, track.evidence.isEmpty, !isInterrupted {
        let event = regions[place].stay(at: step.position(at: due), track, first: firstFix, confidence: 1)
        events.append(event, isPassage: false)
        tracks[place]?.hasDwelt = true
        revision += 1
      } else if due > time {
        next = min(next ?? due, due)
      }
    }
    nextDeadline = next
  }

  // MARK: Regions

  /// Replaces all regions. Invalid regions are rejected with a reason. Of several regions with the same
  /// identifier, the last valid one is used. States of unchanged identifiers are retained.
  @discardableResult
  public mutating func replaceAll(_ wanted: [Region]) -> RegionAcceptance {
    var acceptance = RegionAcceptance()
    var watched: [WatchedRegion] = []
    watched.reserveCapacity(wanted.count)
    var taken: Set<String> = []
    func refuse(_ index: Int, _ reason: RegionError) {
      acceptance.refused.append(
        RegionAcceptance.Refusal(index: index, identifier: wanted[index].identifier, reason: reason))
    }
    // The regions are processed in reverse order, so that the last region with an identifier comes first.
    for (index, region) in wanted.enumerated().reversed() {
      do throws(RegionError) {
        let checked = try WatchedRegion(region)
        guard taken.insert(region.identifier).inserted else { throw .duplicateIdentifier }
        watched.append(checked)
      } catch {
        refuse(index, error)
      }
    }
    watched.reverse()
    acceptance.refused.reverse()
    acceptance.accepted = watched.map(\.identifier)
    watch(watched)
    return acceptance
  }

  /// Adds a region, or replaces the one with the same identifier. Each call rebuilds the index; use
  /// `replaceAll` to add many regions.
  /// - Throws: `RegionError`; the regions are then unchanged.
  public mutating func add(_ region: Region) throws(RegionError) {
    let checked = try WatchedRegion(region)
    var all = regions
    if let place = places[region.identifier] { all[place] = checked } else { all.append(checked) }
    watch(all)
  }

  /// Removes a region; no effect if it is not monitored.
  public mutating func remove(_ identifier: String) {
    guard let place = places[identifier] else { return }
    var all = regions
    all.remove(at: place)
    watch(all)
  }

  private mutating func watch(_ wanted: [WatchedRegion]) {
    let (oldRegions, oldStates, oldTracks, oldPlaces) = (regions, states, tracks, places)
    let oldSince = since
    let oldUnseen = Set(unseen)
    regions = wanted
    states = Array(repeating: .unknown, count: wanted.count)
    since = Array(repeating: nil, count: wanted.count)
    tracks = [:]
    places = [:]
    places.reserveCapacity(wanted.count)
    unseen = []
    for (place, region) in wanted.enumerated() {
      places[region.identifier] = place
      guard let old = oldPlaces[region.identifier] else {
        recall(place)
        unseen.append(place)
        continue
      }
      (states[place], since[place]) = (oldStates[old], oldSince[old])
      tracks[place] = oldTracks[old]
      if region.area != oldRegions[old].area {
        // Observations of the old boundary are not valid for the new boundary.
        if states[place] == .outside { states[place] = .outsideUnseen }
        if var track = tracks[place] {
          track.isInside = nil
          track.crossing = nil
          track.clearance = nil
          track.evidence = RegionEvidence()
          tracks[place] = states[place] == .inside ? track : nil
        }
        unseen.append(place)
      } else if oldUnseen.contains(old) {
        unseen.append(place)
      }
    }
    tree = BoxTree(wanted.map(\.area.bounds))
    hasOwnAccuracies = wanted.contains { $0.desiredAccuracy != nil }
    hasSpeedLimits = wanted.contains { $0.speedLimit != nil }
    revision += 1
  }

  /// Calls `body` with the identifier of each region that contains a position, regardless of its state, in no
  /// particular order.
  public func forEachRegion(at coordinate: Coordinate, _ body: (String) -> Void) {
    let point = SurfacePoint(coordinate)
    tree.forEach(at: point.position) { place in
      if regions[place].area.contains(point) { body(regions[place].identifier) }
    }
  }

  /// Returns the distance in m from a position within which there is certainly no boundary of a region; nil
  /// without regions.
  /// - Parameter limit: maximum result in m; more distant boundaries are not searched for.
  public func distanceToNearestBoundary(from coordinate: Coordinate, limit: Double = 100_000) -> Double? {
    guard !regions.isEmpty, coordinate.isValid else { return nil }
    let point = SurfacePoint(coordinate)
    var radius = min(100, limit)
    while true {
      var box = SpaceBox(from: point, to: point)
      box.grow(by: radius)
      var nearest = radius
      tree.forEach(meeting: box) { place in
        nearest = min(nearest, abs(regions[place].area.signedDistance(from: point)))
      }
      // All boundaries within the radius were examined, so a nearer one cannot exist.
      if nearest < radius || radius >= limit { return nearest }
      radius = min(limit, radius * 4)
    }
  }

  // MARK: Restart

  /// The states of all regions, to be stored across a restart. Save them when `revision` has changed.
  public var encoded: [UInt8] {
    var all = memory
    for (place, track) in tracks where states[place] == .inside {
      all.stays[regions[place].identifier] = RegionMemory.Dwell(
        since: track.sinceTime, hasDwelt: track.hasDwelt)
    }
    for place in regions.indices where states[place].isOutside {
      all.outside[RegionMemory.hash(regions[place].identifier)] = since[place]?.nanoseconds ?? .min
    }
    return all.encoded
  }

  /// Restores the states of an earlier run, for current and future regions. A change of state that the first
  /// fix shows is reported once, as a late event. Call it before the first location.
  /// - Throws: `StoredStateError` for invalid bytes; then nothing is restored.
  public mutating func restore(_ bytes: [UInt8]) throws(StoredStateError) {
    memory = try RegionMemory(decoding: bytes)
    for place in regions.indices where states[place] == .unknown && tracks[place] == nil { recall(place) }
  }

  /// Restores the state that a region had before the restart, if it is stored.
  private mutating func recall(_ place: Int) {
    let identifier = regions[place].identifier
    if let stay = memory.stays.removeValue(forKey: identifier) {
      states[place] = .inside
      var track = RegionTrack()
      track.isRestored = true
      (track.sinceTime, track.hasDwelt) = (stay.since, stay.hasDwelt)
      tracks[place] = track
      since[place] = stay.since
    } else if !memory.outside.isEmpty,
      let time = memory.outside.removeValue(forKey: RegionMemory.hash(identifier))
    {
      states[place] = .outsideRestored
      since[place] = time == .min ? nil : UTCTime(nanoseconds: time)
    }
  }

  /// Assumptions about receivers and vehicles.
  public struct Settings: Hashable, Sendable {
    /// Assumed accuracy in m (68 %) of a fix without one. Larger values delay decisions, smaller ones let an
    /// inaccurate fix decide. Default: 25.
    public var unknownAccuracy = 25.0
    /// Best accuracy in m (68 %) that is accepted from a fix. Default: 1.
    public var leastAccuracy = 1.0
    /// Speed over ground in m/s from which a vehicle is certainly moving. Default: 2.
    public var movingSpeed = 2.0
    /// Acceleration in m/s² by which the path between two fixes may bend away from the straight line, in gaps of up to
    /// 10 s; in longer ones vehicles turn. 0 assumes a straight line. Default: 0.2.
    public var bend = 0.2

    public init() {}
  }

  /// Time in s after the first fix, for which states from before a restart are retained for regions that are
  /// not monitored yet.
  private static let memorySpan = 3600.0
}
