package import Navigation
internal import Positioning
package import Spatial

/// Navigation state that is stored for the next start.
package struct StoredNavigation: Sendable {
  package var calibration: NavigationCalibration
  /// Timestamp of the state by the device's monotonic clock; nil if unknown, or if there is no state.
  package var timestamp: Timestamp?

  package init(calibration: NavigationCalibration, timestamp: Timestamp?) {
    self.calibration = calibration
    self.timestamp = timestamp
  }

  /// True if the vehicle is known to be at rest in the stored state.
  package var isStopped: Bool { calibration.lastState?.isStopped == true }

  /// Returns the state; its position is removed if it is private.
  func shown(_ privacy: PrivacyPolicy, isReduced: Bool) -> StoredNavigation {
    guard timestamp != nil, let place = calibration.lastState?.coordinate else { return self }
    guard isReduced || !privacy.isExact(place) else { return self }
    var hidden = self
    (hidden.calibration.lastState, hidden.timestamp) = (nil, nil)
    return hidden
  }
}

extension VehicleNavigation {
  /// State at the newest scan, to be stored for the next start; nil before the mounting is known.
  var kept: StoredNavigation? {
    guard let newestScan, let calibration else { return nil }
    return StoredNavigation(calibration: calibration, timestamp: newestScan)
  }
}
