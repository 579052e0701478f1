internal import Glibc
internal import Positioning
internal import Sensors
internal import Spatial

/// An evaluation of a service's answers against the fleet's own knowledge. A value type without I/O.
struct GeolocateEvidence {
  enum Judgement: Hashable, Sendable {
    /// Entries for the map, with the lowest weight.
    case taken([MappedBeacon])
    /// A correct answer that is too inaccurate.
    case rough
    /// A wrong position, with the distance in m.
    case contradicted(Double)
  }

  /// The fleet's map.
  private let map: [Beacon: MappedBeacon]
  /// The ratio of a 68 % radius to the standard deviation per axis.
  private static let radial68 = 1.510

  init(_ map: [FleetBeacon]) {
    self.map = Dictionary(map.map { ($0.place.beacon, $0.place) }) { first, _ in first }
  }

  /// Returns whether the map has an own entry of the fleet.
  func isKnown(_ beacon: Beacon) -> Bool { map[beacon] != nil }

  /// Returns whether most of a scan's known beacons are near the vehicle's position, so that invented scans
  /// are not queried.
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
      // The beacon was certainly received at the vehicle's position.
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

  /// The tolerance in m beyond the stated errors of both sides.
  private static let slack = 200.0

  /// Returns the minimum error in m of a scan's position, whatever is stated.
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

  /// Returns the default standard deviation per axis in m.
  private static func usualReach(_ technology: Beacon.Technology) -> Double {
    switch technology {
    case .wifi: 60
    case .gsm: 1500
    case .umts, .lte: 1000
    case .nr: 500
    }
  }
}
