package import Navigation
internal import Positioning
package import Spatial

/// Navigation state that is stored across restarts.
package struct StoredNavigation: Sendable {
  package var calibration: NavigationCalibration
  /// Time of the last state on the device's time line; nil if unknown or without a state.
  package var timestamp: Timestamp?

  package init(calibration: NavigationCalibration, timestamp: Timestamp?) {
    self.calibration = calibration
    self.timestamp = timestamp
  }

  /// True if the vehicle is known to be stopped.
  package var isStopped: Bool { calibration.lastState?.isStopped == true }

  /// Returns the state without its position, if that is private.
  func shown(_ privacy: PrivacyPolicy, isReduced: Bool) -> StoredNavigation {
    guard let timestamp, let place = calibration.lastState?.coordinate else { return self }
    let shown = privacy.shown(Location(timestamp: timestamp, coordinate: place))
    guard isReduced || shown?.coordinate != place else { return self }
    var hidden = self
    (hidden.calibration.lastState, hidden.timestamp) = (nil, nil)
    return hidden
  }
}

extension VehicleNavigation {
  /// State at the newest scan to store across restarts; nil before the mounting is known.
  var kept: StoredNavigation? {
    guard let newestScan, let calibration else { return nil }
    return StoredNavigation(calibration: calibration, timestamp: newestScan)
  }
}
