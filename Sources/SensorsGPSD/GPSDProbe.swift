internal import Platform

/// What a gpsd says of itself, for checks and lists.
public struct GPSDProbe: Hashable, Sendable {
  public var address: GPSDAddress
  public var version: GPSDVersion
  /// The receivers that it knows. gpsd opens them only for watchers: an inactive one may well be sound.
  public var devices: [GPSDDevice]

  /// Asks a gpsd for its version and devices. No receiver is woken by that.
  /// - Parameter timeLimit: after which to give up; looking up a host's name may take longer.
  /// - Throws: `GPSDError` when it is not reachable or answers nothing that a gpsd would; `SystemError` when the
  ///   process has no file descriptor left.
  public static func run(_ address: GPSDAddress, timeLimit: Duration = .seconds(3)) throws -> GPSDProbe {
    let wake = try EventDescriptor()
    let (seconds, attoseconds) = timeLimit.components
    let limit = Int64(max(0, min(seconds, 3600))) * 1_000_000_000 + attoseconds / 1_000_000_000
    let deadline = SystemClock.monotonic + limit
    var session = try GPSDSession(to: address, decoder: GPSDReportDecoder(), deadline: deadline, wake: wake)
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

/// Why gpsd cannot be asked: what was tried, where, and the cause with its remedy.
public struct GPSDError: Error, Hashable, Sendable, CustomStringConvertible {
  public enum Kind: Hashable, Sendable {
    /// The host's name has no address.
    case unknownHost
    /// Nobody listens there, or nothing answers.
    case unreachable
    /// The connection was closed or failed.
    case connectionLost
    /// What answers is not a gpsd that can be understood.
    case protocolViolation
    /// The caller asked to stop waiting.
    case interrupted
  }

  public var kind: Kind
  /// What was being done, as in "connect to".
  public var operation: String
  /// The address, as in "gpsd://127.0.0.1:2947".
  public var object: String
  /// The cause, and the remedy where there is one.
  public var cause: String

  public var description: String { "\(operation) \(object): \(cause)" }
}
