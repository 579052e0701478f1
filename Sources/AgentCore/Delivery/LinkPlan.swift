package import MQTT
internal import Spatial

/// Chooses the link to the broker for a moving and for a resting vehicle. Pure.
package struct LinkPlan: Sendable {
  package struct Choice: Hashable, Sendable {
    package var policy: MQTTLinkPolicy
    /// Keep-alive time in s.
    package var keepAlive: Int
  }

  /// Time of rest in s before the link changes; longer than a stop at a traffic light.
  static let settlingTime = 300.0

  private let moving: Choice
  private let resting: Choice
  private var restingSince: Timestamp?
  private(set) var choice: Choice

  /// True if the vehicle is at rest, however briefly.
  var isAtRest: Bool { restingSince != nil }

  init(_ settings: AgentConfiguration.MQTT) {
    moving = Choice(policy: settings.client.linkPolicy, keepAlive: settings.client.keepAlive)
    resting = settings.resting
    choice = moving
  }

  /// Updates whether the vehicle is at rest.
  /// - Returns: the new choice; nil if it is unchanged.
  mutating func observe(isAtRest: Bool, at timestamp: Timestamp) -> Choice? {
    restingSince = isAtRest ? restingSince ?? timestamp : nil
    let isSettled = restingSince.map { timestamp.seconds(since: $0) >= Self.settlingTime } ?? false
    let wanted = isSettled ? resting : moving
    guard wanted != choice else { return nil }
    choice = wanted
    return wanted
  }
}
