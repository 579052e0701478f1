internal import Telemetry

extension AgentConfiguration {
  /// The map of the transmitters around.
  package struct Beacons: Sendable, Hashable {
    /// The file.
    package var path: String
    package var learns: Bool
    /// Beacons at most.
    package var limit: Int
    /// Days for which one that is not heard is kept.
    package var forgetAfter: Int
    /// Whether scans beside good fixes leave the vehicle.
    package var shares: Bool
    /// Whether the fleet's map is asked for, and with it told where the vehicle is, to some 20 km.
    package var receives: Bool
  }
}

extension AgentConfiguration.Beacons {
  init(_ reader: ConfigurationReader, beside store: AgentConfiguration.Store) throws(ConfigurationError) {
    path = store.path(beside: "beacons.sqlite")
    learns = try reader.flag("beacons.learn")
    limit = try reader.integer("beacons.limit")
    forgetAfter = try reader.integer("beacons.forget_after")
    shares = try reader.flag("beacons.share")
    receives = try reader.flag("beacons.receive")
  }
}
