/// What makes an alert.
package struct AlertRule: Hashable, Sendable {
  /// As in the configuration: `[alerts.NAME]`.
  package var name: String

  package init(name: String) { self.name = name }
}
