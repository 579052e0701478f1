import Pipeline
import Positioning
import Spatial
import VehicleData

/// A change of the default settings.
typealias Setting = @Sendable (inout PipelineConfiguration) -> Void

extension PipelineConfiguration {
  /// - Parameter isVirtual: true for recorded or simulated input, in which no receiver is assumed.
  init(_ settings: [Setting], isVirtual: Bool = true) {
    self.init()
    (self.isVirtual, hasReceiver) = (isVirtual, !isVirtual)
    for change in settings { change(&self) }
  }
}

extension PipelineConfiguration.Location {
  /// Selects bounded reporting. A nil value leaves the bound unchanged.
  mutating func setBounds(error: Double? = nil, delay: Double? = nil) {
    if case .bounded = policy {} else { policy = Self().policy }
    guard case .bounded(let oldError, let oldDelay, let limits) = policy else { return }
    policy = .bounded(error: error ?? oldError, delay: delay ?? oldDelay, limits: limits)
  }
}

extension PrivacyPolicy {
  mutating func addZone(
    _ latitude: Double, _ longitude: Double, radius: Double, _ treatment: Treatment = .withhold
  ) {
    let center = Coordinate(latitude: latitude, longitude: longitude)
    if let circle = Circle(center: center, radius: radius) {
      zones.append(Zone(area: .circle(circle), treatment: treatment))
    }
  }
}
