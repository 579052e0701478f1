internal import Navigation
internal import Positioning
internal import Sensors
internal import Spatial

/// The part of the pipeline that finds suspect positions: those that inertial navigation, the wheels or radio beacons
/// contradict, and those that the receiver repeats.
struct PositionPlausibility: PipelinePart {
  private var contradiction = PositionContradiction()
  private var repeated = RepeatedPosition()

  mutating func process(_ step: inout VehicleStep, _ context: inout PipelineContext) {
    for speed in step.speeds { contradiction.observe(wheelSpeed: speed.speed, at: speed.timestamp) }
  }

  /// Compares a fix with speed and position by other sensors.
  mutating func process(_ step: inout FixStep, _ context: inout PipelineContext) {
    let (fix, estimate) = (step.timely, step.estimate)
    contradiction.process(fix, estimate)
    repeated.process(
      fix,
      speeds: [
        estimate.map { $0.speed - 3 * $0.velocityDeviation }, contradiction.wheelSpeed(at: fix.timestamp),
        step.fix.speed,
      ], fastest: estimate.map { $0.speed + 3 * $0.velocityDeviation })
    context.isReceiverFrozen = repeated.isFrozen
  }

  /// Adds the suspicion to a position, and to its radius the distance driven since a position that the receiver
  /// repeats.
  mutating func process(_ location: inout Location, _ context: inout PipelineContext) {
    if location.usesReceiver, let distance = repeated.distance {
      location.horizontalAccuracy = location.horizontalAccuracy.map { max($0, distance) }
    }
    location.suspicion = suspicion(against: location, context)
    location.contradictsBeacons = context.beaconContradiction != nil && location.positionSource != .coarse
  }

  /// Returns the contradiction that makes a position suspect; nil if there is none, or if the position does
  /// not use the receiver.
  private func suspicion(against location: Location, _ context: PipelineContext) -> Suspicion? {
    guard location.usesReceiver else { return nil }
    if let own = location.suspicion { return own }
    if location.positionSource == .fused, let received = context.lastSeen?.suspicion { return received }
    if let dispute = contradiction.dispute {
      return Suspicion(dispute.source == .wheels ? .wheels : .navigation, distance: dispute.distance)
    }
    return context.beaconContradiction.map { Suspicion(.beacons, distance: $0) }
  }
}

extension Location {
  /// True if the position depends on the receiver.
  var usesReceiver: Bool {
    switch positionSource {
    case .coarse, .inertial: false
    case .gnss, .fused, nil: true
    }
  }
}
