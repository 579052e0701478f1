internal import AMQP
internal import ArgumentParser
internal import Fleet
internal import FleetCommand
internal import FleetStore
internal import MQTT
internal import Platform

/// The options for recording from a queue of a RabbitMQ cluster instead of a broker's topics.
struct QueueArguments: ParsableArguments {
  init() {}

  @Option(
    help: ArgumentHelp(
      "Record from a queue of RabbitMQ instead of by MQTT: amqps://[user@]host[:port][,host…][/vhost], or amqp:// without TLS.",
      valueName: "url"))
  var from: String?

  @Option(
    help: ArgumentHelp(
      "With --from: the queue; a missing one is created. Recorders with the same queue split its messages.",
      valueName: "name"))
  var queue: String?

  @Option(
    help: ArgumentHelp(
      "With --from: the topic exchange that RabbitMQ's MQTT plugin publishes to (default: amq.topic).",
      valueName: "name"))
  var exchange: String?
}

extension Record {
  /// Returns the options with `--from` as the broker, which also prevents the use of a broker from the
  /// profile.
  /// - Throws: `FleetError` for an option that requires `--from`, or cannot be combined with it.
  func settled() throws(FleetError) -> Record {
    guard let from = queues.from else {
      for (value, option) in [(queues.queue, "--queue"), (queues.exchange, "--exchange")] where value != nil {
        throw .usage("use", option, "requires --from amqp://…")
      }
      return self
    }
    let wrong: [(isGiven: Bool, option: String, cause: String)] = [
      (broker.broker != nil, "--broker", "--from already names the source; give one of them"),
      (
        share != nil, "--share",
        "recorders with the same --queue always split its messages; remove the option"
      ),
      (clientID != nil, "--client-id", "it names an MQTT session; use --queue instead"),
      (
        sessionExpiry != nil, "--session-expiry",
        "a queue exists until --forget deletes it; remove the option"
      ),
      (
        quality.qos != 1, "--qos \(quality.qos)",
        "a queue always redelivers messages until they are stored; remove the option"
      ),
    ]
    if let first = wrong.first(where: \.isGiven) { throw .usage("use", first.option, first.cause) }
    var own = self
    own.broker.broker = from
    return own
  }

  /// Returns the configuration of the queue; nil without `--from`.
  /// - Parameter filters: the MQTT topic filters to bind the queue to.
  /// - Throws: `FleetError` with the invalid option and the remedy.
  func queueConfiguration(_ filters: [String]) throws(FleetError) -> AMQPConfiguration? {
    guard let from = queues.from else { return nil }
    guard let queue = queues.queue else {
      throw .usage(
        "record from", "a cluster",
        "no queue is named; add --queue NAME, the same for all recorders that split its messages")
    }
    var configuration: AMQPConfiguration
    do throws(OperationError) {
      let address = try AMQPAddress(parsing: from)
      var patterns: [String] = []
      for filter in filters { patterns.append(try RoutingKey.pattern(for: filter)) }
      configuration = AMQPConfiguration(address: address, queue: queue, patterns: patterns)
    } catch { throw FleetError(error) }
    configuration.exchange = queues.exchange ?? configuration.exchange
    configuration.mostPrefetch = min(2 * commitCount, bufferedMessages, 65_535)
    configuration.mostUnacknowledged = bufferedMessages
    (configuration.tls, configuration.user, configuration.password) = try broker.queueCredentials(
      usesTLS: configuration.address.usesTLS, user: configuration.address.user)
    do throws(OperationError) { try configuration.validate() } catch { throw FleetError(error) }
    return configuration
  }
}

extension FleetError {
  /// Creates the error for a time limit that was over before a node of the cluster accepted the connection.
  static func queueUnanswered(within limit: Double) -> FleetError {
    FleetError(
      operation: "reach", object: "the queue",
      cause: "no answer within \(limit) s; check that the port speaks AMQP 0-9-1, or wait longer",
      kind: .unavailable)
  }
}
