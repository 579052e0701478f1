package import Sensors
package import Spatial

/// An input of the agent.
package enum AgentInput: Sendable {
  /// A sensor's measurement, or a change of a source's state.
  case sensor(SensorEvent)
  /// A message to the vehicle.
  case request(RemoteRequest)
  case link(LinkChange)
  /// A request on this machine for a snapshot.
  case snapshotRequest
  /// A request to reload the configuration file.
  case reload
  /// A warning that power may fail at any moment.
  case powerFailing
  case stop
  /// The deadline has passed without another input.
  case tick

  package var isSensor: Bool {
    if case .sensor = self { true } else { false }
  }
}

/// A change of the link to the broker.
package enum LinkChange: Hashable, Sendable {
  /// - Parameter sessionStart: the civil time in the session's will.
  case connected(sessionStart: UTCTime?)
  case lost(reason: String)
}
