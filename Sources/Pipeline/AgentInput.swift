package import Sensors
package import Spatial

/// Everything that can happen to the agent.
package enum AgentInput: Sendable {
  /// What a sensor measured, or a change of a source's state.
  case sensor(SensorEvent)
  /// A message to the vehicle.
  case request(RemoteRequest)
  case link(LinkChange)
  /// Somebody on this machine asks for a snapshot.
  case snapshotRequest
  /// The configuration file is to be read again.
  case reload
  /// The power may be gone at any moment.
  case powerFailing
  case stop
  /// Time has passed.
  case tick

  package var isSensor: Bool {
    if case .sensor = self { true } else { false }
  }
}

/// A change of the link to the broker.
package enum LinkChange: Hashable, Sendable {
  /// - Parameter sessionStart: the civil time that the session's will carries.
  case connected(sessionStart: UTCTime?)
  case lost(reason: String)
}
