package import Navigation
internal import Positioning

extension AgentPipeline {
  /// State of the odometer to store; nil before the first position. A private position is not stored; the
  /// distance from it to the next position is then unknown.
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

  /// Difference in m between the measured distance and the one that a restart would find; nil if nothing is
  /// stored yet.
  package var odometerRisk: Double? { odometer.risk }

  /// Sets the odometer state that is safe on disk; nil if the disk is not writable.
  package mutating func observe(odometerKept state: OdometerState?) { odometer.observe(kept: state) }

  /// Sets the odometer to the reading of the instrument panel, in m.
  /// - Returns: the previous reading as far as privacy permits; nil if it is private or there is no odometer.
  package mutating func setOdometer(reading: Double) -> Double? { odometer.set(reading: reading) }

  /// True if there is an odometer, which requires locations to be enabled.
  package var hasOdometer: Bool { odometer.isEnabled }

  /// Number of times that the odometer was set.
  package var odometerSetCount: Int { odometer.setCount }

  /// Relative excess of the measured distance over the vehicle's own odometer; nil if they agree.
  package var odometerDisagreement: Double? { odometer.disagreement }
}
