internal import Glibc

/// How a day's messages use the link: connections, bursts of the radio, and how long that stays on.
struct LinkEstimate {
  private struct Phase {
    /// Events a second that put bytes on the link.
    var traffic: Double
    var connections: Double
    var pings: Double
    /// Seconds that the radio is on for each lone event.
    var tail: Double

    /// The share of the time that a radio is on for events at random times, each keeping it on for the tail.
    var onShare: Double { 1 - exp(-traffic * tail) }
    /// How often it comes on, a second.
    var bursts: Double { traffic * exp(-traffic * tail) }
  }

  private let moving, resting: Phase

  /// - Parameters:
  ///   - moving: messages a second by kind, while driving.
  ///   - resting: the same at rest.
  init(_ configuration: AgentConfiguration, moving: [String: Double], resting: [String: Double]) {
    let settings = configuration.mqtt
    let tail = configuration.radioTail
    func standing(_ messages: [String: Double], keepAlive: Int) -> Phase {
      let sent = messages.values.reduce(0, +)
      let pings = max(0, 1 / Double(keepAlive) - sent)
      return Phase(traffic: sent + pings, connections: 0, pings: pings, tail: tail)
    }
    /// Only events open a closed link before its time.
    func bursts(_ messages: [String: Double], interval: Double, linger: Double) -> Phase {
      let opened = 1 / interval + (messages["motion"] ?? 0)
      return Phase(traffic: opened, connections: opened, pings: 0, tail: tail + linger)
    }
    switch settings.link {
    case .always:
      self.moving = standing(moving, keepAlive: settings.keepAlive)
      self.resting = standing(resting, keepAlive: settings.keepAliveAtRest ?? settings.keepAlive)
    case .bursts(let interval, let linger):
      self.moving = bursts(moving, interval: interval, linger: linger)
      self.resting = bursts(resting, interval: interval, linger: linger)
    case .burstsAtRest(let interval, let linger):
      self.moving = standing(moving, keepAlive: settings.keepAlive)
      self.resting = bursts(resting, interval: interval, linger: linger)
    }
  }

  private func sum(_ value: (Phase) -> Double, _ driving: Double, _ still: Double) -> Double {
    value(moving) * driving + value(resting) * still
  }

  /// Seconds that the radio is on.
  func seconds(driving: Double, resting: Double) -> Double { sum(\.onShare, driving, resting) }
  func bursts(driving: Double, resting: Double) -> Double { sum(\.bursts, driving, resting) }
  /// At least one a day.
  func connections(driving: Double, resting: Double) -> Double {
    max(1, sum(\.connections, driving, resting))
  }
  func pings(driving: Double, resting: Double) -> Double { sum(\.pings, driving, resting) }
}
