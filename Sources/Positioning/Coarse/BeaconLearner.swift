internal import Glibc
public import Sensors
public import Spatial

/// Learns from scans beside good fixes where transmitters stand.
///
/// The place of a transmitter is the mean of the places where it was heard, each with the inverse of its variance as its weight:
/// a strong signal says that it is near. Its reach is how far from there it was heard. The newest sightings count as much as all
/// before some dozens of them, and what is half a year older counts half, so that a place follows the transmitter.
///
/// - Who is heard farther from there than any transmitter reaches was carried off. Heard a few times in succession at one other
///   place, it has moved for good, and all before is forgotten; heard at ever other places, it travels, and no map tells it.
/// - One that travels is believed again when nothing else was seen of it for weeks than one place.
/// - Beacons that moved together, as those of an office do, all say that the receiver is wrong, which is also what they say of one that is
///   deceived. What is heard beside a fix that they contest counts once a day for each, and on the third day at one place they have moved
///   there. From the second day on no map tells them.
///
/// Pure: what is known goes in, what has changed comes out; who keeps it, and for how long, is not decided here.
public struct BeaconLearner: Sendable {
  /// Sightings at another place from which on the old one is not told any more, and those by which it has moved.
  static let (doubt, moved) = (2, 5)
  /// Days of contested sightings at one place by which it has moved.
  private static let movedDays = 3
  /// Reaches from its place within which a beacon does not contest a fix.
  private static let agreed = 2.0
  /// Moves by which it travels; and the sightings and days at one place that a traveller needs to be believed again.
  private static let (travels, settled) = (2, (sightings: 20, days: 21))
  /// Sightings that count: what is older fades.
  private static let memory = 60.0
  /// Days in which what is known loses half of its weight.
  private static let halfLife = 180.0
  /// Sightings as which the usual reach of its kind counts.
  private static let prior = 3.0
  /// m/s by which a vehicle may have gone on since a transmitter was heard, and the seconds after which it is too long ago.
  private static let speed = 15.0
  /// s: what was heard longer ago was heard elsewhere.
  package static let longestAge = 5.0
  /// Metres at 68 %, of places worth learning at.
  private static let worstAccuracy = 50.0
  /// Per axis, of a radius at 68 %.
  private static let radial68 = 1.510

  /// What one scan beside a good fix changes in what is known of its beacons: nil for a beacon whose entry is to be dropped,
  /// because nothing of it can be true.
  /// - Parameters:
  ///   - scan: of which the 128 strongest sightings are used.
  ///   - place: where it was heard.
  ///   - accuracy: metres at 68 % of that place.
  ///   - day: days since 1970.
  ///   - known: what is known of the scan's beacons, as far as something is.
  ///   - isContested: whether several of them together say that it was not heard there. Then nothing new is learned, and of what is known
  ///     elsewhere only on which days it was heard here.
  /// - Returns: only what has changed; nothing for a place that is not known well enough to learn.
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
      // What is heard elsewhere says nothing of here.
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
    // Who was heard there on contested days is there rather than a little off its old place.
    let isAtOther =
      before.other.map { $0.contestedDays > 0 && $0.coordinate.distance(to: place) < distance } ?? false
    if before.isTravelling || distance > farthest || isAtOther {
      return elsewhere(before, at: place, variance: variance, day: day)
    }
    let age = Double(max(0, day - before.place.lastSeen))
    let frame = LocalFrame(origin: before.place.coordinate)
    let offset = frame.offset(of: place)
    // The weight of what is known, at most that of as many sightings as are remembered.
    let faded = exp2(-age / halfLife) / (before.centreDeviation * before.centreDeviation)
    let old = min(faded, memory / variance)
    let step = offset / (1 + old * variance)
    beacon.centreDeviation = (1 / (old + 1 / variance)).squareRoot()
    let count = min(Double(before.place.sightings), memory) * exp2(-age / halfLife) + prior
    // B. Welford's recurrence, of both axes' mean.
    let spread = (offset * (offset - step)).sum() / 2
    let reach = (before.place.reach * before.place.reach * count + spread) / (count + 1)
    beacon.place.reach = max(technology.leastReach, reach.squareRoot())
    let centre = frame.coordinate(at: step)
    if centre.isValid { beacon.place.coordinate = centre }
    beacon.place.sightings = min(65_535, before.place.sightings + 1)
    beacon.place.lastSeen = max(before.place.lastSeen, day)
    beacon.other = nil
    // On another day, because a phone in a bus is heard a while at each place.
    if day > before.place.lastSeen { beacon.moves = max(0, before.moves - 1) }
    return beacon
  }

  /// Whether a beacon is known where it does not bear out a place. What travels says nothing of one.
  private static func isElsewhere(_ beacon: LearnedBeacon, from place: Coordinate) -> Bool {
    !beacon.isTravelling && beacon.place.coordinate.distance(to: place) > agreed * beacon.place.reach
  }

  /// It was heard with others that contest the place.
  private static func contested(
    _ before: LearnedBeacon, at place: Coordinate, variance: Double, day: Int
  ) -> LearnedBeacon {
    var beacon = before
    guard let other = before.other, isSame(other, place, before.place.beacon.technology) else {
      if let other = before.other, other.contestedDays > 0, other.since == day { return before }
      beacon = elsewhere(before, at: place, variance: variance, day: day)
      // A traveller is believed again by other rules.
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
    _ other: LearnedBeacon.OtherPlace, _ place: Coordinate, _ technology: Beacon.Technology
  ) -> Bool { other.coordinate.distance(to: place) <= technology.farthest }

  /// It was heard where it cannot be heard from where it is known to be.
  private static func elsewhere(
    _ before: LearnedBeacon, at place: Coordinate, variance: Double, day: Int
  ) -> LearnedBeacon {
    var beacon = before
    beacon.place.lastSeen = max(before.place.lastSeen, day)
    guard var other = before.other, isSame(other, place, before.place.beacon.technology) else {
      beacon.other = LearnedBeacon.OtherPlace(coordinate: place, sightings: 1, since: day)
      beacon.moves = min(travels, before.moves + 1)
      beacon.isTravelling = before.isTravelling || beacon.moves >= travels
      return beacon
    }
    let isContested = other.contestedDays > 0
    if isContested {
      // Also when nothing contests it any more, because all that would is not told.
      guard other.since != day else { return before }
      (other.contestedDays, other.since) = (other.contestedDays + 1, day)
    }
    let frame = LocalFrame(origin: other.coordinate)
    other.sightings = min(LearnedBeacon.OtherPlace.mostSightings, other.sightings + 1)
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
    // A move is remembered until it has stayed.
    anew.moves = before.isTravelling ? 0 : before.moves
    return anew
  }
}
