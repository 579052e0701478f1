extension TopicScheme {
  /// Where settings are wanted, and where is said what became of them.
  public static let configDesired = "config/desired"
  public static let configReported = "config/reported"
  public static let regionsDesired = "regions/desired"
  public static let regionsReported = "regions/reported"
  /// Commands are one level below.
  public static let command = "command"

  /// A topic of the vehicle by its path, as in "config/desired".
  public func topic(path: String) -> String { "\(root)/\(fleet)/\(vehicle)/\(path)" }

  /// Where the answer to a command goes when its sender named no topic, as under MQTT 3.1.1.
  public func responseTopic(command: String) -> String { topic(path: "\(Self.command)/\(command)/response") }
}

extension TopicScheme {
  /// Whether a path below a vehicle is one that it listens to: settings or regions that are wanted of it, or a command, but
  /// not the answer to one. Who publishes it again has a live vehicle obey it.
  public static func isOrder(path: some StringProtocol) -> Bool {
    if path == configDesired || path == regionsDesired { return true }
    let levels = path.split(separator: "/", omittingEmptySubsequences: false)
    return levels.count == 2 && levels[0] == command && !levels[1].isEmpty
  }
}
