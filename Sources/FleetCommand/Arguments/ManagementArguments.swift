package import Fleet
package import FleetManagement
package import FleetProgram
package import MQTT
internal import Platform

extension VehicleArguments {
  /// Returns the selected vehicles.
  package func targets(_ broker: BrokerArguments, share: Double? = nil) -> VehicleTargets {
    VehicleTargets(root: broker.topicRoot, fleets: broker.fleets(fleet), vehicles: vehicle, share: share)
  }
}

extension VehicleQuestion {
  /// Connects to the broker, and reports each lost connection on standard error.
  ///
  /// - Throws: `FleetError` if the options do not name exactly one vehicle, if the vehicle declines remote
  ///   management, or if the broker is unreachable.
  package convenience init(
    _ broker: BrokerArguments, _ targets: VehicleTargets, command: String
  ) throws(FleetError) {
    try self.init(broker.configuration(), targets, command: command) { reason in
      StandardError.report("\(reason); connecting again")
    }
  }
}

extension PublishLink {
  /// Returns a connection that the broker has accepted.
  /// - Throws: `FleetError` if it is rejected, or if a signal arrives first.
  package static func connected(
    _ configuration: MQTTConfiguration, capacity: Int, _ waiter: CommandWaiter
  ) throws(FleetError) -> PublishLink {
    let isConnected = Locked(false)
    let link = try PublishLink(configuration, capacity: capacity) { change in
      if change == .connected { isConnected.withLock { $0 = true } }
      waiter.observe(change)
    }
    try link.start()
    switch waiter.wait(seconds: nil, until: { isConnected.withLock { $0 } }) {
    case .timedOut: return link
    case .failed(let error): throw error
    case .ended(let status):
      link.stop(drain: 0)
      throw .interrupted(
        signal: status.rawValue - 128, operation: "reach", object: "the broker",
        cause: "interrupted before it answered")
    }
  }
}
