internal import Fleet
internal import Sensors
internal import Spatial

/// A run of queries to a service for beacons missing in the map. Answers that agree with the vehicles' data
/// are added to the map.
struct GeolocateRun: ~Copyable {
  struct Counts: Hashable, Sendable {
    /// The number of queries sent to the service.
    var asked = 0
    /// The number of answers found in the cache.
    var cached = 0
    /// The number of answers with a position, from service and cache.
    var answered = 0
    /// The number of answers that the position is unknown, from service and cache.
    var unknown = 0
    /// The number of positions not used because they are too inaccurate.
    var rough = 0
    /// The number of positions not used because they contradict the fleet's data.
    var contradicted = 0
    /// The number of failed queries.
    var failed = 0
    /// The number of scans that were not queried because their position contradicts the map.
    var doubtful = 0
  }

  private let service: String
  private let cache: GeolocateCache
  private let evidence: GeolocateEvidence
  private let day: Int
  private var pace: GeolocatePace
  private var places: [Beacon: MappedBeacon] = [:]
  /// The beacons whose positions in several answers differ too much.
  private var disputed: Set<Beacon> = []
  private(set) var counts = Counts()
  /// The reason for an incomplete run; nil if it is complete.
  private(set) var stopped: String?
  /// The reason for which the service must not be queried again before an operator has checked it; nil if
  /// there is none. The daily limit is no such reason.
  var fault: String? { pace.ended }

  /// Creates a run.
  ///
  /// - Parameters:
  ///   - service: the host of the service, the source of its entries in the map.
  ///   - map: the fleet's own map.
  ///   - day: today in days since 1970.
  init(
    service: String, cache: consuming GeolocateCache, map: [FleetBeacon], limits: GeolocatePace.Limits,
    day: Int
  ) throws(FleetError) {
    pace = GeolocatePace(limits, asked: try cache.asked(service, day: day))
    (self.service, self.day) = (service, day)
    self.cache = cache
    evidence = GeolocateEvidence(map)
  }

  /// Returns whether a beacon is missing in the fleet's own map and in the answers of this run.
  func isUnknown(_ beacon: Beacon) -> Bool { !evidence.isKnown(beacon) && places[beacon] == nil }

  /// Evaluates the answer to a query, from the cache or else from the service.
  /// - Parameters:
  ///   - ask: sends the query to the service.
  ///   - now: returns seconds of a monotonic clock.
  ///   - waits: waits for the given seconds; returns true if the command is to stop.
  /// - Returns: false if the command is to stop.
  /// - Throws: `FleetError` for a failure of the cache.
  mutating func process(
    _ question: GeolocateQuestion, ask: (GeolocateQuestion) -> GeolocateOutcome, now: () -> Double,
    waits: (Double) -> Bool
  ) throws(FleetError) -> Bool {
    guard evidence.agrees(with: question) else {
      counts.doubtful += 1
      return true
    }
    if let known = try cache.answer(question.key, of: service) {
      counts.cached += 1
      take(known, of: question)
      return true
    }
    while stopped == nil {
      switch pace.step(at: now()) {
      case .stop(let reason): stopped = reason
      case .wait(let seconds): if waits(seconds) { return false }
      case .ask:
        try cache.count(service, day: day)
        counts.asked += 1
        let outcome = ask(question)
        pace.observe(outcome, at: now())
        if outcome == .interrupted { return false }
        try cache.keep(outcome, of: question.key, service, day: day)
        take(outcome, of: question)
        if case .busy = outcome { continue }
        stopped = stopped ?? pace.ended
        return true
      }
    }
    return true
  }

  private mutating func take(_ outcome: GeolocateOutcome, of question: GeolocateQuestion) {
    switch outcome {
    case .unknown: counts.unknown += 1
    case .busy, .failed, .refused: counts.failed += 1
    case .interrupted: break
    case .answered(let answer):
      counts.answered += 1
      switch evidence.judge(answer, of: question) {
      case .rough:
        counts.rough += 1
        pace.agree()
      case .contradicted:
        counts.contradicted += 1
        pace.contradict()
        stopped = stopped ?? pace.ended
      case .taken(let entries):
        pace.agree()
        for entry in entries { add(entry) }
      }
    }
  }

  private mutating func add(_ entry: MappedBeacon) {
    guard let before = places[entry.beacon] else {
      places[entry.beacon] = entry
      return
    }
    let distance = before.coordinate.distance(to: entry.coordinate)
    if distance > 4 * (before.reach + entry.reach) { disputed.insert(entry.beacon) }
    if entry.reach < before.reach { places[entry.beacon] = entry }
  }

  /// The new entries, sorted by beacon. Beacons in the fleet's own map are omitted; there are no entries from
  /// a distrusted service.
  var found: [FleetBeacon] {
    guard !pace.isDistrusted else { return [] }
    return places.values.filter { !disputed.contains($0.beacon) && !evidence.isKnown($0.beacon) }
      .sorted { $0.beacon < $1.beacon }
      .map { FleetBeacon(place: $0, vehicles: 0, service: service) }
  }

  /// Returns a summary of the run.
  /// - Parameter entries: the number of entries added to the map.
  func summary(_ entries: Int) -> String {
    var text = "\(counts.asked) queries to \(service), \(counts.cached) answers from the cache"
    text += "; \(entries) beacons from the answers, with the lowest weight"
    let others: [(Int, String)] = [
      (counts.unknown, "unknown to the service"), (counts.rough, "answers too rough"),
      (counts.contradicted, "answers rejected because they contradict the vehicles' observations"),
      (counts.failed, "attempts without an answer"),
      (counts.doubtful, "scans not sent because the map contradicts their position"),
    ]
    for (count, what) in others where count > 0 { text += ", \(count) \(what)" }
    if let stopped { text += "; stopped: \(stopped)" }
    return text
  }
}
