internal import Telemetry

extension AgentConfiguration {
  /// Settings of the map of radio beacons (access points and cells).
  package struct Beacons: Sendable, Hashable {
    /// Path of the map's file.
    package var path: String
    package var learns: Bool
    /// Maximum number of beacons.
    package var limit: Int
    /// Time in days after which a beacon that was not heard is removed.
    package var forgetAfter: Int
    /// True to publish scans together with accurate fixes.
    package var shares: Bool
    /// True to request the fleet's map, which reveals the vehicle's position to about 20 km.
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
