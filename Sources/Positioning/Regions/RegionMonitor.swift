public import Spatial

/// Watches any number of regions and reports entries, exits and stays.
///
/// A fix is not taken for a point. The probability that the vehicle is inside comes from the boundary's shape and the
/// fix's accuracy (a normal error, the same in all directions), and a state changes only when that is certain enough: 99 %
/// while the vehicle moves, practically certain while it does not, from one fix or from several that are independent.
/// In between the state stays, so that a vehicle parked on a boundary changes it once at most. Where accuracy is too poor
/// to decide, nothing is decided.
///
/// As in Core Location, events are crossings: the first decision about a region sets its state without an event. A
/// region with the identifier of another replaces it and keeps its state, so that entries and exits alternate for each
/// identifier; the stay goes on unless the vehicle is found outside of the new shape. A region that is taken away tells
/// nothing more.
///
/// A value type without I/O: locations go in with their time, events come out in the order in which they happened, with
/// exits before the entries that replace them. The cost of a fix depends on the regions near the way from the last one,
/// not on all.
public struct RegionMonitor: Sendable {
  public let settings: Settings

  /// Locations passed over because their time was not after the last one's, since the start.
  public private(set) var unorderedCount = 0

  private(set) var regions: [WatchedRegion] = []
  private(set) var states: [WatchState] = []
  /// Since when each state is known to hold, in civil time; nil when that is not known.
  private(set) var since: [UTCTime?] = []
  private(set) var places: [String: Int] = [:]
  private(set) var tree = BoxTree()
  /// By the region's place; all that are not plainly outside.
  private var tracks: [Int: RegionTrack] = [:]
  /// Regions that no position was compared with since they were added, changed or reset.
  private var unseen: [Int] = []
  /// From before a restart, for regions that are not watched yet.
  private var memory = RegionMemory()
  private(set) var newest: RegionFix?
  private var firstFix: Timestamp?
  /// Whether the next fix is not connected with the newest one.
  private var isInterrupted = false
  /// Whether the newest position is withheld.
  private var isHidden = false
  private var nearby: [Int] = []
  /// Whether any region has a desired accuracy of its own.
  private(set) var hasOwnAccuracies = false
  /// Whether any region has a speed limit.
  private(set) var hasSpeedLimits = false

  /// When a stay will be long enough to be reported; nil for none. Call `advance` then.
  public private(set) var nextDeadline: Timestamp?
  /// Rises with everything that `encoded` would say differently, except for positions.
  public private(set) var revision = 0

  public init(settings: Settings = Settings()) {
    self.settings = settings
  }

  /// How many regions are watched.
  public var count: Int { regions.count }

  /// Nil for an identifier that is not watched.
  public func state(of identifier: String) -> RegionState? { places[identifier].map { states[$0].told } }

  /// Whether states from before a restart, or of regions that are watched no more, wait for their regions.
  public var remembersOthers: Bool { !memory.isEmpty }

  /// The regions that the vehicle is in, as decided, in order of their identifiers.
  public var inside: [String] { placesInside.map { regions[$0].identifier }.sorted() }

  var placesInside: [Int] { tracks.keys.filter { states[$0] == .inside } }

