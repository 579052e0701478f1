/// An observer of all messages that change a vehicle's state. It also observes a state that was restored from a
/// recording, once, when the broker repeats it.
///
/// Methods are called on the connection's thread, and block the connection. They must return quickly, and
/// leave longer work to another thread.
package protocol FleetObserver: Sendable {
  /// Observes a message.
  /// - Parameters:
  ///   - message: the decoded message.
  ///   - isRetained: true if the broker sent the message as a retained one.
  ///   - vehicle: the vehicle's state, to which the message was already applied.
  ///   - moment: the time of arrival.
  func observe(_ message: FleetMessage, isRetained: Bool, of vehicle: VehicleRecord, at moment: Moment)
  /// Observes the removal of a vehicle, whose state was deleted. A later message creates the vehicle again.
  func observe(removalOf key: VehicleKey, at moment: Moment)
  /// Observes a change of the connection, also on the connection's thread.
  func observe(_ connection: FleetConnection)
}

extension FleetObserver {
  package func observe(removalOf key: VehicleKey, at moment: Moment) {}
  package func observe(_ connection: FleetConnection) {}
}
