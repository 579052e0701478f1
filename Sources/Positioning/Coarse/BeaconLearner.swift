internal import Glibc
public import Sensors
public import Spatial

/// Learns positions of transmitters from scans with accurate fixes.
///
/// The position of a transmitter is the mean of the positions where it was heard, weighted by inverse
/// variance; a strong signal implies a small distance. Its reach is the typical distance of these positions.
/// The memory is limited to some dozens of sightings, and the weight of old data halves in half a year, so
/// that a position follows the transmitter.
///
/// - A transmitter heard beyond any possible reach was moved. After several consecutive sightings at one
///   other position it counts as relocated, and earlier data is discarded. If it is heard at ever new
///   positions, the transmitter travels and is not used.
/// - A travelling transmitter is used again after it has been seen at one position only for weeks.
/// - Beacons that were moved together, such as those of an office, contradict the receiver in the same way as
///   beacons around a spoofed receiver. Sightings with a contested fix count once a day for each beacon. From
///   the second day at one position on, these beacons are not used; on the third day they count as relocated.
///
/// Pure: existing entries go in, changed entries come out; storage is the caller's task.
public struct BeaconLearner: Sendable {
  /// Number of consecutive sightings at another position after which the entry is not used (`doubt`), and
  /// after which the beacon counts as relocated (`moved`).
  static let (doubt, moved) = (2, 5)
  /// Number of days with contested sightings at one position, after which the beacon counts as relocated.
  private static let movedDays = 3
  /// Maximum distance between a beacon and a fix, in reaches of the beacon, at which the beacon does not
  /// contradict the fix.
  private static let agreed = 2.0
  /// Number of relocations after which a beacon counts as travelling, and number of sightings and days at one
  /// position after which a travelling beacon is used again.
  private static let (travels, settled) = (2, (sightings: 20, days: 21))
  /// Maximum weight of old data, as an equivalent number of sightings.
  private static let memory = 60.0
  /// Half-life of old data in days.
  private static let halfLife = 180.0
  /// Weight of the typical reach when it is averaged with measured distances, as an equivalent number of
  /// sightings.
  private static let prior = 3.0
  /// Assumed maximum speed of a vehicle in m/s between a sighting and the fix.
  private static let speed = 15.0
  /// Maximum age of a sighting in s.
  package static let longestAge = 5.0
  /// Maximum accuracy radius of a position in m (68 %).
  private static let worstAccuracy = 50.0
  /// Ratio of a 68 % radius to the standard deviation per axis.
  private static let radial68 = 1.510

  /// Returns the changes of beacon entries from a scan with an accurate fix; nil deletes an entry that must
  /// be wrong.
  /// - Parameters:
  ///   - scan: the scan, of which the 128 strongest sightings are used.
  ///   - place: position of the scan.
  ///   - accuracy: accuracy of the position in m (68 %).
  ///   - day: days since 1970.
  ///   - known: existing entries of the scan's beacons.
  ///   - isContested: true if several beacons together contradict the position. Then no beacon is added; of
  ///     beacons with another position, only the days of sightings here are counted.
  /// - Returns: changed entries only; empty if the position is not accurate enough.
  public static func learn(
    _ scan: RadioScan, at place: Coordinate, accuracy: Double, day: Int, known: [Beacon: LearnedBeacon],
    isContested: Bool = false
  ) -> [Beacon: LearnedBeacon?] {
    guard place.isValid, accuracy > 0, accuracy <= worstAccuracy, (0...65_535).contains(day) else {
      return [:]
    }
    var changes: [Beacon: LearnedBeacon?] = [:]
    for sighting in scan.useful where sighting.age <= longestAge {
      let technology = sighting.beacon.technology
      let near = technology.usualReach * PathLoss.ratio(sighting)
      let error = accuracy / radial68
      let way = speed * sighting.age
      let variance = near * near + error * error + way * way
      guard let before = known[sighting.beacon] else {
        if isContested { continue }
        var anew = fresh(sighting.beacon, at: place, variance: variance, day: day)
        anew.place.strongest = sighting.soundSignal
        changes[sighting.beacon] = anew
        continue
      }
      guard before.place.isSound, before.place.beacon == sighting.beacon else {
        changes.updateValue(nil, forKey: sighting.beacon)
        continue
      }
      var after: LearnedBeacon
      if isContested {
        guard isElsewhere(before, from: place) else { continue }
        after = contested(before, at: place, variance: variance, day: day)
        if after == before { continue }
      } else {
        after = learned(before, at: place, variance: variance, day: day)
      }
      // Only a signal that was received at the entry's own position can become the entry's strongest signal.
      if after.other == nil {
        after.place.strongest = [after.place.strongest, sighting.soundSignal].compactMap(\.self).max()
      }
      changes[sighting.beacon] = after
    }
    return changes
  }

  private static func fresh(
    _ beacon: Beacon, at place: Coordinate, variance: Double, day: Int
  ) -> LearnedBeacon {
    LearnedBeacon(
      place: MappedBeacon(
        beacon: beacon, coordinate: place, reach: beacon.technology.usualReach, sightings: 1, lastSeen: day),
      centreDeviation: variance.squareRoot())
  }

