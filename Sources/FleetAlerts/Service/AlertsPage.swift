internal import Fleet

/// A page of alerts, with the position of the next page.
package struct AlertsPage: Sendable {
  /// The sort order.
  package enum Order: String, Hashable, Sendable, CaseIterable {
    case newest
    /// Sorted by severity, and newest first within a severity.
    case severity
  }

  package enum State: String, Hashable, Sendable, CaseIterable {
    case open, ended, all
  }

  /// The position of an alert in a sorted list, such as `critical-17`. It remains valid if the alert itself
  /// does not exist any more.
  package struct Cursor: Hashable, Sendable, CustomStringConvertible {
    var severity: Severity
    var number: Int64

    init(_ alert: Alert) { (severity, number) = (alert.severity, alert.number) }

    /// Parses a position such as `critical-17`.
    ///
    /// - Returns: nil for an invalid text.
    package init?(_ text: String) {
      let parts = text.split(separator: "-", omittingEmptySubsequences: false)
      guard parts.count == 2, let severity = Severity(rawValue: String(parts[0])),
        let number = Int64(parts[1])
      else { return nil }
      (self.severity, self.number) = (severity, number)
    }

    package var description: String { "\(severity.rawValue)-\(number)" }

    func precedes(_ other: Cursor, _ order: Order) -> Bool {
      if order == .severity, severity != other.severity { return severity > other.severity }
      return number > other.number
    }
  }

  /// The number of alerts of one rule and severity.
  package struct Group: Hashable, Sendable {
    package var rule: String
    package var severity: Severity
    package var count: Int
  }

  package var alerts: [Alert]
  /// The position of the last alert on this page, after which the next page starts; nil on the last page.
  package var next: Cursor?
  /// The number of alerts on all pages together.
  package var count: Int
  /// The number of alerts for each rule and severity: highest severity first, then largest number first.
  package var groups: [Group]
}

extension AlertsView {
  /// Returns a page of alerts.
  /// - Parameter selects: returns whether an alert is included, by the user's permissions and the request.
  package func page(
    _ state: AlertsPage.State, _ order: AlertsPage.Order, after place: AlertsPage.Cursor? = nil, limit: Int,
    where selects: (Alert) -> Bool
  ) -> AlertsPage {
    struct Key: Hashable {
      var rule: String
      var severity: Severity
    }
    var chosen: [Alert] = []
    var counts: [Key: Int] = [:]
    func choose(_ alert: Alert) {
      guard selects(alert) else { return }
      chosen.append(alert)
      counts[Key(rule: alert.rule, severity: alert.severity), default: 0] += 1
    }
    if state != .ended { for alert in open.values { choose(alert) } }
    if state != .open { for alert in ended { choose(alert) } }
    let count = chosen.count
    if let place { chosen.removeAll { !place.precedes(.init($0), order) } }
    chosen.sort { AlertsPage.Cursor($0).precedes(.init($1), order) }
    let alerts = Array(chosen.prefix(limit))
    let groups = counts.map {
      AlertsPage.Group(rule: $0.key.rule, severity: $0.key.severity, count: $0.value)
    }
    .sorted { ($1.severity, $1.count, $0.rule) < ($0.severity, $0.count, $1.rule) }
    return AlertsPage(
      alerts: alerts, next: chosen.count > limit ? alerts.last.map(AlertsPage.Cursor.init) : nil,
      count: count,
      groups: groups)
  }
}
