internal import Glibc
public import Platform

/// Tests a broker once, for `check` commands: whether it answers and accepts this client, and the reason if
/// not.
public enum BrokerProbe {
  public enum Finding: Hashable, Sendable {
    /// The broker accepted the client.
    case accepting(MQTTServerProperties)
    /// The broker accepted the client but rejected its message.
    case rejecting(MQTTServerProperties, MQTTReasonCode)
    /// The broker answered and refused the connection.
    case refused(MQTTDisconnection)
    /// No broker answered.
    case unreachable(MQTTDisconnection)
  }

  /// Connects with the configuration's name, credentials and TLS, without its will, waits for the answer and
  /// disconnects. Blocks for at most the connect timeout and the name lookup, so never call it on the
  /// cooperative pool.
  ///
  /// A clean start under the configured client identifier would end a running session of the same name, so
  /// the probe appends `-check` to it.
  /// - Parameters:
  ///   - timeout: timeout in s; nil uses the configuration's.
  ///   - message: test message, published at QoS 1 after the connection was accepted. Brokers of 3.1.1 do not
  ///     report that they dropped it.
  /// - Returns: one result per broker, in the order of the configuration.
  /// - Throws: `OperationError` for an invalid setting.
  public static func run(
    _ configuration: MQTTConfiguration, timeout: Double? = nil, publishing message: MQTTMessage? = nil
  ) throws(OperationError) -> [Finding] {
    var configuration = configuration
    configuration.clientID += "-check"
    configuration.connectTimeout = timeout ?? configuration.connectTimeout
    configuration.cleanStart = true
    configuration.sessionExpiryInterval = 0
    try configuration.validate()
    let wake = try Mailbox().wake
    return configuration.brokers.map { probe($0, configuration, wake, message) }
  }

  private static func probe(
    _ broker: MQTTConfiguration.Broker, _ configuration: MQTTConfiguration, _ wake: EventDescriptor,
    _ message: MQTTMessage?
  ) -> Finding {
    var planner = ConnectionPlanner(
      brokerCount: 1, protocolVersion: configuration.protocolVersion, backoffBase: 1, backoffLimit: 1)
    var generator = SystemRandomNumberGenerator()
    while true {
      let attempt = planner.next(using: &generator)
      let ending: ConnectionPlanner.Ending
      do throws(OperationError) {
        let client = try Client.make(configuration, will: nil, version311: attempt.version311)
        let connection = Connection(client: client, broker: broker, configuration: configuration, wake: wake)
        switch connection.establish(
          onlyIPv4: attempt.onlyIPv4, isTrial: attempt.isTrial, interrupted: { false })
        {
        case .established(let properties):
          let refusal = message.flatMap { publish($0, through: connection, properties) }
          connection.client.disconnect()
          _ = connection.client.loopWrite()
          return refusal.map { .rejecting(properties, $0) } ?? .accepting(properties)
        case .failed(let failure): ending = failure
        case .interrupted: ending = ConnectionPlanner.Ending(cause: .stopped, phase: .connect)
        }
      } catch {
        ending = ConnectionPlanner.Ending(cause: .configuration(error.description), phase: .lookup)
      }
      planner.ended(ending)
      // Continues only if the planner's next attempt follows immediately with another protocol version or
      // address family.
      let next = planner.peek
      if next.wait == 0, next.version311 != attempt.version311 || next.onlyIPv4 != attempt.onlyIPv4 {
        continue
      }
      let end = MQTTDisconnection(broker: broker, phase: ending.phase, cause: ending.cause)
      if case .refused = ending.cause { return .refused(end) }
      return .unreachable(end)
    }
  }

  /// Publishes a message and returns why the broker rejects it; nil if it accepts it.
  private static func publish(
    _ message: MQTTMessage, through connection: Connection, _ properties: MQTTServerProperties
  ) -> MQTTReasonCode? {
    if let limit = properties.maximumPacketSize, message.packetSize > Int(limit) { return .packetTooLarge }
    if message.qos > properties.maximumQoS { return .qosNotSupported }
    let deadline = MonotonicTime.after(connection.configuration.connectTimeout)
    let packet = connection.client.publish(message).packet
    while !deadline.hasPassed, connection.client.socket >= 0 {
      _ = connection.client.loopWrite()
      let outcome = connection.client.loopRead()
      let events = connection.client.events
      if let answer = events.published.first(where: { $0.packet == packet }) {
        return answer.reason.isError ? answer.reason : nil
      }
      if let reason = events.serverDisconnect { return reason }
      guard outcome.isSuccess, connection.client.packets.violation == nil else { return .unspecifiedError }
      _ = connection.wait(for: POLLIN, until: min(deadline, .after(0.1)))
    }
    return .unspecifiedError
  }
}
