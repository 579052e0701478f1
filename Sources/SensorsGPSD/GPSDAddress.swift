/// Where a gpsd listens.
public struct GPSDAddress: Hashable, Sendable, CustomStringConvertible {
  /// The port that gpsd has by default.
  public static let standardPort: UInt16 = 2947

  /// A name or a numeric address.
  public var host: String
  public var port: UInt16

  public init(host: String = "127.0.0.1", port: UInt16 = standardPort) {
    self.host = host
    self.port = port
  }

  public var description: String {
    host.contains(":") ? "gpsd://[\(host)]:\(port)" : "gpsd://\(host):\(port)"
  }
}
