import MQTT
import TestSupport

/// A fleet on several connections, spread over the nodes of a cluster.
final class ClusterLoad {
  private let parts: [FleetLoad]
  private var turn = 0

  init(vehicles: Int, connections: Int) {
    let share = vehicles / connections
    parts = (0..<connections).map { FleetLoad(vehicles: share, first: $0 * share) }
  }

  func start(_ cluster: ClusterFixture) throws {
    for (index, part) in parts.enumerated() {
      try part.start(try Self.configuration(cluster, first: index, name: "odograph-load-\(index)"))
    }
  }

  /// Lets it publish so many more, in turn of connections.
  func publish(_ count: Int) {
    let (share, rest) = count.quotientAndRemainder(dividingBy: parts.count)
    for index in parts.indices {
      let isFurther = (index + parts.count - turn) % parts.count < rest
      if share > 0 || isFurther { parts[index].publish(share + (isFurther ? 1 : 0)) }
    }
    turn = (turn + rest) % parts.count
  }

  /// How many the cluster has taken, or is being sent.
  var published: Int { parts.reduce(0) { $0 + $1.published } }

  var isSettled: Bool { parts.allSatisfy(\.isSettled) }

  /// What `FleetLoad.query` has to give, sorted.
  var expected: [[String]] { parts.flatMap(\.expected).sorted { $0[0] < $1[0] } }

  /// A member `simulator` of a cluster that knows it.
  /// - Parameter first: the node that is tried first.
  static func configuration(
    _ cluster: ClusterFixture, first: Int = 0, name: String = "odograph-load"
  ) throws -> MQTTConfiguration {
    let brokers = cluster.order(first).map { MQTTConfiguration.Broker(host: $0.host, port: $0.mqtt) }
    var configuration = MQTTConfiguration(brokers: brokers, clientID: name)
    if cluster.engine != .mosquitto { configuration.protocolVersion = .v311 }
    configuration.keepAlive = 5
    configuration.connectTimeout = 5
    configuration.backoffLimit = 2
    var tls = MQTTTLS(trust: .file(cluster.authorityFile))
    tls.identity = .init(
      certificateFile: cluster.certificateFile(of: "simulator"), keyFile: cluster.keyFile(of: "simulator"))
    configuration.tls = tls
    return configuration
  }
}
