internal import Foundation
internal import Glibc
internal import Platform

/// Three broker nodes of one engine, started by the script in `Config/clusters`, with their own certificate authority. They are stopped
/// when the fixture is released.
public final class ClusterFixture: Sendable {
  /// The broker engine; the raw value is the name of its folder in `Config/clusters`.
  public enum Engine: String, Sendable, CaseIterable {
    case rabbitMQ = "rabbitmq"
    case nats
    /// A site with two brokers (nodes 1 and 2), both bridged to a central broker (node 3); no cluster.
    case mosquitto
  }

  /// The addresses of one node. All ports use TLS.
  public struct Node: Sendable {
    /// Number of the node, 1...3.
    public var number: Int
    /// The port of the engine's own protocol (AMQP or NATS); 0 if it has none.
    public var own: Int
    public var mqtt: Int
    /// Host name or address, as in the node's certificate.
    public var host: String
  }

  public let engine: Engine
  /// True if single nodes can be disconnected from the network.
  public let canCut: Bool

  public let directory: TemporaryDirectory
  public let nodes: [Node]
  private let script: String

  private static let kits = ContractScript.repository + "/Config"

  /// True if this process may create a network namespace for each node.
  public static let hasNamespaces: Bool = {
    guard getuid() == 0, ChildProcess.find("ip") != nil else { return false }
    return (try? run("unshare", ["-n", "ip", "link", "add", "type", "bridge"])) != nil
  }()

  /// Issues certificates for the members and starts the nodes. This lasts about 15 s.
  /// - Parameters:
  ///   - isApart: runs each node in its own network namespace, from which it can be disconnected (root only); else on loopback.
  ///   - members: FLEET/VEHICLE, or users of the access list.
  ///   - extra: additional lines of the access list.
  ///   - fleets: mosquitto only: fleets that a site's bridges may access at the centre, in addition to those of the members.
  public init(
    _ engine: Engine = .rabbitMQ, _ members: [String], extra: [String] = [], fleets: [String] = [],
    isApart: Bool = false
  ) throws {
    self.engine = engine
    canCut = isApart
    directory = try TemporaryDirectory()
    script = Self.kits + "/clusters/\(engine.rawValue)/cluster.sh"
    // Addresses reserved for network tests (RFC 2544).
    let network = "198.\(Int.random(in: 18...19)).\(Int.random(in: 0...255))"
    let hosts = ["localhost", "127.0.0.1"] + (isApart ? (1...3).map { "\(network).\($0)" } : [])
    let authority = directory.file("authority")
    func certify(_ words: [String]) throws {
      try Self.run(Self.kits + "/mosquitto/certificates.sh", ["--directory", authority] + words)
    }
    try certify(["authority", "Test"])
    try certify(["broker"] + hosts)
    try certify(["node"] + hosts)
    for member in members + (engine == .mosquitto ? ["bridge-site-1", "bridge-site-2"] : []) {
      let parts = member.split(separator: "/").map(String.init)
      try certify([parts.count == 2 ? "vehicle" : "member"] + parts)
    }
    let list = try String(contentsOfFile: Self.kits + "/mosquitto/odograph.acl", encoding: .utf8)
    let access = try directory.write("access.acl", list + extra.map { $0 + "\n" }.joined())
    let cluster = directory.file("cluster")
    do {
      var environment = ["ACL": access, "FLEETS": fleets.joined(separator: " ")]
      if isApart { environment["NETWORK"] = network }
      try Self.run(script, [cluster, "start", authority] + members, environment: environment)
      nodes = try Self.run(script, [cluster, "ports"]).split(separator: "\n").compactMap { line in
        let words = line.split(separator: " ")
        guard words.count == 4, let number = Int(words[0]), let mqtt = Int(words[2]) else { return nil }
        return Node(
          number: number, own: Int(words[1]) ?? 0, mqtt: mqtt, host: isApart ? String(words[3]) : "localhost")
      }
    } catch {
      _ = try? Self.run(script, [cluster, "stop"])
      throw error
    }
  }

  deinit {
    for node in 1...3 { _ = try? run("kill", "\(node)") }
    _ = try? run("stop")
  }

  /// The path of the authority's certificate, PEM.
  public var authorityFile: String { directory.file("authority/ca.crt") }

  public func certificateFile(of member: String) -> String {
    directory.file("authority/clients/\(member).crt")
  }

  public func keyFile(of member: String) -> String { directory.file("authority/clients/\(member).key") }

  /// Command line options with which `odograph` authenticates as a member.
  public func options(of member: String) -> [String] {
    ["--ca", authorityFile, "--cert", certificateFile(of: member), "--key", keyFile(of: member)]
  }

  /// The value of `--from`: all nodes, in the order of `order(_:)`.
  /// - Parameter first: index of the first node, 0...2.
  public func queueAddress(first: Int = 0) -> String {
    "amqps://" + order(first).map { "\($0.host):\($0.own)" }.joined(separator: ",")
  }

  /// The value of `--broker` for vehicles: all nodes that accept vehicles, in the order of `order(_:)`.
  /// - Parameter first: index of the first node, 0...2.
  public func address(first: Int = 0) -> String {
    "mqtts://" + order(first).map { "\($0.host):\($0.mqtt)" }.joined(separator: ",")
  }

  /// The value of `--broker` for programs of the fleet: the central broker of mosquitto sites, else all nodes.
  /// - Parameter first: index of the first node, 0...2.
  public func fleetAddress(first: Int = 0) -> String {
    guard engine == .mosquitto, let centre = nodes.last else { return address(first: first) }
    return "mqtts://\(centre.host):\(centre.mqtt)"
  }

  /// Returns all nodes that accept vehicles, starting with the given index and wrapping around.
  public func order(_ first: Int) -> [Node] {
    let nodes = engine == .mosquitto ? Array(nodes.dropLast()) : nodes
    return (0..<nodes.count).map { nodes[($0 + first) % nodes.count] }
  }

  /// Runs an action of the script on a node: `kill`, `up`, `pause`, `resume`, `cut`, `join`; for mosquitto also `save`, `line` and `loss`.
  /// - Parameters:
  ///   - node: 1...3.
  ///   - how: further arguments of the action.
  public func act(_ what: String, _ node: Int, _ how: String...) throws {
    try Self.run(script, [directory.file("cluster"), what, "\(node)"] + how)
  }

  /// Grants access to these members only, by the script's `access` command.
  public func access(_ members: [String]) throws {
    try Self.run(
      script, [directory.file("cluster"), "access"] + members,
      environment: ["ACL": directory.file("access.acl")])
  }

  /// Runs another command of certificates.sh, such as `replace NAME`.
  public func certify(_ words: String...) throws {
    try Self.run(
      Self.kits + "/mosquitto/certificates.sh", ["--directory", directory.file("authority")] + words)
  }

  /// Runs `rabbitmqctl` on a node and returns its output.
  public func control(_ node: Int, _ words: String...) throws -> String {
    try Self.run(script, [directory.file("cluster"), "ctl", "\(node)"] + words)
  }

  @discardableResult
  private func run(_ words: String...) throws -> String {
    try Self.run(script, [directory.file("cluster")] + words)
  }

  @discardableResult
  private static func run(
    _ program: String, _ arguments: [String], environment: [String: String] = [:]
  ) throws -> String {
    let child = try ChildProcess(program, arguments, environment: environment)
    guard child.waitForExit() == 0 else {
      throw CommandFailure(command: ([program] + arguments).joined(separator: " "), output: child.output)
    }
    return child.output
  }
}
