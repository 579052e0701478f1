internal import Platform

/// Version and devices of a gpsd, for checks and lists.
public struct GPSDProbe: Hashable, Sendable {
  public var address: GPSDAddress
  public var version: GPSDVersion
  /// The receivers. gpsd opens a receiver only while a client watches it, so an inactive receiver may work.
  public var devices: [GPSDDevice]

  /// Requests version and devices from a gpsd. This wakes no receiver.
  /// - Parameter timeLimit: time limit, not including the host name lookup.
  /// - Throws: `GPSDError` if gpsd is unreachable or its answer is invalid; `SystemError` if no file
  ///   descriptor is available.
  public static func run(_ address: GPSDAddress, timeLimit: Duration = .seconds(3)) throws -> GPSDProbe {
    let wake = try EventDescriptor()
    let deadline = MonotonicTime.after(max(0, min(timeLimit / .seconds(1), 3600)))
    var session = try GPSDClientSession(
      to: address, decoder: GPSDReportDecoder(), deadline: deadline, wake: wake)
    try session.requestDevices()
    var version: GPSDVersion?
    while true {
      let outcome = try session.nextReport(deadline: deadline, wake: wake)
      if case .unreadable = outcome { continue }
      guard case .report(let report) = outcome else {
        throw GPSDError(
          kind: .protocolViolation, operation: "ask", object: address.description,
          cause: "no answer within \(timeLimit); is another program using the port?")
      }
      switch report {
      case .version(let value): version = value
      case .devices(let devices):
        guard let version else { continue }
        return GPSDProbe(address: address, version: version, devices: devices)
      default: continue
      }
    }
  }
}

/// Host and port of a gpsd.
public struct GPSDAddress: Hashable, Sendable, CustomStringConvertible {
  /// Default port of gpsd.
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

/// An error of the connection to gpsd: operation, object, and cause with remedy.
public struct GPSDError: Error, Hashable, Sendable, CustomStringConvertible {
  public enum Kind: Hashable, Sendable {
    /// The host's name has no address.
    case unknownHost
    /// The port is closed, or there is no answer.
    case unreachable
    /// The connection was closed or failed.
    case connectionLost
    /// The answer does not follow gpsd's protocol.
    case protocolViolation
    /// The caller cancelled the wait.
    case interrupted
  }

  public var kind: Kind
  /// The failed operation, as in "connect to".
  public var operation: String
  /// The address, as in "gpsd://127.0.0.1:2947".
  public var object: String
  /// The cause, with the remedy if there is one.
  public var cause: String

  public var description: String { "\(operation) \(object): \(cause)" }
}
