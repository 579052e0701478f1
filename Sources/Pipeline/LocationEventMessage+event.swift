package import Positioning
package import Spatial
package import Telemetry

extension LocationEventMessage {
  /// Creates a message for an event of the manager. Nil for events that are published as a location or a
  /// track, such as the regular end of a deferral.
  package init?(time: UTCTime, event: LocationEvent) {
    switch event {
    case .failed(let failure):
      self.init(
        time: time, event: .failed, error: failure.name, reason: failure.problem, remedy: failure.remedy)
    case .paused: self.init(time: time, event: .paused, reason: "the device stands")
    case .resumed: self.init(time: time, event: .resumed, reason: "the device moves again")
    case .deferredUpdatesFinished(let error?):
      self.init(
        time: time, event: .deferralEnded, error: error.rawValue, reason: error.description,
        remedy: error.remedy)
    case .deferredUpdatesFinished(nil), .location, .significantChange, .batch, .requested: return nil
    }
  }
}
