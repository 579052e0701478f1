internal import Fleet
internal import Spatial

extension AlertRule {
  /// The topics of messages from which this condition is evaluated.
  var topics: Set<VehicleFacts.Topic> {
    let own: Set<VehicleFacts.Topic> =
      switch condition {
      // A location shows that a phone is online.
      case .offline: [.status, .position]
      // Other messages are reported as `contact`.
      case .silent: [.contact, .status, .position, .regions]
      case .battery, .queue: [.status]
      case .speed: [.position, .status, .event]
      case .accuracy: [.position, .event]
      case .entered, .left: [.regions]
      case .event: [.event]
      case .trace: [.trace]
      }
    return states.isEmpty ? own : own.union([.status])
  }

  /// Returns whether facts show that the value of the condition is unknown, so that its alert ends: the speed of a
  /// vehicle that is offline or asleep, or has no current position.
  func isUnknown(by facts: VehicleFacts) -> Bool {
    guard case .speed = condition else { return false }
    return facts.state == .offline || facts.state == .asleep || facts.isStale || facts.accuracy == .infinity
  }

  /// Returns the description of an alert.
  package func summary(_ value: Double?, subject: String) -> String {
    switch condition {
    case .offline: "offline"
    case .silent: value.map { "no message for \(QuantityText.age($0))" } ?? "no message"
    case .battery: value.map { "battery at \(Self.whole($0 * 100)) %" } ?? "battery low"
    case .entered: "entered \(subject)"
    case .left: "left \(subject)"
    case .speed: value.map { "speed \(Self.whole($0 * 3.6)) km/h" } ?? "too fast"
    case .queue: value.map { "\(Self.whole($0)) messages wait" } ?? "messages wait"
    case .accuracy:
      value.map { $0.isFinite ? "position known to \(Self.whole($0)) m" : "no position" } ?? "no position"
    case .event, .trace: subject
    }
  }

  /// Rounds a value to an integer. Vehicles can report numbers of any size, so it is limited to 1e15.
  private static func whole(_ value: Double) -> Int { Int(max(-1e15, min(1e15, value)).rounded()) }
}

extension AlertRule.Condition {
  var isOfEvents: Bool {
    switch self {
    case .event, .trace: true
    default: false
    }
  }

  /// True if the state must be stored even while the condition is not satisfied. For regions, the stored
  /// state shows which side the vehicle was on: a vehicle cannot leave a region again that it has left.
  var remembers: Bool {
    switch self {
    case .entered, .left, .queue: true
    default: false
    }
  }
}

extension AlertEngine {
  /// Evaluates the condition of a rule with the facts of a message.
  mutating func judge(_ rule: AlertRule, _ facts: VehicleFacts, _ changes: inout [AlertChange]) {
    switch rule.condition {
    case .offline:
      guard facts.topic == .status || facts.state == .online else { return }
      judge(rule, facts, holds: facts.state == .offline || facts.overdue.map { $0 <= 0 } ?? false, &changes)
    case .silent: hear(rule, facts, &changes)
    case .battery(let below, let until):
      compare(rule, facts, facts.battery, begins: { $0 < below }, ends: { $0 >= until }, &changes)
    case .speed(let above, let until):
      compare(rule, facts, facts.speed, begins: { $0 > above }, ends: { $0 <= until }, &changes)
    case .accuracy(let above, let until):
      compare(rule, facts, facts.accuracy, begins: { $0 > above }, ends: { $0 <= until }, &changes)
    case .queue(let above, let until):
      compareQueue(rule, facts, above, until, &changes)
    case .entered(let regions):
      forgetUnwatched(rule, facts, &changes)
      for region in names(facts, regions) { cross(rule, facts, region, begins: true, &changes) }
    case .left(let regions):
      forgetUnwatched(rule, facts, &changes)
      for region in names(facts, regions) { cross(rule, facts, region, begins: false, &changes) }
    case .event, .trace: break
    }
  }

  /// Ends an alert because its value is unknown from now on.
  mutating func end(_ rule: AlertRule, _ facts: VehicleFacts, _ changes: inout [AlertChange]) {
    let key = EntryKey(rule: rule.name, vehicle: facts.key)
    catchUp(key, rule, facts, &changes)
    forget(key, &changes, at: facts.time)
  }

  /// Starts or ends the alert of a condition for which this was due before a message from a backlog. The time
  /// between two such messages elapses as it did in the vehicle.
  private mutating func catchUp(
    _ key: EntryKey, _ rule: AlertRule, _ facts: VehicleFacts, _ changes: inout [AlertChange]
  ) {
    guard facts.isLate, var entry = entry(key), entry.isConfirmed, entry.since <= facts.timestamp else {
      return
    }
    entry.lag = facts.lag
    settle(entry, key, rule, &changes, summary: facts.event?.summary)
  }

  private mutating func judge(
    _ rule: AlertRule, _ facts: VehicleFacts, subject: String = "", value: Double? = nil, holds: Bool,
    isFromBefore: Bool = false, _ changes: inout [AlertChange]
  ) {
    let key = EntryKey(rule: rule.name, vehicle: facts.key, subject: subject)
    // Any message shows that the vehicle is online now.
    var facts = facts
    if rule.condition == .offline { facts.time = facts.at.time }
    catchUp(key, rule, facts, &changes)
    var entry = entry(key) ?? Entry(since: facts.timestamp)
    if entry.holds != holds {
      (entry.holds, entry.since, entry.isFromBefore) = (holds, facts.timestamp, isFromBefore)
    }
    // A message from before the change, such as a retained one, does not delay the timer.
    if entry.since <= facts.timestamp { entry.lag = facts.lag }
    entry.isConfirmed = true
    entry.value = value ?? entry.value
    entry.place = facts.place ?? entry.place
    if rule.condition == .offline {
      entry.overdue = holds ? nil : facts.overdue.map { facts.at.timestamp.advanced(bySeconds: $0) }
    }
    settle(entry, key, rule, &changes)
  }

