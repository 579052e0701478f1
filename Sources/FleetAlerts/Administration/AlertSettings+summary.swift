internal import Fleet
package import Spatial
internal import Transfers

extension AlertSettings {
  /// Returns a line for the store, the time zone, each rule and each receiver.
  package func summary(at now: UTCTime) -> [String] {
    let offset = zone.offset(at: now)
    let minutes = abs(offset) / 60
    var lines = [
      "store  \(store)",
      "zone  \(offset < 0 ? "-" : "+")\(Self.two(minutes / 60)):\(Self.two(minutes % 60)) now",
    ]
    for rule in rules {
      var parts = ["rule", rule.name, rule.condition.kind.rawValue, rule.severity.rawValue]
      parts += [rule.condition.limits].compactMap(\.self)
      if rule.duration > 0 { parts.append("for \(Self.seconds(rule.duration))") }
      if let quiet = rule.quiet { parts.append("quiet \(quiet)") }
      parts.append(rule.group > 0 ? "grouped in \(Self.seconds(rule.group))" : "not grouped")
      let names = receivers(of: rule).map(\.name)
      parts.append(names.isEmpty ? "to no receiver" : "to \(names.joined(separator: ", "))")
      lines.append(parts.joined(separator: "  "))
    }
    for receiver in receivers {
      switch receiver.way {
      case .webhook(let hook):
        lines.append(
          "webhook  \(receiver.name)  \(hook.url)  \(hook.secret == nil ? "not signed" : "signed")")
      case .mail(let mail):
        lines.append(
          "mail  \(receiver.name)  \(mail.server.url)  \(mail.recipients.joined(separator: ", "))")
      }
    }
    return lines
  }

  private static func two(_ number: Int) -> String { (number < 10 ? "0" : "") + "\(number)" }

  private static func seconds(_ value: Double) -> String {
    value == value.rounded() ? "\(Int(value)) s" : "\(value) s"
  }
}
