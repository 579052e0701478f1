import AgentCore

extension AgentConfiguration {
  /// Creates the configuration of `key=value` settings.
  init(settings: [String]) throws(ConfigurationError) {
    self = try ConfigurationLayers(file: nil, environment: [:], assignments: settings).configuration()
  }
}
