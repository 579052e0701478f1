package import Fleet
package import FleetProgram
internal import Platform
internal import Spatial

/// The alert settings of the configuration: the tables `alerts`, `rules`, `webhooks` and `mail`.
package struct AlertSettings: Hashable, Sendable {
  package static let tables = ["alerts", "rules", "webhooks", "mail"]

  /// The path of the alert store, a file with alerts, state and the message queue.
  package var store: String
  package var zone = LocalTime.offset(0)
  /// The time in s for which sending a message is retried before it is given up.
  package var giveUpAfter = 3 * 86_400.0
  /// The time in s for which ended alerts are stored.
  package var keep = 30 * 86_400.0
  /// The time in s for which a message that a receiver rejects because of its content is retried, and blocks
  /// later messages about its vehicles. It leaves time to correct the receiver.
  package var refusalTimeout = 600.0
  package var rules: [AlertRule] = []
  package var receivers: [Receiver] = []

  package init(store: String) { self.store = store }

  /// - Returns: nil for a configuration without rules and receivers, which needs no alert service.
  /// - Throws: `FleetError` with file, line, column and remedy.
  package init?(_ file: SettingsFile) throws(FleetError) {
    let table = try file.table(
      "alerts", keys: ["store", "time_zone", "group", "give_up_after", "keep"])
    self.init(store: "")
    let hooks = try file.tables(in: "webhooks", keys: WebhookReceiver.keys)
    for hook in hooks { receivers.append(try Receiver(webhook: hook)) }
    for mail in try file.tables(in: "mail", keys: MailReceiver.keys) {
      let receiver = try Receiver(mail: mail)
      guard !receivers.contains(where: { $0.name == receiver.name }) else {
        throw mail.wrong("", "there is a webhook of this name; receivers have names of their own")
      }
      receivers.append(receiver)
    }
    let group = try AlertRule.group(table) ?? 10
    for rule in try file.tables(in: "rules", keys: AlertRule.keys) {
      let found = try AlertRule(rule, group: group)
      for name in found.receivers where !receivers.contains(where: { $0.name == name }) {
        let names = receivers.map(\.name).joined(separator: ", ")
        throw rule.wrong(
          "receivers",
          "there is no receiver \"\(name.prefix(80))\"; "
            + (names.isEmpty ? "add [webhooks.NAME] or [mail.NAME]" : "available: \(names)"))
      }
      rules.append(found)
    }
    guard rules.count <= 500 else {
      throw table.wrong("", "\(rules.count) rules exceed the limit of 500")
    }
    if rules.isEmpty && receivers.isEmpty && table.isEmpty { return nil }
    store = try table.stateFile("store") ?? file.stateFile("alerts.sqlite")
    if let name = try table.text("time_zone") {
      guard let zone = LocalTime(parsing: name) else {
        throw table.wrong(
          "time_zone", "\"\(name.prefix(80))\" is no zone here; write one as \"Europe/Berlin\" or \"+01:00\"")
      }
      self.zone = zone
    }
    giveUpAfter = try table.duration("give_up_after") ?? giveUpAfter
    keep = try table.duration("keep") ?? keep
  }

  /// Returns the receivers of the alerts of a rule.
  package func receivers(of rule: AlertRule) -> [Receiver] {
    rule.receivers.isEmpty ? receivers : receivers.filter { rule.receivers.contains($0.name) }
  }
}
