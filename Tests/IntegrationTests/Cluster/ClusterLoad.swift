import MQTT
import TestSupport

/// A simulated fleet on several connections, distributed over the nodes of a cluster.
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

  /// Permits `count` further messages, distributed over the connections in turn.
  func publish(_ count: Int) {
    let (share, rest) = count.quotientAndRemainder(dividingBy: parts.count)
    for index in parts.indices {
      let isFurther = (index + parts.count - turn) % parts.count < rest
      if share > 0 || isFurther { parts[index].publish(share + (isFurther ? 1 : 0)) }
    }
    turn = (turn + rest) % parts.count
  }

  /// Number of messages that the cluster has accepted or that are being sent.
  var published: Int { parts.reduce(0) { $0 + $1.published } }

  var isSettled: Bool { parts.allSatisfy(\.isSettled) }

  /// Expected result of `FleetLoad.query`, sorted by vehicle.
  var expected: [[String]] { parts.flatMap(\.expected).sorted { $0[0] < $1[0] } }

  /// Configuration of member `simulator`, which the cluster's access list must contain.
  /// - Parameter first: Index of the node to which it connects first.
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
