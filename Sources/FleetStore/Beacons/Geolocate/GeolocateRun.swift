internal import Fleet
internal import FleetConsole
internal import Positioning
internal import Sensors
internal import Spatial

/// Asks a service for what the fleet's map does not have, and adds to the map what agrees with what vehicles have found.
struct GeolocateRun: ~Copyable {
  struct Counts: Hashable, Sendable {
    /// Over the network, and answered by the cache.
    var asked = 0
    var cached = 0
    /// Of both: places, and places that it does not know.
    var answered = 0
    var unknown = 0
    /// Of places, those that are not used.
    var rough = 0
    var contradicted = 0
    /// Attempts without an answer.
    var failed = 0
    /// Scans that were not asked for, because their place contradicts the map.
    var doubtful = 0
  }

  private let service: String
  private let cache: GeolocateCache
  private let evidence: GeolocateEvidence
  private let day: Int
  private var pace: GeolocatePace
  private var places: [Beacon: MappedBeacon] = [:]
  /// Those that answers put at two places.
  private var disputed: Set<Beacon> = []
  private(set) var counts = Counts()
  /// Why it was not asked for all; nil where it was.
  private(set) var stopped: String?
  /// Why it is not to be asked again before somebody has looked; nil where only the day's questions were over.
  var fault: String? { pace.ended }

  /// - Parameters:
  ///   - service: what the map says of where its entries come from.
  ///   - map: the fleet's own.
  ///   - day: today, days since 1970.
  init(
    service: String, cache: consuming GeolocateCache, map: [FleetBeacon], limits: GeolocatePace.Limits,
    day: Int
  ) throws(FleetError) {
    pace = GeolocatePace(limits, asked: try cache.asked(service, day: day))
    (self.service, self.day) = (service, day)
    self.cache = cache
    evidence = GeolocateEvidence(map)
  }

  /// Whether the map lacks a beacon that nothing was answered for yet.
  func isUnknown(_ beacon: Beacon) -> Bool { !evidence.isKnown(beacon) && places[beacon] == nil }

  /// Asks one question, or finds its answer in the cache.
  /// - Parameters:
  ///   - ask: by the network.
  ///   - now: seconds of a clock that does not go back.
  ///   - waits: waits so many seconds; returns whether the command is to end.
  /// - Returns: whether the command goes on.
  /// - Throws: `FleetError` for a cache that fails.
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

  /// What it gives, in the order of identities: nothing of a service that contradicts what is known too often, and nothing that the
  /// fleet knows itself.
  var found: [FleetBeacon] {
    guard !pace.isDistrusted else { return [] }
    return places.values.filter { !disputed.contains($0.beacon) && !evidence.isKnown($0.beacon) }
      .sorted { $0.beacon < $1.beacon }
      .map { FleetBeacon(place: $0, vehicles: 0, service: service) }
  }

  /// A sentence on what became of it.
  func summary(_ entries: Int) -> String {
    var text = "asked \(service) \(counts.asked) questions, \(counts.cached) were answered before"
    text += "; \(entries) transmitters of it, with the least weight"
    let others: [(Int, String)] = [
      (counts.unknown, "places it does not know"), (counts.rough, "answers too rough"),
      (counts.contradicted, "answers refused that contradict what vehicles have found"),
      (counts.failed, "attempts without an answer"),
      (counts.doubtful, "scans not asked for whose place the map contradicts"),
    ]
    for (count, what) in others where count > 0 { text += ", \(count) \(what)" }
    if let stopped { text += "; stopped: \(stopped)" }
    return text
  }
}