  /// Takes a location; returns what it shows to have happened.
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
    // Regions that have not come back by then are gone.
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
    reportStays(until: fix.timestamp, into: &events)
    return events.ordered
  }

  /// Whether a region has no state yet, or a boundary that no position was compared with.
  public var hasUndecided: Bool { !unseen.isEmpty }

  /// Decides the undecided regions by the current position, as a fix would. Other regions are unaffected. Does nothing
  /// while positions are withheld.
  /// - Parameter location: the position at `timestamp`. Its accuracy includes what the vehicle may have moved since it was
  ///   measured.
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
    reportStays(until: fix.timestamp, into: &events)
    return events.ordered
  }

  /// Resets all states to unknown. `evaluateUndecided(at:)` or the next fix decides them again, without an event. The regions
  /// are unchanged.
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

  /// Lets time pass without a location; returns the stays that have become long enough.
  public mutating func advance(to time: Timestamp) -> [RegionEvent] {
    var events = RegionEventList()
    reportStays(until: time, into: &events)
    return events.ordered
  }

  /// Holds one region against a step.
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

  private mutating func reportStays(until time: Timestamp, into events: inout RegionEventList) {
    var next: Timestamp?
    for (place, track) in tracks where states[place] == .inside && !track.hasDwelt {
      guard let due = regions[place].dwellEnd(track) else { continue }
      // A vehicle that may have left already is not said to stay.
      if due <= time, track.isInside == true, track.evidence.isEmpty, !isInterrupted {
        let event = regions[place].stay(until: due, track, seen: newest, first: firstFix, confidence: 1)
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

  /// Watches these regions and no others. Each that is faulty is refused with its reason; the others are watched. Of those
  /// with the same identifier the last good one is, as it would replace the one before it. States of identifiers that stay are
  /// kept.
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
    // From the end, so that the last of an identifier is the first that is seen.
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

  /// Watches one region more, in place of one with the same identifier. Builds the index anew: many regions are better
  /// given to `replaceAll`.
  /// - Throws: `RegionError`; the regions are then as they were.
  public mutating func add(_ region: Region) throws(RegionError) {
    let checked = try WatchedRegion(region)
    var all = regions
    if let place = places[region.identifier] { all[place] = checked } else { all.append(checked) }
    watch(all)
  }

  /// Watches a region no longer; nothing happens when it is not watched.
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
        // What was seen of the old boundary says nothing of the new one.
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

  /// Calls with the identifier of each region that a place itself lies in, whatever was decided, in no particular order.
  public func forEachRegion(at coordinate: Coordinate, _ body: (String) -> Void) {
    let point = SurfacePoint(coordinate)
    tree.forEach(at: point.position) { place in
      if regions[place].area.contains(point) { body(regions[place].identifier) }
    }
  }

  /// Metres that the vehicle can surely move from a place before it meets the boundary of any region; nil without regions.
  /// - Parameter limit: metres; farther boundaries are not looked for, and the answer is at most this.
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
      // Every boundary within the radius was looked at, whatever lies beyond.
      if nearest < radius || radius >= limit { return nearest }
      radius = min(limit, radius * 4)
    }
  }

  // MARK: Across a restart

  /// The states of all regions, to be kept across a restart. Save it when `revision` has changed.
  public var encoded: [UInt8] {
    var all = memory
    for (place, track) in tracks where states[place] == .inside {
      all.stays[regions[place].identifier] = RegionMemory.Stay(
        since: track.sinceTime, hasDwelt: track.hasDwelt)
    }
    for place in regions.indices where states[place].isOutside {
      all.outside[RegionMemory.hash(regions[place].identifier)] = since[place]?.nanoseconds ?? .min
    }
    return all.encoded
  }

  /// Takes over the states of an earlier run, for the regions that are watched and for those that will be. What the first
  /// fix then shows to have changed is reported once, as late. Call it before the first location.
  /// - Throws: `RegionMemoryError` for bytes that are no such states; nothing is taken over then.
  public mutating func restore(_ bytes: [UInt8]) throws(RegionMemoryError) {
    memory = try RegionMemory(decoding: bytes)
    for place in regions.indices where states[place] == .unknown && tracks[place] == nil { recall(place) }
  }

  /// Gives a region the state that it had before the restart, if it had one.
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

  /// What is assumed about receivers and vehicles.
  public struct Settings: Hashable, Sendable {
    /// Metres at 68 %, for a fix that does not say. More delays decisions, less lets a bad fix decide. 25.
    public var unknownAccuracy = 25.0
    /// Metres at 68 %: no fix is believed to be better. 1.
    public var leastAccuracy = 1.0
    /// Metres per second over ground from which on a vehicle is surely moving. 2.
    public var movingSpeed = 2.0
    /// Metres per second squared by which the way between two fixes bends: how far from the straight line it may have
    /// led. 0 believes in the straight line. 0.2.
    public var bend = 0.2

    public init() {}
  }

  /// Seconds after the first fix for which states from before a restart wait for their regions.
  private static let memorySpan = 3600.0
}
