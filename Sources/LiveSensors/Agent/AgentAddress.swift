/// The socket at which `odographd` provides positions and samples: the key `gpsd_server.socket` of its configuration.
public struct AgentAddress: Hashable, Sendable, CustomStringConvertible {
  /// The path of the socket that the documentation of the agent uses.
  public static let standardPath = "/run/odographd/gpsd.socket"

  /// Path of the socket, at most 107 bytes.
  public var path: String

  public init(path: String = standardPath) { self.path = path }

  public var description: String { "odographd at \(path)" }
}
