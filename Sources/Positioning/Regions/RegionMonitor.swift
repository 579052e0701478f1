public import Spatial

/// Watches any number of regions and tells entries, exits and stays.
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

  var regions: [WatchedRegion] = []
  var states: [WatchState] = []
  var places: [String: Int] = [:]
  var tree = BoxTree()
  /// By the region's place; all that are not plainly outside.
  var tracks: [Int: RegionTrack] = [:]
  /// Regions that no fix has been held against yet.
  var unseen: [Int] = []
  /// From before a restart, for regions that are not watched yet.
  var memory = RegionMemory()
  private(set) var newest: RegionFix?
  private var firstFix: Timestamp?
  /// Whether the vehicle went out of sight after the newest fix.
  private var isInterrupted = false
  private var nearby: [Int] = []

  /// When a stay will be long enough to be told; nil for none. Call `advance` then.
  public private(set) var nextDeadline: Timestamp?
  /// Rises with everything that `encoded` would tell differently, except for positions.
  public internal(set) var revision = 0

  public init(settings: Settings = Settings()) {
    self.settings = settings
  }

  /// How many regions are watched.
  public var count: Int { regions.count }

  /// Nil for an identifier that is not watched.
  public func state(of identifier: String) -> RegionState? {
    places[identifier].map { place in
      switch states[place] {
      case .unknown: .unknown
      case .inside: .inside
      case .outside, .outsideUnseen, .outsideRestored: .outside
      }
    }
  }

  /// The regions that the vehicle is in, as decided, in order of their identifiers.
  public var inside: [String] {
    tracks.keys.filter { states[$0] == .inside }.map { regions[$0].identifier }.sorted()
  }

  /// Takes a location; returns what it shows to have happened.
  public mutating func process(_ location: Location) -> [RegionEvent] {
    guard location.coordinate.isValid else { return [] }
    if let newest, location.timestamp <= newest.timestamp {
      unorderedCount += 1
      return []
    }
    let fix = RegionFix(location, settings)
    let step = RegionStep(from: isInterrupted ? nil : newest, to: fix, settings)
    (newest, isInterrupted) = (fix, false)
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
    for place in nearby { evaluate(place, step, into: &events) }
    for place in unseen where tracks[place] == nil { states[place] = .outside }
    if !unseen.isEmpty {
      unseen.removeAll()
      revision += 1
    }
    tellStays(until: fix.timestamp, into: &events)
    return events.ordered
  }

  /// Takes word that the vehicle is where nobody may know: nothing is taken for seen between the fixes before and after,
  /// and a stay is not told before the next one.
  public mutating func interrupt() { isInterrupted = true }

  /// Lets time pass without a location; returns the stays that have become long enough.
  public mutating func advance(to time: Timestamp) -> [RegionEvent] {
    var events = RegionEventList()
    tellStays(until: time, into: &events)
    return events.ordered
  }

  private mutating func tellStays(until time: Timestamp, into events: inout RegionEventList) {
    var next: Timestamp?
    for (place, track) in tracks where states[place] == .inside && !track.hasDwelt {
      guard let due = due(place, track) else { continue }
      // A vehicle that may have left already is not said to stay.
      if due <= time, track.isInside == true, track.evidence.isEmpty, !isInterrupted {
        tell(.dwell, place, track, RegionMonitor.stay(at: due, newest), confidence: 1, into: &events)
        tracks[place]?.hasDwelt = true
        revision += 1
      } else if due > time {
        next = min(next ?? due, due)
      }
    }
    nextDeadline = next
  }

  func due(_ place: Int, _ track: RegionTrack) -> Timestamp? {
    guard let since = track.since, let dwell = regions[place].dwell else { return nil }
    return since.advanced(bySeconds: dwell)
  }

  /// The end of a dwell time, at the newest position.
  static func stay(at due: Timestamp, _ fix: RegionFix?) -> RegionCrossing {
    RegionCrossing(
      timestamp: due,
      time: fix.flatMap { fix in fix.time?.advanced(bySeconds: due.seconds(since: fix.timestamp)) },
      coordinate: fix?.coordinate ?? Coordinate(latitude: 0, longitude: 0),
      statedAccuracy: fix?.statedAccuracy)
  }

  func tell(
    _ kind: RegionEvent.Kind, _ place: Int, _ track: RegionTrack, _ crossing: RegionCrossing,
    confidence: Double, isPassage: Bool = false, into events: inout RegionEventList
  ) {
    let region = regions[place]
    guard kind != .enter || region.notifyOnEntry, kind != .exit || region.notifyOnExit else { return }
    let isLate =
      kind == .dwell ? firstFix.map { track.isRestored && crossing.timestamp < $0 } ?? false : track.isLate
    var event = RegionEvent(
      kind: kind, identifier: region.identifier, timestamp: crossing.timestamp, time: crossing.time,
      coordinate: crossing.coordinate, horizontalAccuracy: crossing.statedAccuracy, confidence: confidence,
      isLate: isLate)
    (event.name, event.definedAt) = (region.name, region.definedAt)
    events.append(event, isPassage: isPassage)
  }
}

extension RegionMonitor {
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

  /// Evidence (see `RegionEvidence`) that changes a state while the vehicle moves: 99 % from one fix.
  static let evidenceInMotion = 2.0
  /// For the first decision about a region, and for what happened while nobody watched: 99.9 %.
  static let evidenceAtFirst = 3.0
  /// While it does not move, when a change can hardly be: seven standard deviations, or several fixes apart. Simulated days
  /// of noise, white or slow, at the boundary give no second change.
  static let evidenceAtRest = 12.0
  /// What a single fix must count then, 99.9 %; otherwise 1.
  static let leastEvidenceAtRest = 3.0
  /// Standard deviations beyond which a fix is certain.
  static let reach = 7.5
  /// Standard deviations of its own error by which a step between two fixes is surely a movement.
  static let significantStep = 7.0
  /// Seconds after the first fix for which states from before a restart wait for their regions.
  static let memorySpan = 3600.0
}
