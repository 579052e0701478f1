internal import Bytes
internal import Fleet

extension AlertsView {
  /// The maximum number of alerts that have a time series of their own.
  private static let seriesLimit = 10_000

  /// The metrics in Prometheus' text format. Each open alert is a time series, so that Alertmanager can
  /// process alerts, too.
  package var metrics: String {
    var text = ""
    func family(_ name: String, _ type: String, _ help: String, _ lines: [String]) {
      guard !lines.isEmpty else { return }
      text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
      for line in lines { text += "\(name)\(line)\n" }
    }
    func label(_ value: String) -> String {
      "\"" + value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
        + "\""
    }
    let alerts = open.values.sorted { $0.number < $1.number }
    family(
      "odograph_alert_active", "gauge", "1 for each open alert, up to \(Self.seriesLimit) alerts.",
      // The label `id` distinguishes the alerts of one rule and vehicle for different regions and events.
      alerts.prefix(Self.seriesLimit).map { alert in
        "{id=\(label(AlertText.identifier(alert.number, epoch: epoch))),rule=\(label(alert.rule)),severity=\(label(alert.severity.rawValue)),"
          + "fleet=\(label(alert.vehicle.fleet)),vehicle=\(label(alert.vehicle.vehicle))} 1"
      })
    family("odograph_alerts_open", "gauge", "Open alerts.", [" \(open.count)"])
    family(
      "odograph_alerts_total", "counter", "Alerts that began, by rule.",
      counters.begun.sorted { $0.key < $1.key }.map { "{rule=\(label($0.key))} \($0.value)" })
    let receivers = counters.receivers.sorted { $0.key < $1.key }
    let families: [(String, String, String, (ReceiverCounters) -> Int)] = [
      ("messages_taken_total", "counter", "Notifications that a receiver has accepted.", \.taken),
      ("attempts_failed_total", "counter", "Failed attempts to notify a receiver.", \.failed),
      (
        "messages_given_up_total", "counter", "Messages dropped because they were too old or rejected.",
        \.gone
      ),
      ("messages_waiting", "gauge", "Messages that wait for a receiver.", \.waiting),
    ]
    for (name, type, help, value) in families {
      family(
        "odograph_alert_\(name)", type, help,
        receivers.map { "{receiver=\(label($0.key))} \(value($0.value))" })
    }
    family(
      "odograph_alerts_refused_total", "counter",
      "Conditions that were not evaluated, because the limit was reached.",
      [" \(counters.refused)"])
    family(
      "odograph_alerts_dropped_total", "counter", "Messages not evaluated because they arrived too fast.",
      [" \(counters.dropped)"])
    family(
      "odograph_alerts_store_failed", "gauge", "1 while the store is not writable.",
      [counters.storeProblem == nil ? " 0" : " 1"])
    return text
  }
}
