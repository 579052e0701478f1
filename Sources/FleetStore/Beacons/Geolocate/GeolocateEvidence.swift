internal import Glibc
internal import Positioning
internal import Sensors
internal import Spatial

/// Judges a service's answers by what the fleet knows itself, and says what may be taken from them. A value without I/O.
struct GeolocateEvidence {
  enum Judgement: Hashable, Sendable {
    /// Entries for the map, of the least weight.
    case taken([MappedBeacon])
    /// It is true, and too rough to be of use.
    case rough
    /// It is elsewhere, by so many metres.
    case contradicted(Double)
  }

  /// The fleet's map.
  private let map: [Beacon: MappedBeacon]
  /// Per axis, of a radius at 68 %.
  private static let radial68 = 1.510

  init(_ map: [FleetBeacon]) {
    self.map = Dictionary(map.map { ($0.place.beacon, $0.place) }) { first, _ in first }
  }

  /// Whether the map has an entry of the fleet's own.
  func isKnown(_ beacon: Beacon) -> Bool { map[beacon] != nil }

  /// Whether most of what the map has of a scan's beacons is near the place that its vehicle has told: what a vehicle makes up is not asked for.
  func agrees(with question: GeolocateQuestion) -> Bool {
    isNear(question.place, error: question.accuracy, question)
  }

  /// - Parameter answer: of the service or of the cache.
  func judge(_ answer: GeolocateAnswer, of question: GeolocateQuestion) -> Judgement {
    let error = max(answer.accuracy, Self.least(question))
    let distance = answer.coordinate.distance(to: question.place)
    guard distance <= 2 * (error + question.accuracy) + Self.slack else { return .contradicted(distance) }
    guard isNear(answer.coordinate, error: error, question) else { return .contradicted(distance) }
    let entries = question.unknown.sorted().compactMap { beacon -> MappedBeacon? in
      // It was heard where the vehicle was, for certain.
      guard error <= Self.roughest(beacon.technology), distance <= Self.farthest(beacon.technology) else {
        return nil
      }
      let reach = hypot(Self.usualReach(beacon.technology), error / Self.radial68)
      let entry = MappedBeacon(
        beacon: beacon, coordinate: answer.coordinate,
        reach: min(reach, MappedBeacon.reaches.upperBound), sightings: 1, lastSeen: question.day)
      return entry.isSound ? entry : nil
    }
    return entries.isEmpty ? .rough : .taken(entries)
  }

  private func isNear(_ place: Coordinate, error: Double, _ question: GeolocateQuestion) -> Bool {
    let known = question.sightings.compactMap { map[$0.beacon] }
    let far = known.count { entry in
      entry.coordinate.distance(to: place)
        > 2 * error + max(4 * entry.reach, Self.farthest(entry.beacon.technology))
    }
    return 2 * far <= known.count
  }

  /// Metres by which what is right may be off beside what both sides state.
  private static let slack = 200.0

  /// Metres: no scan says better where it was made, whatever is stated.
  private static func least(_ question: GeolocateQuestion) -> Double {
    question.sightings.contains { !$0.beacon.technology.isCell } ? 25 : 300
  }

  /// Metres: an answer that is rougher says nothing of such a transmitter.
  private static func roughest(_ technology: Beacon.Technology) -> Double {
    technology.isCell ? farthest(technology) : 500
  }

  /// Metres from a transmitter at which it is heard at most.
  private static func farthest(_ technology: Beacon.Technology) -> Double {
    switch technology {
    case .wifi: 400
    case .gsm: 35_000
    case .umts, .lte: 20_000
    case .nr: 10_000
    }
  }

  /// Metres per axis, of a transmitter of which no more is known.
  private static func usualReach(_ technology: Beacon.Technology) -> Double {
    switch technology {
    case .wifi: 60
    case .gsm: 1500
    case .umts, .lte: 1000
    case .nr: 500
    }
  }
}