  /// Restarts the time without a message. The alert ends if this time is below the rule's duration again.
  private mutating func hear(_ rule: AlertRule, _ facts: VehicleFacts, _ changes: inout [AlertChange]) {
    let key = EntryKey(rule: rule.name, vehicle: facts.key)
    var entry = entry(key) ?? Entry(since: facts.heard ?? facts.at.timestamp)
    entry.since = max(entry.since, facts.heard ?? entry.since)
    entry.overdue = facts.overdue.map { facts.at.timestamp.advanced(bySeconds: $0) }
    entry.place = facts.place ?? entry.place
    (entry.holds, entry.isConfirmed) = (true, true)
    let start = startTime(of: entry, rule)
    // A later message of the vehicle can arrive after the first retained one.
    entry.lag = facts.isRetained ? max(0, facts.at.timestamp.seconds(since: start) + Self.settling) : 0
    if start > now.timestamp {
      if let number = entry.alert, let alert = end(number, at: time(of: entry.since)) {
        changes.append(.ended(alert))
      }
      (entry.alert, entry.isFromBefore) = (nil, false)
    }
    settle(entry, key, rule, &changes)
  }

  /// Evaluates a value with hysteresis: the condition is satisfied beyond one limit, ends at the other, and
  /// is unchanged between them.
  private mutating func compare(
    _ rule: AlertRule, _ facts: VehicleFacts, _ value: Double?, begins: (Double) -> Bool,
    ends: (Double) -> Bool, _ changes: inout [AlertChange]
  ) {
    guard let value, !value.isNaN else { return }
    let entry = entry(EntryKey(rule: rule.name, vehicle: facts.key))
    if facts.isStale, entry?.alert == nil { return }
    let before = entry?.holds ?? false
    let holds = begins(value) || before && !ends(value)
    judge(rule, facts, value: value, holds: holds, &changes)
  }

  /// Evaluates the number of messages in a vehicle's queue. An alert starts if the number is above the limit
  /// and not decreasing. It ends at the lower limit.
  private mutating func compareQueue(
    _ rule: AlertRule, _ facts: VehicleFacts, _ above: Double, _ until: Double,
    _ changes: inout [AlertChange]
  ) {
    guard let value = facts.queue, value.isFinite else { return }
    let entry = entry(EntryKey(rule: rule.name, vehicle: facts.key))
    let isGrowing = value >= entry?.value ?? 0
    let holds = entry?.alert != nil ? value > until : value > above && isGrowing
    judge(rule, facts, value: value, holds: holds, &changes)
  }

  /// Returns the regions in a message to which the rule applies. A rule without regions applies to all
  /// regions in the message.
  private func names(_ facts: VehicleFacts, _ regions: [String]) -> [String] {
    let told = Set(facts.inside + facts.outside)
    return (regions.isEmpty ? told : told.intersection(regions)).sorted()
  }

  /// Ends alerts about regions that the vehicle does not monitor any more, because it will not report when it
  /// enters or leaves them.
  private mutating func forgetUnwatched(
    _ rule: AlertRule, _ facts: VehicleFacts, _ changes: inout [AlertChange]
  ) {
    guard let watched = facts.watched else { return }
    for region in subjects(rule.name, facts.key) where !watched.contains(region) {
      forget(EntryKey(rule: rule.name, vehicle: facts.key, subject: region), &changes)
    }
  }

  /// Evaluates whether the vehicle is in a region. The first reported state does not start an alert, because
  /// no entry or exit was observed.
  private mutating func cross(
    _ rule: AlertRule, _ facts: VehicleFacts, _ region: String, begins: Bool, _ changes: inout [AlertChange]
  ) {
    let isFirst = entry(EntryKey(rule: rule.name, vehicle: facts.key, subject: region)) == nil
    judge(
      rule, facts, subject: region, holds: facts.inside.contains(region) == begins,
      isFromBefore: isFirst && !facts.isCrossing, &changes)
  }

  /// Evaluates an event. An event is either instantaneous, or has a start and an end with the same key.
  mutating func judgeEvent(
    _ rule: AlertRule, _ facts: VehicleFacts, _ isNews: Bool, _ changes: inout [AlertChange]
  ) {
    guard let event = facts.event, !facts.isRetained else { return }
    let key = EntryKey(rule: rule.name, vehicle: facts.key, subject: event.key)
    let known = entry(key)
    switch rule.condition {
    // The end of an event ends its alert even if the rule has changed and does not include the event any
    // more.
    case .event(let names):
      guard facts.topic == .event, known != nil || names.isEmpty || names.contains(event.name) else { return }
    case .trace(let causes):
      guard facts.topic == .trace, causes.isEmpty || causes.contains(event.name) else { return }
    default: return
    }
    switch (event.isOngoing, known) {
    case (true?, nil) where isNews:
      var entry = Entry(since: facts.timestamp)
      (entry.holds, entry.place, entry.lag) = (true, event.place, facts.lag)
      settle(entry, key, rule, &changes, summary: event.summary)
    case (false?, _?):
      catchUp(key, rule, facts, &changes)
      guard var entry = entry(key) else { break }
      (entry.holds, entry.since, entry.isConfirmed) = (false, facts.timestamp, true)
      entry.lag = facts.lag
      settle(entry, key, rule, &changes)
    case (nil, _) where isNews, (false?, nil) where isNews:
      changes.append(.happened(happen(event, rule, facts)))
    default: break
    }
  }
}
