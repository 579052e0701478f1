internal import Platform

/// Tries a broker once, for `check` commands: does it answer, does it let this client in, and if not, why.
public enum BrokerProbe {
  public enum Finding: Hashable, Sendable {
    /// The broker let the client in.
    case accepting(MQTTServerProperties)
    /// The broker answered and said no.
    case refused(MQTTDisconnection)
    /// No broker answered.
    case unreachable(MQTTDisconnection)
  }

  /// Connects with the configuration's name, credentials and TLS, without its will, waits for the answer
  /// and leaves in order. Blocks for at most the connect timeout and the name lookup: not for the
  /// cooperative pool.
  ///
  /// A clean start under the configured client identifier would throw out a running session of the same
  /// name, so the probe appends `-check` to it.
  /// - Parameter timeout: seconds; nil takes the configuration's.
  /// - Returns: one finding per broker, in the order of the configuration.
  /// - Throws: `MQTTError` when a setting is outside its bounds.
  public static func run(
    _ configuration: MQTTConfiguration, timeout: Double? = nil
  ) throws(MQTTError) -> [Finding] {
    var configuration = configuration
    configuration.clientID += "-check"
    configuration.connectTimeout = timeout ?? configuration.connectTimeout
    configuration.cleanStart = true
    configuration.sessionExpiryInterval = 0
    try configuration.validate()
    let wake = try Mailbox().wake
    return configuration.brokers.map { probe($0, configuration, wake) }
  }

  private static func probe(
    _ broker: MQTTConfiguration.Broker, _ configuration: MQTTConfiguration, _ wake: EventDescriptor
  ) -> Finding {
    var planner = ConnectionPlanner(
      brokerCount: 1, protocolVersion: configuration.protocolVersion, backoffBase: 1, backoffLimit: 1)
    var generator = SystemRandomNumberGenerator()
    while true {
      let attempt = planner.next(using: &generator)
      let ending: ConnectionPlanner.Ending
      do throws(MQTTError) {
        let client = try Client.make(configuration, will: nil, version311: attempt.version311)
        let connection = Connection(client: client, broker: broker, configuration: configuration, wake: wake)
        switch connection.establish(onlyIPv4: attempt.onlyIPv4, interrupted: { false }) {
        case .established(let properties):
          connection.client.disconnect()
          _ = connection.client.loopWrite()
          return .accepting(properties)
        case .failed(let failure): ending = failure
        case .interrupted: ending = ConnectionPlanner.Ending(cause: .stopped, phase: .connect)
        }
      } catch {
        ending = ConnectionPlanner.Ending(cause: .configuration(error.description), phase: .lookup)
      }
      planner.ended(ending)
      // Another manner is worth a second try at once; another round is not.
      let next = planner.peek
      if next.wait == 0, next.version311 != attempt.version311 || next.onlyIPv4 != attempt.onlyIPv4 {
        continue
      }
      let end = MQTTDisconnection(broker: broker, phase: ending.phase, cause: ending.cause)
      if case .refused = ending.cause { return .refused(end) }
      return .unreachable(end)
    }
  }
}
