internal import Glibc
internal import Spatial
internal import VehicleData

/// The evaluation of one region for the step from one fix to the next.
struct RegionEvaluation {
  let region: WatchedRegion
  let step: RegionStep
  /// Time of the monitor's first fix.
  let first: Timestamp
  private(set) var state: WatchState
  private(set) var track: RegionTrack
  private var isInside = false
  private var hasChanged = false
  /// Civil time of the change; nil if unknown.
  private(set) var changeTime: UTCTime?

  init(region: WatchedRegion, step: RegionStep, first: Timestamp, state: WatchState, track: RegionTrack) {
    (self.region, self.step, self.first, self.state, self.track) = (region, step, first, state, track)
  }

  /// Required evidence (see `RegionEvidence`) for a change of state in motion: 99 % from one fix.
  private static let evidenceInMotion = 2.0
  /// Required evidence for the first decision about a region, and for changes while the agent was not
  /// running: 99.9 %.
  private static let evidenceAtFirst = 3.0
  /// Required evidence at rest, where a change is improbable: seven standard deviations, or several
  /// independent fixes. Simulated days of white or slow noise at the boundary cause no second change.
  private static let evidenceAtRest = 12.0
  /// Minimum evidence of a single fix: at rest 3, that is 99.9 %; in motion 1, that is 90 %.
  private static let leastEvidenceAtRest = 3.0

  /// True if the vehicle is clearly outside of the region again, so that no track is needed.
  var isForgettable: Bool { state == .outside && !isInside && track.evidence.isEmpty }

  /// - Returns: true if the state has changed.
  mutating func run(into events: inout RegionEventList) -> Bool {
    let area = region.area
    let distance = area.signedDistance(from: step.end.point)
    isInside = distance > 0
    followSide()

    let likelihood =
      abs(distance) < step.reach
      ? area.likelihood(at: step.end.point, deviation: step.end.deviation)
      : (isInside ? .certain : .impossible)
    let target = targetState(likelihood)
    if state == .unknown, let last = track.target, last != target {
      track.evidence = RegionEvidence()
    }
    track.target = target
    let needed = evidenceNeeded
    let sum = track.evidence.add(
      doubt: target == .inside ? likelihood.isFalse : likelihood.isTrue,
      least: needed == Self.evidenceAtRest ? Self.leastEvidenceAtRest : 1, position: step.end.position,
      accuracy: step.end.accuracy)
    if sum >= needed {
      change(to: target, confidence: 1 - pow(10, -min(sum, 12)), into: &events)
    } else if state == .outside, track.evidence.isEmpty, !isInside, distance > -step.length {
      reportPassage(into: &events)
    }
    let isSure = isInside && state == .inside && distance > step.reach
    track.clearance =
      isSure ? RegionTrack.Clearance(position: step.end.position, metres: distance) : nil
    return hasChanged
  }

  /// Updates the side of the boundary on which the fix lies, regardless of its error.
  private mutating func followSide() {
    let state = state
    let isFirst = track.isInside == nil && state != .outside
    if state == .outsideRestored || (track.isRestored && isFirst) {
      track.isLate = isInside != (state == .inside)
      track.isRestored = true
    }
    if state.isOutside { self.state = .outside }
    if isFirst {
      if isInside, state == .inside, track.since == nil { resumeStay() }
    } else if isInside != (track.isInside ?? false) {
      let fraction = step.start.flatMap {
        region.area.crossings(from: $0.point, to: step.end.point).last
      }
      track.crossing = fraction.map { step.crossing(at: $0) }
      track.isLate = false
    }
    track.isInside = isInside
  }

  /// Continues a dwell that started before a restart, by the civil time of entry. Without civil time, the
  /// dwell starts again.
  private mutating func resumeStay() {
    guard let began = track.sinceTime, let now = step.end.time, began <= now else {
      track.since = step.end.timestamp
      return
    }
    track.since = step.end.timestamp.advanced(bySeconds: -now.seconds(since: began))
  }

  private func targetState(_ likelihood: Likelihood) -> WatchState {
    switch state {
    case .inside: .outside
    case .unknown: likelihood.isTrue >= 0.5 ? .inside : .outside
    default: .inside
    }
  }

  private var evidenceNeeded: Double {
    if state == .unknown || track.isLate { return Self.evidenceAtFirst }
    return step.isMoving ? Self.evidenceInMotion : Self.evidenceAtRest
  }

