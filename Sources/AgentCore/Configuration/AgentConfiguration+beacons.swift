internal import Telemetry

extension AgentConfiguration {
  /// The map of the transmitters around.
  package struct Beacons: Sendable, Hashable {
    /// The file.
    package var path: String
    package var learns: Bool
    /// Beacons at most.
    package var limit: Int
    /// Days after which a silent beacon is removed.
    package var forgetAfter: Int
    /// Publishes scans with good fixes.
    package var shares: Bool
    /// Requests the fleet's map, which reveals the vehicle's position to some 20 km.
    package var receives: Bool
  }
}

extension AgentConfiguration.Beacons {
  init(_ reader: ConfigurationReader) throws(ConfigurationError) {
    path = reader.statePath(else: "beacons.sqlite")
    learns = try reader.flag("beacons.learn")
    limit = try reader.integer("beacons.limit")
    forgetAfter = try reader.integer("beacons.forget_after")
    shares = try reader.flag("beacons.share")
    receives = try reader.flag("beacons.receive")
  }
}
