internal import Foundation
internal import Glibc
internal import Platform

/// Three real nodes of RabbitMQ on loopback, by the kit's own script, with an authority of their own; ended with the fixture.
public final class ClusterFixture: Sendable {
  /// Where one node listens, on localhost and with TLS only.
  public struct Node: Sendable {
    /// 1...3.
    public var number: Int
    public var amqp: Int
    public var mqtt: Int
  }

  public let directory: TemporaryDirectory
  public let nodes: [Node]
  private let script: String

  private static let kits = ContractScript.repository + "/Config"

  /// Makes certificates for the names, and starts the nodes; takes a quarter of a minute.
  /// - Parameters:
  ///   - members: FLEET/VEHICLE, or users of the kit's access list.
  ///   - extra: further lines of the access list.
  public init(_ members: [String], extra: [String] = []) throws {
    directory = try TemporaryDirectory()
    script = Self.kits + "/clusters/rabbitmq/cluster.sh"
    let authority = directory.file("authority")
    func certify(_ words: [String]) throws {
      try Self.run(Self.kits + "/mosquitto/certificates.sh", ["--directory", authority] + words)
    }
    try certify(["authority", "Test"])
    try certify(["broker", "localhost"])
    for member in members {
      let parts = member.split(separator: "/").map(String.init)
      try certify([parts.count == 2 ? "vehicle" : "member"] + parts)
    }
    let list = try String(contentsOfFile: Self.kits + "/mosquitto/odograph.acl", encoding: .utf8)
    let access = try directory.write("access.acl", list + extra.map { $0 + "\n" }.joined())
    let cluster = directory.file("cluster")
    do {
      try Self.run(script, [cluster, "start", authority] + members, environment: ["ACL": access])
      nodes = try Self.run(script, [cluster, "ports"]).split(separator: "\n").compactMap { line in
        let words = line.split(separator: " ").compactMap { Int($0) }
        return words.count == 3 ? Node(number: words[0], amqp: words[1], mqtt: words[2]) : nil
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
    let order = (0..<nodes.count).map { nodes[($0 + first) % nodes.count] }
    return "amqps://" + order.map { "localhost:\($0.amqp)" }.joined(separator: ",")
  }

  /// Does to a node what the script can: `kill`, `up`, `pause`, `resume`.
  /// - Parameter node: 1...3.
  public func act(_ what: String, _ node: Int) throws { try run(what, "\(node)") }

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
