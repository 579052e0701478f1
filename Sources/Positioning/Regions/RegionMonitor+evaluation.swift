internal import Glibc
internal import Spatial

extension RegionMonitor {
  /// Holds one region against a step.
  mutating func evaluate(_ place: Int, _ step: RegionStep, into events: inout RegionEventList) {
    var track = tracks[place] ?? RegionTrack()
    if let clearance = track.clearance, states[place] == .inside, track.evidence.isEmpty,
      (step.end.position - clearance.position).length < clearance.metres - step.reach
    {
      return
    }
    let area = regions[place].area
    let distance = area.signedDistance(from: step.end.point)
    let isInside = distance > 0
    noteSide(isInside, place, step, in: &track)

    let likelihood =
      abs(distance) < step.reach
      ? area.likelihood(at: step.end.point, deviation: step.end.deviation)
      : (isInside ? .certain : .impossible)
    let target = targetState(place, likelihood)
    if states[place] == .unknown, let last = track.target, last != target {
      track.evidence = RegionEvidence()
    }
    track.target = target
    let needed = evidenceNeeded(place, step, track)
    let sum = track.evidence.add(
      doubt: target == .inside ? likelihood.isFalse : likelihood.isTrue,
      least: needed == Self.evidenceAtRest ? Self.leastEvidenceAtRest : 1, position: step.end.position,
      accuracy: step.end.accuracy)
    if sum >= needed {
      change(place, to: target, track: &track, step, confidence: 1 - pow(10, -min(sum, 12)), into: &events)
    } else if states[place] == .outside, track.evidence.isEmpty, !isInside, distance > -step.length {
      tellPassage(place, step, track, into: &events)
    }
    let isSure = isInside && states[place] == .inside && distance > step.reach
    track.clearance =
      isSure ? RegionTrack.Clearance(position: step.end.position, metres: distance) : nil
    // Plainly outside again: nothing to remember.
    tracks[place] = states[place] == .outside && !isInside && track.evidence.isEmpty ? nil : track
  }

  /// Follows the fix itself from one side of the boundary to the other.
  private mutating func noteSide(
    _ isInside: Bool, _ place: Int, _ step: RegionStep, in track: inout RegionTrack
  ) {
    let state = states[place]
    let isFirst = track.isInside == nil && state != .outside
    if state == .outsideRestored || (track.isRestored && isFirst) {
      track.isLate = isInside != (state == .inside)
      track.isRestored = true
    }
    if state.isOutside { states[place] = .outside }
    if isFirst {
      if isInside, state == .inside, track.since == nil { resumeStay(step, in: &track) }
    } else if isInside != (track.isInside ?? false) {
      let fraction = step.start.flatMap {
        regions[place].area.crossings(from: $0.point, to: step.end.point).last
      }
      track.crossing = fraction.map { step.crossing(at: $0) }
      track.isLate = false
    }
    track.isInside = isInside
  }

  /// A stay that began before a restart goes on by civil time, or begins anew where that is not known.
  private func resumeStay(_ step: RegionStep, in track: inout RegionTrack) {
    guard let began = track.sinceTime, let now = step.end.time, began <= now else {
      track.since = step.end.timestamp
      return
    }
    track.since = step.end.timestamp.advanced(bySeconds: -now.seconds(since: began))
  }

  private func targetState(_ place: Int, _ likelihood: Likelihood) -> WatchState {
    switch states[place] {
    case .inside: .outside
    case .unknown: likelihood.isTrue >= 0.5 ? .inside : .outside
    default: .inside
    }
  }

  private func evidenceNeeded(_ place: Int, _ step: RegionStep, _ track: RegionTrack) -> Double {
    if states[place] == .unknown || track.isLate { return Self.evidenceAtFirst }
    return step.isMoving ? Self.evidenceInMotion : Self.evidenceAtRest
  }

  private mutating func change(
    _ place: Int, to target: WatchState, track: inout RegionTrack, _ step: RegionStep, confidence: Double,
    into events: inout RegionEventList
  ) {
    let crossing = track.crossing ?? step.arrival
    let isFirst = states[place] == .unknown
    if !isFirst, target == .outside, !track.isLate, !track.hasDwelt, let due = due(place, track),
      due <= crossing.timestamp
    {
      tell(
        .dwell, place, track, Self.stay(at: due, step.end), confidence: confidence, isPassage: true,
        into: &events)
    }
    if !isFirst {
      tell(target == .inside ? .enter : .exit, place, track, crossing, confidence: confidence, into: &events)
    }
    states[place] = target
    let isInside = track.isInside
    track = RegionTrack()
    track.isInside = isInside
    if target == .inside { (track.since, track.sinceTime) = (crossing.timestamp, crossing.time) }
    revision += 1
  }

  /// In and out again between two fixes, as far as the line between them can be believed.
  private mutating func tellPassage(
    _ place: Int, _ step: RegionStep, _ track: RegionTrack, into events: inout RegionEventList
  ) {
    guard step.isMoving, let start = step.start else { return }
    let area = regions[place].area
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
    tell(.enter, place, track, enter, confidence: confidence, isPassage: true, into: &events)
    if let dwell = regions[place].dwell, exit.timestamp.seconds(since: enter.timestamp) >= dwell {
      let due = enter.timestamp.advanced(bySeconds: dwell)
      tell(
        .dwell, place, track, Self.stay(at: due, step.end), confidence: confidence, isPassage: true,
        into: &events)
    }
    tell(.exit, place, track, exit, confidence: confidence, isPassage: true, into: &events)
  }
}
