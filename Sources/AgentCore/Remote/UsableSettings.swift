internal import Settings

/// Stored remote settings that can be in effect with the vehicle's own configuration, which may have changed since they
/// were accepted.
struct UsableSettings {
  private(set) var values: [String: ConfigurationKey.Value] = [:]
  /// The other settings, with the reasons.
  private(set) var refused: [RemoteDocument.Refusal] = []
  private(set) var configuration: AgentConfiguration
  private let layers: ConfigurationLayers

  /// - Parameter changeable: keys that may be set.
  /// - Throws: `ConfigurationError` if the configuration is invalid even without remote settings.
  init(
    _ settings: RemoteSettings, changeable: Set<String>, layers: ConfigurationLayers
  ) throws(ConfigurationError) {
    self.layers = layers
    configuration = try Self.configuration([:], layers)
    for (key, value) in settings.values {
      let reason =
        changeable.contains(key)
        ? layers.problem(remote: key, value: value) : RemoteDocument.unlisted
      if let reason {
        refused.append(RemoteDocument.Refusal(key: key, reason: reason))
      } else {
        values[key] = value
      }
    }
    combine()
    refused.sort { $0.key < $1.key }
  }

  /// Removes settings until the others form a valid configuration.
  private mutating func combine() {
    while !values.isEmpty {
      do throws(ConfigurationError) {
        configuration = try Self.configuration(values, layers)
        return
      } catch {
        guard let key = cause(of: error) else { return }
        values[key] = nil
        refused.append(RemoteDocument.Refusal(key: key, reason: error.reason(for: key)))
      }
    }
  }

  /// Returns the setting that causes an error: the one that the error names, or the one without which the error does
  /// not occur.
  private func cause(of error: ConfigurationError) -> String? {
    let keys = values.keys.sorted()
    if let named = keys.first(where: error.isAbout) { return named }
    let remaining = keys.map { problem(without: $0) }
    let index = remaining.firstIndex(of: nil) ?? remaining.firstIndex { $0 != error.problem } ?? 0
    return keys.indices.contains(index) ? keys[index] : nil
  }

  /// Returns the problem that remains without a setting; nil if there is none.
  private func problem(without key: String) -> String? {
    do throws(ConfigurationError) {
      _ = try Self.configuration(values.filter { $0.key != key }, layers)
      return nil
    } catch { return error.problem }
  }

  private static func configuration(
    _ values: [String: ConfigurationKey.Value], _ layers: ConfigurationLayers
  ) throws(ConfigurationError) -> AgentConfiguration {
    let configuration = try layers.configuration(remote: values)
    try RemoteManager.check(configuration)
    return configuration
  }
}

extension ConfigurationError {
  /// Returns whether the error names a key as its cause.
  func isAbout(_ key: String) -> Bool { problem.hasPrefix("key \(key): ") }

  /// Returns the problem, without the key if it names that key.
  func reason(for key: String) -> String {
    isAbout(key) ? String(problem.dropFirst("key \(key): ".count)) : problem
  }
}
