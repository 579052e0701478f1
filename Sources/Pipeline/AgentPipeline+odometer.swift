package import Navigation
internal import Positioning

extension AgentPipeline {
  /// What to keep of the odometer; nil before the first place. A place that may not be told as it is, is not kept: then the
  /// way from there to the next place is not known.
  package var odometerToKeep: OdometerState? {
    guard var state = odometer.state else { return nil }
    if let place = state.place?.coordinate,
      configuration.location.desiredAccuracy == .reduced
        || configuration.privacy.shown(Location(timestamp: now, coordinate: place))?.coordinate != place
    {
      (state.place, state.velocity) = (nil, nil)
    }
    return state
  }

  /// Metres by which a restart here would find less or more than was measured; nil where nothing is kept yet.
  package var odometerRisk: Double? { odometer.risk }

  /// Learns what of the odometer is safe on the disk; nil where the disk takes nothing.
  package mutating func observe(odometerKept state: OdometerState?) { odometer.observe(kept: state) }

  /// Takes over what the instrument panel shows, in metres.
  /// - Returns: the reading before, as far as others may know it; nil where they may not, and where there is no odometer.
  package mutating func setOdometer(reading: Double) -> Double? { odometer.set(reading: reading) }

  /// Whether there is an odometer: not where locations are switched off.
  package var hasOdometer: Bool { odometer.isEnabled }

  /// How often somebody has set the odometer.
  package var odometerSetCount: Int { odometer.setCount }

  /// By what share more is measured than the vehicle's own odometer says; nil where they agree.
  package var odometerDisagreement: Double? { odometer.disagreement }
}
