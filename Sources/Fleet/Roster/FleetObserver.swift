package import MQTT

/// An observer of each message that changed a vehicle's state. Called on the connection's thread.
///
/// Methods must return quickly: they block the connection. Longer work belongs on a separate thread.
package protocol FleetObserver: Sendable {
  /// Observes a message.
  ///
  /// - Parameters:
  ///   - vehicle: the vehicle's state, including the message.
  ///   - moment: the time of arrival.
  func observe(_ message: MQTTMessage, of vehicle: VehicleRecord, at moment: Moment)
  /// Observes the removal of a vehicle; all its state is deleted. A later message creates it again.
  func observe(removalOf key: VehicleKey, at moment: Moment)
  /// Observes a change of the connection, on the same thread.
  func observe(_ connection: FleetConnection)
}

extension FleetObserver {
  package func observe(removalOf key: VehicleKey, at moment: Moment) {}
  package func observe(_ connection: FleetConnection) {}
}
