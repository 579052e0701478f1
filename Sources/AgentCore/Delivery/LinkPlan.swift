package import MQTT
internal import Spatial

/// Which link to the broker a vehicle wants while it moves and while it rests. Pure.
package struct LinkPlan: Sendable {
  package struct Choice: Hashable, Sendable {
    package var policy: MQTTLinkPolicy
    /// Seconds.
    package var keepAlive: Int
  }

  /// Seconds of rest before the link follows: a traffic light is no reason to let go of it.
  static let patience = 300.0

  private let moving: Choice
  private let resting: Choice
  private var restingSince: Timestamp?
  private(set) var choice: Choice

  init(_ settings: AgentConfiguration.MQTT) {
    moving = Choice(policy: settings.client.linkPolicy, keepAlive: settings.client.keepAlive)
    resting = settings.resting
    choice = moving
  }

  /// Takes in whether the vehicle rests.
  /// - Returns: the link wanted from now on, if it is another than before.
  mutating func observe(isAtRest: Bool, at timestamp: Timestamp) -> Choice? {
    restingSince = isAtRest ? restingSince ?? timestamp : nil
    let isSettled = restingSince.map { timestamp.seconds(since: $0) >= Self.patience } ?? false
    let wanted = isSettled ? resting : moving
    guard wanted != choice else { return nil }
    choice = wanted
    return wanted
  }
}
