package import Fleet
package import Spatial

/// Alerts of one rule that are reported in one message, in chronological order.
package struct Notice: Hashable, Sendable {
  package struct Item: Hashable, Sendable {
    package var alert: Alert
    package var transition: AlertTransition

    package init(_ alert: Alert, _ transition: AlertTransition) {
      (self.alert, self.transition) = (alert, transition)
    }
  }

  package var rule: String
  package var items: [Item]
}

/// Decides when alerts are reported: immediately, grouped by rule, or after quiet hours and silences. A value
/// type without I/O.
///
/// Alerts that start during quiet hours or a silence are held. Afterwards, alerts that are still open are
/// reported; alerts that have ended are not. Events, also those that have ended, are reported after quiet hours, but
/// not after a silence. The end of a reported alert is reported immediately.
package struct NoticePlan: Sendable {
  /// The maximum number of alerts in a message.
  package static let largestGroup = 1000

  private struct Window: Sendable {
    var closes: Timestamp
    var items: [Notice.Item]
  }

  /// The changes of the plan that must be stored.
  package struct Written: Sendable {
    package var held: [Int64] = []
    package var released: [Int64] = []
    package var gathered: [Notice.Item] = []
  }

  /// The maximum interval in s between two checks of the held alerts. The local time can change at any
  /// moment, because the clock is set, or summer time starts or ends.
  private static let longestLook = 60.0
  /// The time in s after a start before held alerts are reported. By then, messages have shown which alerts
  /// ended meanwhile.
  private static let settling = 10.0

  private var rules: [String: AlertRule] = [:]
  private var zone: LocalTime
  /// The alerts that are held because of quiet hours or silences, by number.
  package private(set) var held: [Int64: Alert] = [:]
  package private(set) var silences: [Silence] = []
  private var windows: [String: Window] = [:]
  private var ready: [Notice] = []
  private var nextLook: Timestamp?
  private var written = Written()

  package init(rules: [AlertRule], zone: LocalTime) {
    self.zone = zone
    ask(rules)
  }

  private mutating func ask(_ rules: [AlertRule]) {
    self.rules = Dictionary(rules.map { ($0.name, $0) }) { first, _ in first }
  }

  /// Replaces the rules and the time zone. Alerts that wait in a group are reported at the time scheduled
  /// before.
  package mutating func use(_ rules: [AlertRule], zone: LocalTime, at now: Moment) {
    ask(rules)
    self.zone = zone
    release(now)
  }

  /// The next time at which `advance` must be called; nil if nothing waits.
  package var deadline: Timestamp? {
    (windows.values.map(\.closes) + [nextLook].compactMap { $0 }).min()
  }

  /// The alerts that wait in groups.
  package var gathered: [Notice] {
    windows.sorted { $0.key < $1.key }.map { Notice(rule: $0.key, items: $0.value.items) }
  }

  package mutating func drainChanges() -> Written {
    defer { written = Written() }
    return written
  }

  package mutating func observe(_ change: AlertChange, at now: Moment) {
    let alert = change.alert
    switch change {
    case .began:
      if isHeld(alert, now) { hold(alert, now) } else { gather(.init(alert, .began), now) }
    case .ended:
      if held[alert.number] == nil {
        gather(.init(alert, .ended), now)
      } else if isOfEvents(alert), !isSilenced(alert, now) {
        // A tow or an impact must be known although it is over.
        held[alert.number] = alert
      } else {
        held[alert.number] = nil
        written.released.append(alert.number)
      }
    case .happened:
      // An event during a silence is not reported, because it is over when the silence ends.
      if isSilenced(alert, now) { return }
      if isHeld(alert, now) { hold(alert, now) } else { gather(.init(alert, .happened), now) }
    }
  }

  /// Advances the time.
  ///
  /// - Returns: the alerts to report now.
  package mutating func advance(to now: Moment) -> [Notice] {
    if let nextLook, nextLook <= now.timestamp { release(now) }
    for (rule, window) in windows.sorted(by: { $0.key < $1.key }) where window.closes <= now.timestamp {
      tell(rule, window.items)
      windows[rule] = nil
    }
    defer { ready = [] }
    return ready
  }

  /// Replaces the silences. Alerts that no silence covers any more are released.
  package mutating func silence(_ silences: [Silence], at now: Moment) {
    guard silences != self.silences else { return }
    self.silences = silences
    release(now)
  }

  /// Restores the held and the grouped alerts of an earlier run. The time for which groups collect alerts
  /// starts again.
  package mutating func restore(held: [Alert], gathered: [Notice], silences: [Silence], at now: Moment) {
    self.silences = silences
    for alert in held { self.held[alert.number] = alert }
    for notice in gathered { for item in notice.items { gather(item, now) } }
    // These alerts are stored as grouped already. Alerts that are released from now on must be stored.
    written = Written()
    if !held.isEmpty { nextLook = now.timestamp.advanced(bySeconds: Self.settling) }
  }

  /// Returns the end of the silence that covers an alert; nil if there is none.
  package func silenced(_ alert: Alert, at time: UTCTime) -> UTCTime? {
    silences.filter { $0.until > time && $0.covers(rule: alert.rule, alert.vehicle) }.map(\.until).max()
  }

  private func isOfEvents(_ alert: Alert) -> Bool { rules[alert.rule]?.condition.isOfEvents == true }

  private func isSilenced(_ alert: Alert, _ now: Moment) -> Bool { silenced(alert, at: now.time) != nil }

  /// Returns the time in s for which an alert is still held; nil if it may be reported now.
  private func remaining(_ alert: Alert, _ now: Moment) -> Double? {
    let quiet = rules[alert.rule]?.quiet?.remaining(at: now.time, in: zone)
    let silence = silenced(alert, at: now.time).map { $0.seconds(since: now.time) }
    return [quiet, silence].compactMap { $0 }.max()
  }

  private mutating func hold(_ alert: Alert, _ now: Moment) {
    held[alert.number] = alert
    written.held.append(alert.number)
    let look = remaining(alert, now).map { now.timestamp.advanced(bySeconds: min($0, Self.longestLook)) }
    nextLook = [nextLook, look].compactMap { $0 }.min()
  }

  private func isHeld(_ alert: Alert, _ now: Moment) -> Bool { remaining(alert, now) != nil }

  private mutating func release(_ now: Moment) {
    for alert in held.values.sorted(by: { $0.number < $1.number }) where !isHeld(alert, now) {
      held[alert.number] = nil
      written.released.append(alert.number)
      gather(.init(alert, alert.ended == nil ? .began : .happened), now)
    }
    look(at: now)
  }

  private mutating func look(at now: Moment) {
    nextLook = held.values.compactMap { remaining($0, now) }.min()
      .map { now.timestamp.advanced(bySeconds: min($0, Self.longestLook)) }
  }

  private mutating func gather(_ item: Notice.Item, _ now: Moment) {
    let rule = item.alert.rule
    let length = rules[rule]?.group ?? 0
    // If a group has collected alerts before the rule stopped grouping, a new alert must not be reported
    // before them.
    guard length > 0 || windows[rule] != nil else { return tell(rule, [item]) }
    if windows[rule] == nil {
      windows[rule] = Window(closes: now.timestamp.advanced(bySeconds: length), items: [])
    }
    windows[rule]?.items.append(item)
    written.gathered.append(item)
  }

  private mutating func tell(_ rule: String, _ items: [Notice.Item]) {
    var rest = items[...]
    while !rest.isEmpty {
      ready.append(Notice(rule: rule, items: Array(rest.prefix(Self.largestGroup))))
      rest = rest.dropFirst(Self.largestGroup)
    }
  }
}
