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
