package import Navigation
internal import Positioning

extension AgentPipeline {
  /// State of the odometer to store; nil before the first position. A private position is not stored: after a
  /// restart, the distance from there to the next position is then unknown.
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

  /// Difference in m between the measured distance and the distance with which the odometer would continue
  /// after a restart; nil if no state is stored yet.
  package var odometerRisk: Double? { odometer.risk }

  /// Reports the odometer state that is now stored on disk; nil if the disk is not writable.
  package mutating func observe(odometerKept state: OdometerState?) { odometer.observe(kept: state) }

  /// Sets the odometer to a reading of the vehicle's instrument panel.
  /// - Parameter reading: the reading in m.
  /// - Returns: the previous reading in m as far as privacy permits; nil if it is private, or if there is no
  ///   odometer.
  package mutating func setOdometer(reading: Double) -> Double? { odometer.set(reading: reading) }

  /// True if the pipeline has an odometer, which requires locations to be enabled.
  package var hasOdometer: Bool { odometer.isEnabled }

  /// Number of times that the odometer was set by a command.
  package var odometerSetCount: Int { odometer.setCount }

  /// Relative excess of the measured distance over the distance by the vehicle's own odometer; nil if they
  /// agree.
  package var odometerDisagreement: Double? { odometer.disagreement }
}
