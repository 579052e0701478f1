package import MQTT

/// The reason why a consumer is not connected to a node.
package struct AMQPDisconnection: Error, Hashable, Sendable, CustomStringConvertible {
  /// The stage that the attempt had reached.
  package enum Phase: String, Hashable, Sendable {
    case connect = "connection"
    case login
    case declare = "declaration of the queue"
    case bind = "binding of the queue"
    case consume = "subscription to the queue"
    case established
  }

  package enum Cause: Hashable, Sendable {
    /// A network failure such as connection refused or an unknown host, in the library's words.
    case network(String)
    /// An invalid certificate, key or protocol.
    case tls(String)
    /// A timeout.
    case timedOut
    /// The broker closed the channel or the connection: reply code (AMQP 0-9-1, section 1.2) and text.
    case refused(code: Int, text: String)
    /// The broker cancelled the subscription because the queue was deleted.
    case cancelled
    /// Invalid settings, such as a missing file.
    case configuration(String)
  }

  package var node: MQTTConfiguration.Broker
  package var phase: Phase
  package var cause: Cause

  package init(node: MQTTConfiguration.Broker, phase: Phase, cause: Cause) {
    self.node = node
    self.phase = phase
    self.cause = cause
  }

  package var description: String {
    let place = phase == .established ? "connection to \(node)" : "\(phase.rawValue) at \(node)"
    return switch cause {
    case .network(let why): "\(place) \(phase == .established ? "lost" : "failed"): \(why)"
    case .tls(let why) where phase == .established: "\(place) lost: \(why)"
    case .tls(let why): "TLS with \(node) failed: \(why)"
    case .timedOut: "\(place): no answer in time"
    case .refused(let code, let text): "\(place) refused: \(code) \(text)"
    case .cancelled: "\(place): the broker has ended the subscription to the queue"
    case .configuration(let why): "\(place) not tried: \(why)"
    }
  }

  /// The remedy for the operator; nil if waiting is sufficient.
  package var remedy: String? {
    switch cause {
    case .network where phase == .connect:
      "check the host name, that a node listens there for AMQP (5671 with TLS, 5672 without), and the firewall"
    case .network where phase == .login:
      "check that this port speaks AMQP 0-9-1, and whether it requires TLS (amqps://)"
    case .timedOut where phase == .connect: "check the route to the node and the firewall"
    case .timedOut where phase == .login:
      "check that this port speaks AMQP 0-9-1, and whether it requires TLS (amqps://)"
    case .timedOut: "check that most nodes of the cluster run: a quorum queue needs them"
    case .tls where phase != .established:
      "check the CA file, the certificate's dates and names, and this machine's clock"
    case .refused(403, _) where phase == .login:
      "check user and password, or that the name in the certificate is a user there and EXTERNAL is allowed"
    case .refused(403, _): "check the user's permissions for the queue, the exchange and its topics"
    case .refused(404, _): "check the name of the exchange, and that the MQTT plugin uses it (mqtt.exchange)"
    case .refused(405, _), .refused(406, _):
      "a queue of this name exists, but is not a durable quorum queue; choose another --queue, or delete it"
    case .refused(530, _):
      "check the virtual host at the end of the address, and the user's permissions in it"
    case .refused(540, _), .refused(503, _): "quorum queues require RabbitMQ 3.8 or later; upgrade it"
    case .configuration: "change the configuration"
    default: nil
    }
  }
}
