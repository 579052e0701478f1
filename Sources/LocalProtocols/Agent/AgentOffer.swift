internal import JSON
package import Sensors

/// The data that an agent provides to a client, reported after the client's first request and after each change.
package struct AgentOffer: Hashable, Sendable {
  /// The client's access; never `undetermined` in a valid report.
  package var access: PositionAccess
  /// True unless locations are disabled in the agent.
  package var isLocationEnabled: Bool
  /// Inertial sensors and barometer of the agent; empty without exact access.
  package var sensors: Set<SensorKind>

  /// The kinds of sensors whose samples an agent provides to clients.
  package static let sampleKinds: Set<SensorKind> = [
    .accelerometer, .gyroscope, .magnetometer, .barometer,
  ]

  package init(access: PositionAccess, isLocationEnabled: Bool = true, sensors: Set<SensorKind> = []) {
    self.access = access
    self.isLocationEnabled = isLocationEnabled
    self.sensors = access == .exact ? sensors.intersection(Self.sampleKinds) : []
  }

  init?(_ json: JSONValue) {
    guard let access = json["access"]?.string.flatMap(PositionAccess.init) else { return nil }
    self.init(
      access: access, isLocationEnabled: json["location"]?.bool ?? true,
      sensors: Set((json["sensors"]?.array ?? []).compactMap { $0.string.flatMap(SensorKind.init) }))
  }

  func write(to json: inout JSONWriter) {
    json.field("class", AgentRequest.name)
    json.field("access", access.rawValue)
    json.field("location", isLocationEnabled)
    json.field("sensors", texts: sensors.map(\.rawValue).sorted())
  }
}
