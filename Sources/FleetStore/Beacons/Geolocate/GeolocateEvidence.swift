internal import Glibc
internal import Sensors
internal import Spatial

/// A check of a service's answers against the fleet's own map. A value type without I/O.
struct GeolocateEvidence {
  enum Judgement: Hashable, Sendable {
    /// The answer is plausible: entries for the map, with the lowest weight.
    case taken([MappedBeacon])
    /// The answer is plausible, but too inaccurate to be used.
    case rough
    /// The answer contradicts the fleet's data. The value is the distance in m between the answer and the
    /// vehicle's position.
    case contradicted(Double)
  }

  /// The entries of the fleet's own map.
  private let map: [Beacon: MappedBeacon]
  /// The ratio of a 68 % radius to the standard deviation per axis, for a two-dimensional normal
  /// distribution.
  private static let radial68 = 1.510

  init(_ map: [FleetBeacon]) {
    self.map = Dictionary(map.map { ($0.place.beacon, $0.place) }) { first, _ in first }
  }

  /// Returns whether the fleet's own map contains a beacon.
  func isKnown(_ beacon: Beacon) -> Bool { map[beacon] != nil }

  /// Returns whether at least half of a scan's mapped beacons are near the vehicle's position. Other scans
  /// can be invented, and are not sent to the service.
  func agrees(with question: GeolocateQuestion) -> Bool {
    isNear(question.place, error: question.accuracy, question)
  }

  /// Evaluates an answer.
  ///
  /// - Parameter answer: from the service or the cache.
  func judge(_ answer: GeolocateAnswer, of question: GeolocateQuestion) -> Judgement {
    let error = max(answer.accuracy, Self.least(question))
    let distance = answer.coordinate.distance(to: question.place)
    guard distance <= 2 * (error + question.accuracy) + Self.slack else { return .contradicted(distance) }
    guard isNear(answer.coordinate, error: error, question) else { return .contradicted(distance) }
    let entries = question.unknown.sorted().compactMap { beacon -> MappedBeacon? in
      // The beacon is within its range of the vehicle's position, because the vehicle received it there.
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

  /// The additional distance in m by which an answer can differ from the vehicle's position.
  private static let slack = 200.0

  /// Returns the minimum error in m that is assumed for an answer, even if the service states a smaller one.
  private static func least(_ question: GeolocateQuestion) -> Double {
    question.sightings.contains { !$0.beacon.technology.isCell } ? 25 : 300
  }

  /// Returns the error in m above which an answer is useless for a technology.
  private static func roughest(_ technology: Beacon.Technology) -> Double {
    technology.isCell ? farthest(technology) : 500
  }

  /// Returns the maximum range of a beacon in m.
  private static func farthest(_ technology: Beacon.Technology) -> Double {
    switch technology {
    case .wifi: 400
    case .gsm: 35_000
    case .umts, .lte: 20_000
    case .nr: 10_000
    }
  }

  /// Returns the default standard deviation per axis in m of the distance between a beacon and a receiver.
  private static func usualReach(_ technology: Beacon.Technology) -> Double {
    switch technology {
    case .wifi: 60
    case .gsm: 1500
    case .umts, .lte: 1000
    case .nr: 500
    }
  }
}
