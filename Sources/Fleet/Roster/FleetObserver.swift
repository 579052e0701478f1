package import MQTT

/// Sees each message that changed what is known of a vehicle, on the connection's thread.
///
/// It looks and returns: while it runs, nothing else comes from the broker. What takes longer belongs on a thread of its own.
package protocol FleetObserver: Sendable {
  /// - Parameters:
  ///   - vehicle: with the message taken in.
  ///   - moment: when it arrived.
  func observe(_ message: MQTTMessage, of vehicle: VehicleRecord, at moment: Moment)
  /// Learns that a vehicle was retired: nothing is known of it any more. Whatever comes of it later makes it known anew.
  func observe(removalOf key: VehicleKey, at moment: Moment)
  /// Learns what becomes of the connection, on its thread too.
  func observe(_ connection: FleetConnection)
}

extension FleetObserver {
  package func observe(removalOf key: VehicleKey, at moment: Moment) {}
  package func observe(_ connection: FleetConnection) {}
}
