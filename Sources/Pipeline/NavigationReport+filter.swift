internal import Navigation
internal import Spatial
internal import Telemetry

extension NavigationReport {
  /// - Parameter estimate: the current estimate; nil if there is none.
  init(_ state: NavigationState, _ estimate: NavigationEstimate?) {
    switch state {
    case .waiting(let reason): self.init(state: .waiting, reason: reason.remedy)
    case .aligning: self.init(state: .aligning)
    case .aligned: self.init(state: .aligned)
    }
    guard let estimate else { return }
    (positionSource, sinceFix) = (estimate.source, estimate.sinceFix)
    horizontalAccuracy = estimate.radius68
    (heading, headingAccuracy) = (estimate.heading, estimate.headingDeviation)
    mounting = Attitude(quaternion: estimate.mounting).eulerAngles
    mountingAccuracy = max(estimate.mountingDeviation.x, estimate.mountingDeviation.y)
  }
}

extension NavigationState.Reason {
  /// The reason and the remedy for an operator, while navigation waits.
  fileprivate var remedy: String {
    switch self {
    case .noInertialSamples: "no inertial samples yet"
    case .noGyroscope:
      "no gyroscope; attach one, or switch on what reads it: heading.enabled or motion.events"
    case .noAccelerometer: "no accelerometer; attach one"
    case .noFix: "no fix of the receiver yet; check that its antenna sees the sky"
    case .noVelocity: "the receiver reports no speed or course; configure it to send RMC or VTG sentences"
    case .standing:
      "the vehicle has not moved enough yet; drive half a minute with a bend or a change of speed"
    case .contradicted: "the device was turned in the vehicle; drive half a minute, and fix its holder"
    case .walking: "the device is carried by a person"
    case .gap: "inertial samples were missing for too long; look at counters and the load of the machine"
    case .uncertain: "the receiver was silent for too long"
    }
  }
}
