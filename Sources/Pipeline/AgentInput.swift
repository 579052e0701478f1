package import Sensors
package import Spatial

/// An input of the agent.
package enum AgentInput: Sendable {
  /// A sensor's measurement, or a change of a source's state.
  case sensor(SensorEvent)
  /// A message from the broker to the vehicle.
  case request(RemoteRequest)
  case link(LinkChange)
  /// A change of the requirements of the programs on this machine that receive positions.
  case localDemand(LocalDemand)
  /// A change of the requirements of the programs on this machine that receive orientation and heading.
  case localMotionDemand(LocalMotionDemand)
  /// A request by a program on this machine for a snapshot of the agent's state.
  case snapshotRequest
  /// A request to reload the configuration file.
  case reload
  /// A warning that power can fail at any moment.
  case powerFailing
  case stop
  /// The deadline that the pipeline requested has passed without another input.
  case tick

  package var isSensor: Bool {
    if case .sensor = self { true } else { false }
  }
}

/// A change of the link to the broker.
package enum LinkChange: Hashable, Sendable {
  /// - Parameter sessionStart: the session's start in civil time, as in the will that the broker stores; nil
  ///   if unknown.
  /// - Parameter isSessionNew: true if the broker had no session of this vehicle. It may have lost its retained
  ///   messages, too.
  case connected(sessionStart: UTCTime?, isSessionNew: Bool = false)
  /// The broker acknowledged the first message of the connection.
  case acknowledged
  case lost(reason: String)
}
