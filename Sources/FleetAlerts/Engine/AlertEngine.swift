package import Fleet
package import Spatial

/// A rule engine that decides when alerts start and end. A value type without I/O: facts about vehicles are
/// applied with their time, and changes of alerts are returned.
///
/// Its state can be stored (`drainChanges`) and restored (`restore`). After a restart no alert is reported
/// twice, and alerts end whose condition ended meanwhile. The restored state of a condition is provisional
/// until the vehicle's next message; before, no alert starts or ends. `capacity` limits the memory for any
/// input.
package struct AlertEngine: Sendable {
  /// The key of a condition: rule, vehicle, and region or event.
  package struct EntryKey: Hashable, Sendable, Comparable {
    package var rule: String
    package var vehicle: VehicleKey
    package var subject: String

    package init(rule: String, vehicle: VehicleKey, subject: String = "") {
      (self.rule, self.vehicle, self.subject) = (rule, vehicle, subject)
    }

    package static func < (a: Self, b: Self) -> Bool {
      (a.rule, a.vehicle.fleet, a.vehicle.vehicle, a.subject)
        < (b.rule, b.vehicle.fleet, b.vehicle.vehicle, b.subject)
    }
  }

  /// The state of a condition for a vehicle.
  package struct Entry: Hashable, Sendable {
    package var holds = false
    /// The time since which the condition has been satisfied, or not satisfied, as `holds` states.
    package var since: Timestamp
    /// The time in s from the vehicle's last message about the condition to its arrival. Until the next message,
    /// time elapses from this arrival.
    var lag = 0.0
    /// The number of the open alert of this condition; nil if there is none.
    package var alert: Int64?
    package var value: Double?
    /// The time at which a sleeping vehicle becomes overdue; nil for other vehicles, and without an announced
    /// contact. No alert starts before it.
    package var overdue: Timestamp?
    package var place: Coordinate?
    /// True if the condition was satisfied in the vehicle's first message. Its start was not observed, so no
    /// alert starts.
    package var isFromBefore = false
    /// False after the state was restored, until the vehicle sends a message.
    package var isConfirmed = true

    /// True if the last message about the condition is from a backlog.
    var isLate: Bool { lag > VehicleFacts.liveLag }

    package init(since: Timestamp) { self.since = since }
  }

  package static let subjectsPerVehicle = 64
  static let rememberedEvents = 32
  /// The time in s after the subscription by which all retained messages should have arrived.
  static let settling = 5.0
  /// The maximum length of fleet and vehicle name together in bytes. MQTT topics can have 64 KiB.
  private static let longestName = 512

  private(set) var rules: [String: AlertRule] = [:]
  let capacity: Int
  /// The number that the next alert gets.
  package private(set) var nextNumber: Int64
  /// True while no alert starts or ends by time. Without a connection, it is unknown whether conditions are
  /// still satisfied.
  package var isPaused = false
  /// The number of conditions and events that were ignored because the capacity was reached.
  package private(set) var refused = 0
  private(set) var now: Moment
  private(set) var entries: [String: [VehicleKey: [String: Entry]]] = [:]
  package private(set) var entryCount = 0
  package private(set) var open: [Int64: Alert] = [:]
  private var seen: [VehicleKey: [String]] = [:]
  private var deadlines: [EntryKey: Timestamp] = [:]
  private var nextDeadline: Timestamp?
  private var changedEntries: Set<EntryKey> = []
  private var changedSeen: Set<VehicleKey> = []
  private var rulesOfTopic: [VehicleFacts.Topic: [AlertRule]] = [:]

  /// Creates an engine.
  ///
  /// - Parameters:
  ///   - rules: the rules.
  ///   - now: the current time.
  ///   - nextNumber: the number of the first alert.
  ///   - capacity: the maximum number of conditions with a state.
  package init(
    rules: [AlertRule], at now: Moment, nextNumber: Int64 = 1, capacity: Int = 400_000
  ) {
    (self.now, self.nextNumber, self.capacity) = (now, nextNumber, capacity)
    ask(rules)
  }

  mutating func ask(_ rules: [AlertRule]) {
    self.rules = Dictionary(rules.map { ($0.name, $0) }) { first, _ in first }
    rulesOfTopic = [:]
    for rule in rules {
      for topic in rule.topics { rulesOfTopic[topic, default: []].append(rule) }
    }
  }

  /// Returns whether any rule uses messages of a topic.
  package func asks(for topic: VehicleFacts.Topic) -> Bool { rulesOfTopic[topic] != nil }

  /// The next time at which an alert can start or end without a message; nil if there is none.
  package var deadline: Timestamp? { isPaused ? nil : nextDeadline }

  /// Advances to the time of the facts, and applies them.
  package mutating func observe(_ facts: VehicleFacts) -> [AlertChange] {
    var changes = advance(to: facts.at)
    guard facts.key.fleet.utf8.count + facts.key.vehicle.utf8.count <= Self.longestName else {
      refused += 1
      return changes
    }
    guard facts.topic != .removal else { return changes + forget(facts.key) }
    if facts.topic == .position, let place = facts.place { complete(facts, place) }
    let isNews = facts.event.map { isNew($0, facts) } ?? true
    for rule in rulesOfTopic[facts.topic] ?? [] where rule.covers(facts.key) {
      guard !rule.isUnknown(by: facts) else {
        end(rule, facts, &changes)
        continue
      }
      guard rule.states.isEmpty || rule.states.contains(facts.state) else {
        forgetPending(rule, facts.key)
        continue
      }
      if rule.condition.isOfEvents {
        if isNews || facts.event?.isOngoing != nil { judgeEvent(rule, facts, isNews, &changes) }
      } else {
        judge(rule, facts, &changes)
      }
    }
    return changes
  }

  /// Sets the position of satisfied conditions without an alert that have none. After a start, a retained status
  /// can arrive before the retained location. A condition of a backlog remains without a position.
  private mutating func complete(_ facts: VehicleFacts, _ place: Coordinate) {
    for rule in rules.keys {
      for (subject, var entry) in entries[rule]?[facts.key] ?? [:]
      where entry.holds && entry.alert == nil && entry.place == nil && !entry.isLate {
        entry.place = place
        store(entry, EntryKey(rule: rule, vehicle: facts.key, subject: subject))
      }
    }
  }

  /// Advances the time. An alert starts or ends if its condition has been satisfied, or not satisfied, for
  /// the required duration.
  package mutating func advance(to moment: Moment) -> [AlertChange] {
    if moment.timestamp > now.timestamp { now = moment }
    guard !isPaused, let nextDeadline, nextDeadline <= now.timestamp else { return [] }
    let due = deadlines.filter { $0.value <= now.timestamp }
      .sorted { ($0.value, $0.key) < ($1.value, $1.key) }
    var changes: [AlertChange] = []
    for (key, _) in due {
      deadlines[key] = nil
      guard var entry = entry(key), let rule = rules[key.rule] else { continue }
      if !entry.holds, let overdue = entry.overdue, overdue <= now.timestamp {
        (entry.holds, entry.since, entry.overdue) = (true, overdue, nil)
      }
      settle(entry, key, rule, &changes)
    }
    self.nextDeadline = deadlines.values.min()
    return changes
  }

  // MARK: Entries

  func entry(_ key: EntryKey) -> Entry? { entries[key.rule]?[key.vehicle]?[key.subject] }

  func subjects(_ rule: String, _ vehicle: VehicleKey) -> [String] {
    entries[rule]?[vehicle]?.keys.sorted() ?? []
  }

  /// Stores the state of a condition; nil deletes it.
  ///
  /// - Returns: false if a limit is reached.
  @discardableResult
  private mutating func store(_ entry: Entry?, _ key: EntryKey) -> Bool {
    let former = self.entry(key)
    if let entry {
      if former == nil {
        guard entryCount < capacity, makeRoom(key) else {
          refused += 1
          return false
        }
        entryCount += 1
      } else if former == entry {
        return true
      }
      entries[key.rule, default: [:]][key.vehicle, default: [:]][key.subject] = entry
    } else {
      guard former != nil else { return true }
      entryCount -= 1
      entries[key.rule]?[key.vehicle]?[key.subject] = nil
      if entries[key.rule]?[key.vehicle]?.isEmpty == true { entries[key.rule]?[key.vehicle] = nil }
    }
    if entry == nil || isStored(entry, key) || isStored(former, key) { changedEntries.insert(key) }
    return true
  }

  /// Returns whether a condition is in the alert store. Each message of a vehicle changes its conditions of `silent`.
  /// They are stored only with an alert, because the retained messages contain the time of the last message.
  private func isStored(_ entry: Entry?, _ key: EntryKey) -> Bool {
    guard let entry else { return false }
    return rules[key.rule]?.condition != .silent || entry.alert != nil || entry.isFromBefore
  }

  /// Makes space for another region of a vehicle. If the limit is reached, the region with the oldest change,
  /// and without an open or pending alert, is dropped. The vehicle's next message about the dropped region
  /// creates its state again.
  /// - Returns: false if no region can be dropped.
  private mutating func makeRoom(_ key: EntryKey) -> Bool {
    guard let known = entries[key.rule]?[key.vehicle], known.count >= Self.subjectsPerVehicle else {
      return true
    }
    let idle = known.filter { $0.value.alert == nil && (!$0.value.holds || $0.value.isFromBefore) }
    guard let oldest = idle.min(by: { ($0.value.since, $0.key) < ($1.value.since, $1.key) })?.key else {
      return false
    }
    let leaving = EntryKey(rule: key.rule, vehicle: key.vehicle, subject: oldest)
    store(nil, leaving)
    deadlines[leaving] = nil
    return true
  }

  /// Deletes the state of a condition, and ends its open alert.
  /// - Parameter time: the time of the end; nil for the current time.
  mutating func forget(
    _ key: EntryKey, _ changes: inout [AlertChange], at time: UTCTime? = nil, because reason: EndReason? = nil
  ) {
    guard let entry = entry(key) else { return }
    if let number = entry.alert, let alert = end(number, at: time ?? now.time, because: reason) {
      changes.append(.ended(alert))
    }
    store(nil, key)
    deadlines[key] = nil
  }

  /// Starts or ends the alert of a condition if it is time, stores the state of the condition, and schedules
  /// the next evaluation.
  mutating func settle(
    _ entry: Entry, _ key: EntryKey, _ rule: AlertRule, _ changes: inout [AlertChange],
    summary: String? = nil
  ) {
    var entry = entry
    var look: Timestamp?
    if entry.isConfirmed {
      if entry.holds && entry.alert == nil && !entry.isFromBefore {
        let due = startTime(of: entry, rule)
        let arrival = due.advanced(bySeconds: entry.lag)
        if arrival <= now.timestamp {
          if rule.condition == .silent { entry.value = due.seconds(since: entry.since) }
          guard self.entry(key) != nil || store(entry, key) else { return }
          let alert = begin(entry, key, rule, at: time(of: due), summary: summary)
          entry.alert = alert.number
          changes.append(.began(alert))
        } else {
          look = arrival
        }
      } else if !entry.holds, let number = entry.alert {
        let due = entry.since.advanced(bySeconds: rule.hold)
        let arrival = due.advanced(bySeconds: entry.lag)
        if arrival <= now.timestamp {
          entry.alert = nil
          if let alert = end(number, at: time(of: due)) { changes.append(.ended(alert)) }
        } else {
          look = arrival
        }
      }
      if !entry.holds, let overdue = entry.overdue { look = min(look ?? overdue, overdue) }
    }
    let isStored =
      entry.holds || entry.alert != nil || entry.overdue != nil || rule.condition.remembers
    store(isStored ? entry : nil, key)
    deadlines[key] = look
    if let look { nextDeadline = min(nextDeadline ?? look, look) }
  }

  /// Returns the time at which the alert of a satisfied condition starts.
  func startTime(of entry: Entry, _ rule: AlertRule) -> Timestamp {
    let due = entry.since.advanced(bySeconds: rule.duration)
    return max(due, entry.overdue ?? due)
  }

  /// Schedules the evaluation of a condition at the next call of `advance`.
  mutating func lookAgain(at key: EntryKey) {
    deadlines[key] = now.timestamp
    nextDeadline = min(nextDeadline ?? now.timestamp, now.timestamp)
  }

  /// Returns the civil time of a monotonic timestamp.
  func time(of timestamp: Timestamp) -> UTCTime {
    now.time.advanced(bySeconds: timestamp.seconds(since: now.timestamp))
  }

  private mutating func begin(
    _ entry: Entry, _ key: EntryKey, _ rule: AlertRule, at time: UTCTime, summary: String?
  ) -> Alert {
    let alert = Alert(
      number: nextNumber, rule: rule.name, vehicle: key.vehicle, subject: key.subject,
      severity: rule.severity,
      summary: summary ?? rule.summary(entry.value, subject: key.subject), began: time, place: entry.place,
      value: entry.value.flatMap { $0.isFinite ? $0 : nil }, noticed: now.time)
    nextNumber += 1
    open[alert.number] = alert
    return alert
  }

  mutating func end(_ number: Int64, at time: UTCTime, because reason: EndReason? = nil) -> Alert? {
    guard var alert = open.removeValue(forKey: number) else { return nil }
    alert.ended = max(time, alert.began)
    (alert.reason, alert.noticed) = (reason, now.time)
    return alert
  }

  /// Returns an alert for an instantaneous event.
  mutating func happen(_ event: VehicleFacts.Event, _ rule: AlertRule, _ facts: VehicleFacts) -> Alert {
    let time = event.time ?? facts.time
    defer { nextNumber += 1 }
    return Alert(
      number: nextNumber, rule: rule.name, vehicle: facts.key, subject: event.name, severity: rule.severity,
      summary: event.summary, remedy: event.remedy, began: time, ended: time, place: event.place,
      noticed: facts.at.time)
  }

  /// Deletes satisfied conditions without an alert, because the vehicle is in a state that the rule does not
  /// cover. Open alerts remain.
  private mutating func forgetPending(_ rule: AlertRule, _ vehicle: VehicleKey) {
    for subject in subjects(rule.name, vehicle) {
      let key = EntryKey(rule: rule.name, vehicle: vehicle, subject: subject)
      guard let entry = entry(key), entry.alert == nil, entry.holds else { continue }
      store(nil, key)
      deadlines[key] = nil
    }
  }

  /// Forgets which events of a vehicle were processed.
  mutating func forgetEvents(of vehicle: VehicleKey) {
    if seen.removeValue(forKey: vehicle) != nil { changedSeen.insert(vehicle) }
  }

  /// Returns whether an event was not processed before, and records it.
  private mutating func isNew(_ event: VehicleFacts.Event, _ facts: VehicleFacts) -> Bool {
    let key = "\(facts.topic):\(event.key)"
    var known = seen[facts.key] ?? []
    guard !known.contains(key) else { return false }
    guard seen.count < capacity || !known.isEmpty else {
      refused += 1
      return false
    }
    if known.count >= Self.rememberedEvents { known.removeFirst() }
    known.append(key)
    seen[facts.key] = known
    changedSeen.insert(facts.key)
    return true
  }
}

