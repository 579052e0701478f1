/// The content of a topic below a vehicle.
public enum MessageKind: String, Hashable, Sendable, CaseIterable {
  case status
  case location
  case track
  case heading
  case attitude
  case altitude
  case motion
  case region
  case trip
  case drivingEvent = "driving/event"
  case trace
  case vehicle
  case scan
  case locationEvent = "location/event"
}

/// Topics of one vehicle: `{root}/{fleet}/{vehicle}/{kind}`.
public struct TopicScheme: Hashable, Sendable {
  /// Default root topic, with the contract's version.
  public static let defaultRoot = "odograph/v1"

  public let root: String
  public let fleet: String
  public let vehicle: String

  /// - Throws: `TopicError` for a name that is empty or contains a character with a meaning in MQTT topics.
  public init(root: String = defaultRoot, fleet: String, vehicle: String) throws(TopicError) {
    try TopicError.check(name: fleet, of: "fleet", separatorAllowed: false)
    try TopicError.check(name: vehicle, of: "vehicle", separatorAllowed: false)
    try TopicError.check(name: root, of: "topic root", separatorAllowed: true)
    self.root = root
    self.fleet = fleet
    self.vehicle = vehicle
  }

  public func topic(_ kind: MessageKind) -> String {
    "\(root)/\(fleet)/\(vehicle)/\(kind.rawValue)"
  }

  /// Returns a subscription filter. Nil for fleet, vehicle or kind matches all fleets, vehicles or kinds.
  public static func filter(
    root: String = defaultRoot, fleet: String? = nil, vehicle: String? = nil, kind: MessageKind? = nil
  ) -> String {
    "\(root)/\(fleet ?? "+")/\(vehicle ?? "+")/\(kind?.rawValue ?? "#")"
  }
}

extension TopicScheme {
  /// Topic of requested settings.
  public static let configDesired = "config/desired"
  /// Topic of the report about requested settings.
  public static let configReported = "config/reported"
  /// Topic of requested regions.
  public static let regionsDesired = "regions/desired"
  /// Topic of the report about requested regions.
  public static let regionsReported = "regions/reported"
  /// Topic of the states of regions.
  public static let regionsState = "regions/state"
  /// Topic of requests for parts of the beacon map.
  public static let beaconsWanted = "beacons/wanted"
  /// Topic of the pieces of the beacon map, which the fleet sends in response.
  public static let beaconsPiece = "beacons/piece"
  /// Topic of the pieces of traces.
  public static let tracePiece = "trace/piece"
  /// Topic that contains the topics of all commands.
  public static let command = "command"

  /// Returns a topic of the vehicle by its path, for example "config/desired".
  public func topic(path: String) -> String { "\(root)/\(fleet)/\(vehicle)/\(path)" }

  /// The paths below a vehicle of all messages that the broker retains: those of the vehicle, and the settings and
  /// regions that were requested.
  package static let retainedPaths = VehicleMessage.retainedPaths + [configDesired, regionsDesired]

  /// Returns the default topic of a command's answer. It is used if the request contains no response topic,
  /// as under MQTT 3.1.1.
  public func responseTopic(command: String) -> String { topic(path: Self.responsePath(command: command)) }

  static func responsePath(command: String) -> String { "\(Self.command)/\(command)/response" }

  /// Returns whether a path below a vehicle is the answer to a command.
  static func isResponse(path: String) -> Bool {
    path.hasPrefix(command + "/") && path.hasSuffix("/response")
  }
}

extension TopicScheme {
  /// Returns whether a vehicle subscribes to a path: desired settings or regions, a piece of a map, or a
  /// command (not the answer to one). If another client republishes such a message, a live vehicle executes
  /// it.
  public static func isOrder(path: some StringProtocol) -> Bool {
    if path == configDesired || path == regionsDesired || path == beaconsPiece { return true }
    let levels = path.split(separator: "/", omittingEmptySubsequences: false)
    return levels.count == 2 && levels[0] == command && !levels[1].isEmpty
  }
}

/// Components of a received topic.
public struct TopicAddress: Hashable, Sendable {
  public var fleet: String
  public var vehicle: String
  /// Path below the vehicle, for example "location" or "regions/reported".
  public var path: String
  /// Message kind; nil for a path unknown to this version.
  public var kind: MessageKind? { MessageKind(rawValue: path) }

  /// Parses a topic; nil if the topic is not below the root, or lacks a vehicle or a kind.
  public init?(topic: String, root: String = TopicScheme.defaultRoot) {
    guard topic.hasPrefix(root), topic.utf8.dropFirst(root.utf8.count).first == UInt8(ascii: "/") else {
      return nil
    }
    let rest = topic.dropFirst(root.count + 1)
    let parts = rest.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, parts.allSatisfy({ !$0.isEmpty }) else { return nil }
    fleet = String(parts[0])
    vehicle = String(parts[1])
    path = String(parts[2])
  }
}

/// An error for a name that is not allowed in a topic.
public struct TopicError: Error, Hashable, Sendable, CustomStringConvertible {
  public var description: String

  static func check(name: String, of what: String, separatorAllowed: Bool) throws(TopicError) {
    if name.isEmpty { throw TopicError(description: "the \(what) is empty; give it a name") }
    if name.utf8.count > 256 { throw TopicError(description: "the \(what) is longer than 256 bytes") }
    for scalar in name.unicodeScalars {
      let forbidden =
        scalar == "+" || scalar == "#" || (scalar == "/" && !separatorAllowed) || scalar.value < 0x20
        || scalar.value == 0x7F
      if forbidden {
        let shown = scalar.value < 0x20 || scalar.value == 0x7F ? "a control character" : "\"\(scalar)\""
        throw TopicError(description: "the \(what) must not hold \(shown); MQTT gives it a meaning in topics")
      }
    }
  }
}
