package import Fleet
package import Spatial

/// Alerts of one rule that are told together, in the order in which they came about.
package struct Notice: Hashable, Sendable {
  package struct Item: Hashable, Sendable {
    package var alert: Alert
    package var transition: Transition

    package init(_ alert: Alert, _ transition: Transition) {
      (self.alert, self.transition) = (alert, transition)
    }
  }

  package var rule: String
  package var items: [Item]
}

/// Decides who hears of an alert when: at once, with others of its rule, or after quiet hours and silences. A value without I/O.
///
/// What begins while nobody is to be told is held. When that is over, what is still open is told, and events of quiet hours are; what has
/// ended meanwhile never is. The end of what was told is told at once, so that nobody waits for it.
package struct NoticePlan: Sendable {
  /// Alerts in a message at most.
  package static let largestGroup = 1000

  private struct Window: Sendable {
    var closes: Timestamp
    var items: [Notice.Item]
  }

  /// What is written down of it, since the last time.
  package struct Written: Sendable {
    package var held: [Int64] = []
    package var released: [Int64] = []
    package var gathered: [Notice.Item] = []
  }

  /// Seconds until held alerts are looked at again, at most: the clock may be set meanwhile, also by a summer time.
  private static let longestLook = 60.0
  /// Seconds after a start until held alerts are told: what has ended meanwhile is known by then.
  private static let settling = 10.0

  private var rules: [String: AlertRule] = [:]
  private var zone: LocalTime
  /// Told when they no longer must not be.
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

  /// Goes on by other rules and another clock on the wall. What is being gathered is told when it would have been.
  package mutating func use(_ rules: [AlertRule], zone: LocalTime, at now: Moment) {
    ask(rules)
    self.zone = zone
    release(now)
  }

  /// When something is to be told without anything new; nil for never.
  package var deadline: Timestamp? {
    (windows.values.map(\.closes) + [nextLook].compactMap { $0 }).min()
  }

  /// What waits for others of its rule.
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
      if held.removeValue(forKey: alert.number) == nil {
        gather(.init(alert, .ended), now)
      } else {
        written.released.append(alert.number)
      }
    case .happened:
      // What was over before a silence ended is not worth its end.
      if isSilenced(alert, now) { return }
      if isHeld(alert, now) { hold(alert, now) } else { gather(.init(alert, .happened), now) }
    }
  }

  /// - Returns: what is to be told now.
  package mutating func advance(to now: Moment) -> [Notice] {
    if let nextLook, nextLook <= now.timestamp { release(now) }
    for (rule, window) in windows.sorted(by: { $0.key < $1.key }) where window.closes <= now.timestamp {
      tell(rule, window.items)
      windows[rule] = nil
    }
    defer { ready = [] }
    return ready
  }

  /// Takes silences in place of those before.
  package mutating func silence(_ silences: [Silence], at now: Moment) {
    guard silences != self.silences else { return }
    self.silences = silences
    release(now)
  }

  /// Takes up what waited when the program ended. Windows close as if they had just been opened.
  package mutating func restore(held: [Alert], gathered: [Notice], silences: [Silence], at now: Moment) {
    self.silences = silences
    for alert in held { self.held[alert.number] = alert }
    for notice in gathered { for item in notice.items { gather(item, now) } }
    // They are written down as gathered already; what is let go now is not.
    written = Written()
    if !held.isEmpty { nextLook = now.timestamp.advanced(bySeconds: Self.settling) }
  }

  /// Until when an alert is told to nobody; nil where it may be told.
  package func silenced(_ alert: Alert, at time: UTCTime) -> UTCTime? {
    silences.filter { $0.until > time && $0.covers(rule: alert.rule, alert.vehicle) }.map(\.until).max()
  }

  private func isSilenced(_ alert: Alert, _ now: Moment) -> Bool { silenced(alert, at: now.time) != nil }

  /// Seconds for which it is told to nobody; nil where it may be told.
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
    // What is gathered already goes before what a rule tells at once by now.
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
