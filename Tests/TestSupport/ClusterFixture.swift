internal import Foundation
internal import Glibc
internal import Platform

/// Three real nodes of an engine, by its kit's own script, with an authority of their own; ended with the fixture.
public final class ClusterFixture: Sendable {
  /// Its kit's folder.
  public enum Engine: String, Sendable, CaseIterable {
    case rabbitMQ = "rabbitmq"
    case nats
    /// No cluster: a site with two brokers, nodes 1 and 2, and a centre to which both are bridged.
    case mosquitto
  }

  /// Where one node listens, with TLS only.
  public struct Node: Sendable {
    /// 1...3.
    public var number: Int
    /// The port of the engine's own protocol: AMQP, or NATS; 0 where it has none.
    public var own: Int
    public var mqtt: Int
    /// A name or an address, which its certificate has.
    public var host: String
  }

  public let engine: Engine
  /// Whether a node can be cut off.
  public let canCut: Bool

  public let directory: TemporaryDirectory
  public let nodes: [Node]
  private let script: String

  private static let kits = ContractScript.repository + "/Config"

  /// Whether this user may give each node a network of its own.
  public static let hasNamespaces: Bool = {
    guard getuid() == 0, ChildProcess.find("ip") != nil else { return false }
    return (try? run("unshare", ["-n", "ip", "link", "add", "type", "bridge"])) != nil
  }()

  /// Makes certificates for the names, and starts the nodes; takes a quarter of a minute.
  /// - Parameters:
  ///   - isApart: each node in a network of its own, from which it can be cut off: root only. Else on loopback.
  ///   - members: FLEET/VEHICLE, or users of the kit's access list.
  ///   - extra: further lines of the access list.
  ///   - fleets: of mosquitto: of what fleets a site's bridges may speak at the centre, beside those of members.
  public init(
    _ engine: Engine = .rabbitMQ, _ members: [String], extra: [String] = [], fleets: [String] = [],
    isApart: Bool = false
  ) throws {
    self.engine = engine
    canCut = isApart
    directory = try TemporaryDirectory()
    script = Self.kits + "/clusters/\(engine.rawValue)/cluster.sh"
    // Of the addresses that are for tests of networks (RFC 2544).
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

  /// The authority's certificate, PEM.
  public var authorityFile: String { directory.file("authority/ca.crt") }

  public func certificateFile(of member: String) -> String {
    directory.file("authority/clients/\(member).crt")
  }

  public func keyFile(of member: String) -> String { directory.file("authority/clients/\(member).key") }

  /// The options of a command of `odograph` that say who it is.
  public func options(of member: String) -> [String] {
    ["--ca", authorityFile, "--cert", certificateFile(of: member), "--key", keyFile(of: member)]
  }

  /// For `--from`: all nodes, beginning with one.
  /// - Parameter first: 0...2.
  public func queueAddress(first: Int = 0) -> String {
    "amqps://" + order(first).map { "\($0.host):\($0.own)" }.joined(separator: ",")
  }

  /// For `--broker`: all nodes that vehicles speak to, beginning with one.
  /// - Parameter first: 0...2.
  public func address(first: Int = 0) -> String {
    "mqtts://" + order(first).map { "\($0.host):\($0.mqtt)" }.joined(separator: ",")
  }

  /// For `--broker` of the fleet's side: of a site with a centre the centre, else all nodes.
  /// - Parameter first: 0...2.
  public func fleetAddress(first: Int = 0) -> String {
    guard engine == .mosquitto, let centre = nodes.last else { return address(first: first) }
    return "mqtts://\(centre.host):\(centre.mqtt)"
  }

  /// All nodes that vehicles speak to, beginning with one.
  public func order(_ first: Int) -> [Node] {
    let nodes = engine == .mosquitto ? Array(nodes.dropLast()) : nodes
    return (0..<nodes.count).map { nodes[($0 + first) % nodes.count] }
  }

  /// Does to a node what the script can: `kill`, `up`, `pause`, `resume`, `cut`, `join`; with mosquitto also `save`, `line` and
  /// `loss`.
  /// - Parameters:
  ///   - node: 1...3.
  ///   - how: further words.
  public func act(_ what: String, _ node: Int, _ how: String...) throws {
    try Self.run(script, [directory.file("cluster"), what, "\(node)"] + how)
  }

  /// Lets these in and nobody else, as the engine's kit does it.
  public func access(_ members: [String]) throws {
    try Self.run(
      script, [directory.file("cluster"), "access"] + members,
      environment: ["ACL": directory.file("access.acl")])
  }

  /// Another command of certificates.sh, as `replace NAME`.
  public func certify(_ words: String...) throws {
    try Self.run(
      Self.kits + "/mosquitto/certificates.sh", ["--directory", directory.file("authority")] + words)
  }

  /// What `rabbitmqctl` says at a node.
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