  private static func learned(
    _ before: LearnedBeacon, at place: Coordinate, variance: Double, day: Int
  ) -> LearnedBeacon {
    var beacon = before
    let technology = before.place.beacon.technology
    let farthest = min(technology.farthest, max(5 * before.place.reach, technology.farthest / 2))
    let distance = before.place.coordinate.distance(to: place)
    // If this position is closer to that of earlier contested sightings than to the entry's position, the
    // sighting belongs to the former.
    let isAtOtherPosition =
      before.other.map { $0.contestedDays > 0 && $0.coordinate.distance(to: place) < distance } ?? false
    if before.isTravelling || distance > farthest || isAtOtherPosition {
      return elsewhere(before, at: place, variance: variance, day: day)
    }
    let age = Double(max(0, day - before.place.lastSeen))
    let frame = LocalFrame(origin: before.place.coordinate)
    let offset = frame.offset(of: place)
    // Weight of the existing entry, limited to that of `memory` sightings.
    let faded = exp2(-age / halfLife) / (before.centreDeviation * before.centreDeviation)
    let old = min(faded, memory / variance)
    let step = offset / (1 + old * variance)
    beacon.centreDeviation = (1 / (old + 1 / variance)).squareRoot()
    let count = min(Double(before.place.sightings), memory) * exp2(-age / halfLife) + prior
    // The recurrence for the variance of a mean (B. Welford), averaged over both axes.
    let spread = (offset * (offset - step)).sum() / 2
    let reach = (before.place.reach * before.place.reach * count + spread) / (count + 1)
    beacon.place.reach = max(technology.leastReach, reach.squareRoot())
    let centre = frame.coordinate(at: step)
    if centre.isValid { beacon.place.coordinate = centre }
    beacon.place.sightings = min(65_535, before.place.sightings + 1)
    beacon.place.lastSeen = max(before.place.lastSeen, day)
    beacon.other = nil
    // The number of relocations decreases once per day, not per sighting, because a phone in a bus is heard
    // several times at each position.
    if day > before.place.lastSeen { beacon.moves = max(0, before.moves - 1) }
    return beacon
  }

  /// Returns whether an entry contradicts a position. Travelling beacons contradict no position.
  private static func isElsewhere(_ beacon: LearnedBeacon, from place: Coordinate) -> Bool {
    !beacon.isTravelling && beacon.place.coordinate.distance(to: place) > agreed * beacon.place.reach
  }

  /// Updates an entry after a scan in which several beacons contradict the position.
  private static func contested(
    _ before: LearnedBeacon, at place: Coordinate, variance: Double, day: Int
  ) -> LearnedBeacon {
    var beacon = before
    guard let other = before.other, isSame(other, place, before.place.beacon.technology) else {
      if let other = before.other, other.contestedDays > 0, other.since == day { return before }
      beacon = elsewhere(before, at: place, variance: variance, day: day)
      // A travelling beacon is used again after the sightings and days of `settled`, not after contested
      // days.
      if !beacon.isTravelling { beacon.other?.contestedDays = 1 }
      return beacon
    }
    if other.contestedDays == 0 {
      beacon.other?.contestedDays = 1
      beacon.other?.since = day
      return beacon
    }
    return elsewhere(before, at: place, variance: variance, day: day)
  }

  private static func isSame(
    _ other: LearnedBeacon.OtherPosition, _ place: Coordinate, _ technology: Beacon.Technology
  ) -> Bool { other.coordinate.distance(to: place) <= technology.farthest }

  /// Updates an entry after a sighting at a position that is too far away, or that belongs to another
  /// position of the beacon.
  private static func elsewhere(
    _ before: LearnedBeacon, at place: Coordinate, variance: Double, day: Int
  ) -> LearnedBeacon {
    var beacon = before
    beacon.place.lastSeen = max(before.place.lastSeen, day)
    guard var other = before.other, isSame(other, place, before.place.beacon.technology) else {
      beacon.other = LearnedBeacon.OtherPosition(coordinate: place, sightings: 1, since: day)
      beacon.moves = min(travels, before.moves + 1)
      beacon.isTravelling = before.isTravelling || beacon.moves >= travels
      return beacon
    }
    let isContested = other.contestedDays > 0
    if isContested {
      // Days are counted even if nothing contests the position any more. From the second day on the
      // contradicting entries are not used, so they contest nothing.
      guard other.since != day else { return before }
      (other.contestedDays, other.since) = (other.contestedDays + 1, day)
    }
    let frame = LocalFrame(origin: other.coordinate)
    other.sightings = min(LearnedBeacon.OtherPosition.mostSightings, other.sightings + 1)
    let middle = frame.coordinate(at: frame.offset(of: place) / Double(other.sightings))
    if middle.isValid { other.coordinate = middle }
    beacon.other = other
    let isSettled =
      before.isTravelling
      ? other.sightings >= settled.sightings && day - other.since >= settled.days
      : isContested ? other.contestedDays >= movedDays : other.sightings >= moved
    guard isSettled else { return beacon }
    var anew = fresh(before.place.beacon, at: other.coordinate, variance: variance, day: day)
    anew.place.sightings = other.sightings
    anew.centreDeviation = (variance / Double(other.sightings)).squareRoot()
    // The number of relocations is retained; it decreases with each day of sightings at the new position.
    anew.moves = before.isTravelling ? 0 : before.moves
    return anew
  }
}