  private mutating func change(
    to target: WatchState, confidence: Double, into events: inout RegionEventList
  ) {
    let crossing = track.crossing ?? step.arrival
    let isFirst = state == .unknown
    if !isFirst, target == .outside, !track.isLate, !track.hasDwelt, let due = region.dwellEnd(track),
      due <= crossing.timestamp
    {
      // If the vehicle crossed the boundary in an earlier step, it was near the crossing.
      let left = track.crossing.flatMap { crossing in
        step.start.flatMap { due < $0.timestamp ? crossing.dated(due) : nil }
      }
      let place = left ?? step.position(at: due)
      events.append(region.stay(at: place, track, first: first, confidence: confidence), isPassage: true)
    }
    if !isFirst {
      report(target == .inside ? .enter : .exit, crossing, confidence, isPassage: false, into: &events)
    }
    state = target
    let isInside = track.isInside
    track = RegionTrack()
    track.isInside = isInside
    if target == .inside { (track.since, track.sinceTime) = (crossing.timestamp, crossing.time) }
    (hasChanged, changeTime) = (true, crossing.time)
  }

  /// Reports entry and exit between two fixes that are both outside, if the line between them is accurate
  /// enough.
  private mutating func reportPassage(into events: inout RegionEventList) {
    guard step.provesPassage, let start = step.start else { return }
    let area = region.area
    let fractions = area.crossings(from: start.point, to: step.end.point)
    guard fractions.count >= 2 else { return }
    var (first, last) = (fractions[0], fractions[1])
    for index in stride(from: 2, to: fractions.count - 1, by: 2)
    where fractions[index + 1] - fractions[index] > last - first {
      (first, last) = (fractions[index], fractions[index + 1])
    }
    let middle = (first + last) / 2
    let likelihood = Likelihood.ofHalfPlane(
      distance: area.signedDistance(from: step.point(at: middle)), deviation: step.deviation(at: middle))
    guard -log10(likelihood.isFalse) >= Self.evidenceInMotion else { return }
    let (enter, exit) = (step.crossing(at: first), step.crossing(at: last))
    let confidence = likelihood.isTrue
    report(.enter, enter, confidence, isPassage: true, into: &events)
    if let dwell = region.dwell, exit.timestamp.seconds(since: enter.timestamp) >= dwell {
      let place = step.position(at: enter.timestamp.advanced(bySeconds: dwell))
      events.append(region.stay(at: place, track, first: self.first, confidence: confidence), isPassage: true)
    }
    report(.exit, exit, confidence, isPassage: true, into: &events)
    (hasChanged, changeTime) = (true, exit.time)
  }

  private func report(
    _ kind: RegionEvent.Kind, _ crossing: RegionCrossing, _ confidence: Double, isPassage: Bool,
    into events: inout RegionEventList
  ) {
    guard kind == .enter ? region.notifyOnEntry : region.notifyOnExit else { return }
    events.append(
      region.event(kind, at: crossing, isLate: track.isLate, confidence: confidence), isPassage: isPassage)
  }
}

/// A valid region in a form for fast queries.
struct WatchedRegion: Hashable, Sendable {
  let identifier: String
  let area: Area
  /// Time in s inside the region, after which a dwell event is published; nil for never.
  let dwell: Double?
  let notifyOnEntry: Bool
  let notifyOnExit: Bool
  /// Required accuracy in m (68 %); nil for the configured accuracy.
  let desiredAccuracy: Double?
  /// Speed limit in m/s; nil for none.
  let speedLimit: Double?
  let name: String?
  let definedAt: UTCTime?

  init(_ region: Region) throws(RegionError) {
    guard !region.identifier.isEmpty else { throw .emptyIdentifier }
    if let dwell = region.dwell, !(dwell > 0 && dwell.isFinite) { throw .invalidDwell(dwell) }
    if let metres = region.desiredAccuracy, !(metres > 0 && metres.isFinite) {
      throw .invalidAccuracy(metres)
    }
    if let speed = region.speedLimit, !(speed > 0 && speed.isFinite) { throw .invalidSpeedLimit(speed) }
    area = try region.area()
    (desiredAccuracy, speedLimit) = (region.desiredAccuracy, region.speedLimit)
    identifier = region.identifier
    dwell = region.dwell
    notifyOnEntry = region.notifyOnEntry
    notifyOnExit = region.notifyOnExit
    (name, definedAt) = (region.name, region.definedAt)
  }

