package import Navigation
internal import Positioning
package import Spatial

/// What navigation keeps across restarts.
package struct KeptNavigation: Sendable {
  package var calibration: NavigationCalibration
  /// When its last state was true, on the device's time line; nil where that is not known, or there is none.
  package var timestamp: Timestamp?

  package init(calibration: NavigationCalibration, timestamp: Timestamp?) {
    self.calibration = calibration
    self.timestamp = timestamp
  }

  /// Whether the vehicle is known to stand.
  package var isStopped: Bool { calibration.lastState?.isStopped == true }

  /// Without the place, where that may not be told as it is.
  func shown(_ privacy: PrivacyPolicy, isReduced: Bool) -> KeptNavigation {
    guard let timestamp, let place = calibration.lastState?.coordinate else { return self }
    let shown = privacy.shown(Location(timestamp: timestamp, coordinate: place))
    guard isReduced || shown?.coordinate != place else { return self }
    var hidden = self
    (hidden.calibration.lastState, hidden.timestamp) = (nil, nil)
    return hidden
  }
}

extension VehicleNavigation {
  /// What is worth keeping across restarts, of the newest scan; nil before the mounting is known.
  var kept: KeptNavigation? {
    guard let newestScan, let calibration else { return nil }
    return KeptNavigation(calibration: calibration, timestamp: newestScan)
  }
}
