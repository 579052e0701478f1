internal import MQTT
internal import Pipeline
internal import Positioning
internal import VehicleData

/// The maximum error of a consumer that shows the last reported position and does not predict: some metres, and the distance
/// that the vehicle drives in some seconds at its current speed.
///
/// It applies while the vehicle has positions and the network delivers without delay.
struct PlainConsumerBound: Hashable, Sendable {
  var metres: Double
  var seconds: Double

  /// Returns the bound of each format that the agent publishes, by name, in the order of the configuration file; none without
  /// locations.
  static func bounds(of configuration: AgentConfiguration) -> [(format: String, bound: PlainConsumerBound)] {
    guard configuration.pipeline.location.isEnabled else { return [] }
    let bound = PlainConsumerBound(configuration)
    let profiles = configuration.profiles
    return [
      ("native", profiles.isNative), ("owntracks", profiles.ownTracks != nil),
      ("homeassistant", profiles.homeAssistant != nil),
    ].compactMap { $1 ? ($0, bound) : nil }
  }

  /// The bound is the same for all formats: each format publishes every location, so the smallest
  /// displacement limit applies to all.
  private init(_ configuration: AgentConfiguration) {
    let settings = configuration.pipeline.location
    let speed = settings.activity.typicalSpeed
    // Distance in m that the vehicle can move while the receiver sleeps; nil if the receiver is always on.
    let sleep = settings.desiredAccuracy.meters
    let (cell, blur) = Self.blur(configuration.pipeline)
    func fixInterval(within metres: Double?) -> Double {
      metres.map { max(1, Mobility(settings.activity).secondsToStray($0, from: speed, error: 0)) } ?? 1
    }
    switch settings.policy {
    case .distance(let filter):
      metres = filter.map { $0 + (sleep ?? 0) } ?? 0
      seconds = filter == nil ? fixInterval(within: sleep) : 1
      if let timeout = settings.deferral?.timeout {
        seconds += timeout
      } else if let distance = settings.deferral?.distance {
        metres += distance
      }
    case .bounded(let error, _, _) where blur > 0:
      // The centre of another cell is published at the next fix, unless it is within the error bound.
      metres = cell > error ? 0 : error
      seconds = fixInterval(within: sleep)
    case .bounded(let error, let delay, let limits):
      let nearest = limits.min { $0.distance(at: speed) < $1.distance(at: speed) }
      metres = max(error, nearest?.metres ?? 0)
      // Without a displacement limit, a prediction that is still correct is repeated only before its lease
      // ends.
      seconds =
        (nearest?.seconds ?? BoundedReporter.lease + 2 * delay)
        + fixInterval(within: sleep.map { min($0, error) })
    case .significant:
      metres = SignificantChangeMonitor.distance + (sleep ?? 0)
      seconds = SignificantChangeMonitor.interval + 1
    }
    metres += blur
    if case .bursts(_, let interval?) = configuration.mqtt.client.linkPolicy { seconds += interval }
  }

  /// Returns the side in m of the cells to which privacy and reduced accuracy blur positions outside of all zones, and the maximum
  /// distance in m between a position and its published cell's centre; 0 if positions are exact.
  static func blur(_ pipeline: PipelineConfiguration) -> (cell: Double, distance: Double) {
    let policy = pipeline.privacy
    guard pipeline.location.desiredAccuracy == .reduced else {
      return (policy.accuracy ?? 0, policy.displacement)
    }
    return (
      max(policy.accuracy ?? 0, Location.reducedCell), policy.displacement + Location.reducedAccuracy
    )
  }

  /// The bound as text: "within 50 m + 11 s of driving".
  var text: String { "within \(Int(metres.rounded(.up))) m + \(Int(seconds.rounded(.up))) s of driving" }
}