  /// Returns the time at which a dwell event is due; nil for none.
  func dwellEnd(_ track: RegionTrack) -> Timestamp? {
    guard let since = track.since, let dwell else { return nil }
    return since.advanced(bySeconds: dwell)
  }

  /// Returns the event of a dwell.
  /// - Parameters:
  ///   - end: the end of the dwell time, with the vehicle's position at this time.
  ///   - first: time of the monitor's first fix.
  func stay(
    at end: RegionCrossing, _ track: RegionTrack, first: Timestamp?, confidence: Double
  ) -> RegionEvent {
    let isLate = first.map { track.isRestored && end.timestamp < $0 } ?? false
    return event(.dwell, at: end, isLate: isLate, confidence: confidence)
  }

  func event(
    _ kind: RegionEvent.Kind, at crossing: RegionCrossing, isLate: Bool, confidence: Double
  ) -> RegionEvent {
    var event = RegionEvent(
      kind: kind, identifier: identifier, timestamp: crossing.timestamp, time: crossing.time,
      coordinate: crossing.coordinate, horizontalAccuracy: crossing.statedAccuracy, confidence: confidence,
      isLate: isLate)
    (event.name, event.definedAt) = (name, definedAt)
    return event
  }
}

/// State of a region that is not clearly outside.
struct RegionTrack: Hashable, Sendable {
  /// True if the newest fix lies inside, regardless of its error; nil before the first fix.
  var isInside: Bool?
  /// Last crossing of the boundary by the fixes; nil if none was observed.
  var crossing: RegionCrossing?
  var evidence = RegionEvidence()
  /// The state for which evidence has been collected, while the state is undecided; nil if there is no
  /// evidence.
  var target: WatchState?
  /// True if the state precedes a restart.
  var isRestored = false
  /// True if the first fix after a restart contradicted the state.
  var isLate = false
  /// Time of entry by the monotonic clock; nil if unknown, or if only its civil time is available.
  var since: Timestamp?
  /// Civil time of entry; nil if unknown.
  var sinceTime: UTCTime?
  var hasDwelt = false
  /// A position, and the distance in m from it within which the vehicle is certainly still inside.
  var clearance: Clearance?

  struct Clearance: Hashable, Sendable {
    var position: Vector3
    var metres: Double
  }
}

/// A state with its origin.
enum WatchState: UInt8, Hashable, Sendable {
  case unknown
  case outside
  case inside
  /// Outside of a previous shape of the region; its new shape was not evaluated yet.
  case outsideUnseen
  /// Outside before a restart; no fix has confirmed it since.
  case outsideRestored

  var isOutside: Bool { self != .unknown && self != .inside }
}

/// Evidence for a change of a region's state, summed over independent fixes.
///
/// Each fix that is probably on the other side counts with the decimal logarithm of its odds: 2 for 99 %, 3
/// for 99.9 %. The errors of a receiver at rest are constant for minutes, so fixes that are closer together
/// than their accuracy count as one, with the best value. A single fix with a probability below 90 % resets
/// the sum.
struct RegionEvidence: Hashable, Sendable {
  /// Maximum evidence of a single fix.
  static let largestScore = 12.0
  /// Maximum probability of an error at which a fix does not reset the sum.
  private static let largestDoubt = 0.1

  private var settled = 0.0
  private var newest = 0.0
  private var place: Vector3?

  var isEmpty: Bool { place == nil }

  /// - Parameters:
  ///   - doubt: probability that the fix is not on the other side.
  ///   - least: minimum evidence of a fix.
  ///   - position: earth-centred position of the fix in m.
  ///   - accuracy: accuracy of the fix in m (68 %).
  /// - Returns: the sum; zero if this fix does not count.
  mutating func add(doubt: Double, least: Double, position: Vector3, accuracy: Double) -> Double {
    if doubt > Self.largestDoubt { self = RegionEvidence() }
    let score = min(Self.largestScore, -log10(doubt))
    guard score >= least else { return 0 }
    if let place, (position - place).length < accuracy {
      newest = max(newest, score)
    } else {
      settled += newest
      newest = score
      place = position
    }
    return settled + newest
  }
}