extension AlertEngine {
  /// The changes of the engine's state that must be stored.
  package struct Written: Sendable {
    /// The changed conditions; nil for a condition that was deleted.
    package var entries: [(key: EntryKey, entry: Entry?)]
    package var seen: [(vehicle: VehicleKey, keys: [String])]
  }

  package mutating func drainChanges() -> Written {
    defer { (changedEntries, changedSeen) = ([], []) }
    return Written(
      entries: changedEntries.sorted().map { key in
        let entry = entry(key)
        return (key, isStored(entry, key) ? entry : nil)
      },
      seen: changedSeen.sorted().map { ($0, seen[$0] ?? []) })
  }

  /// Restores stored state. Conditions that no rule monitors any more are omitted.
  /// - Parameters:
  ///   - restored: the stored conditions.
  ///   - alerts: the open alerts.
  ///   - seen: the processed events of each vehicle.
  ///   - kinds: the kinds of the rules under which the conditions were stored. The kind of a rule that is
  ///     missing here is assumed to be unchanged.
  /// - Returns: open alerts without a condition, which are ended now because no message would end them.
  package mutating func restore(
    entries restored: [(key: EntryKey, entry: Entry)], open alerts: [Alert],
    seen: [(vehicle: VehicleKey, keys: [String])], kinds: [String: AlertRule.Kind] = [:]
  ) -> [Alert] {
    for alert in alerts { open[alert.number] = alert }
    var kept: Set<Int64> = []
    for (key, entry) in restored {
      var entry = entry
      if let number = entry.alert, open[number] == nil { entry.alert = nil }
      guard isAsked(key, formerly: kinds[key.rule]), entryCount < capacity else {
        changedEntries.insert(key)
        continue
      }
      entry.isConfirmed = false
      entries[key.rule, default: [:]][key.vehicle, default: [:]][key.subject] = entry
      entryCount += 1
      if let number = entry.alert { kept.insert(number) }
    }
    for (vehicle, keys) in seen { self.seen[vehicle] = keys }
    let lost = open.keys.filter { !kept.contains($0) }.sorted()
    return lost.compactMap { end($0, at: now.time, because: .rule) }
  }
}
