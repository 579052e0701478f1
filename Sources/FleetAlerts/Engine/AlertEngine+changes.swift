package import Fleet
internal import Spatial

/// Changes of alerts that messages do not cause: changed rules, removed vehicles, and requests of an
/// operator.
extension AlertEngine {
  /// Replaces the rules. A condition that a rule still monitors keeps its state and the time at which it
  /// became satisfied. Alerts without a rule end.
  package mutating func use(_ rules: [AlertRule], at moment: Moment) -> [AlertChange] {
    var changes = advance(to: moment)
    let former = self.rules
    ask(rules)
    for (name, vehicles) in entries.sorted(by: { $0.key < $1.key }) {
      let kind = former[name]?.condition.kind
      for (vehicle, subjects) in vehicles.sorted(by: { $0.key < $1.key }) {
        for subject in subjects.keys.sorted() {
          let key = EntryKey(rule: name, vehicle: vehicle, subject: subject)
          if let rule = self.rules[name], isAsked(key, formerly: kind) {
            // The duration for which a condition must be satisfied can have changed, so the condition is
            // evaluated again.
            if rule != former[name] { lookAgain(at: key) }
          } else {
            forget(key, &changes, because: .rule)
          }
        }
      }
    }
    return changes + advance(to: moment)
  }

  /// Returns whether one of the current rules monitors a condition.
  /// - Parameters:
  ///   - key: the key of the condition.
  ///   - kind: the kind of rule under which the condition was stored; nil if unknown.
  func isAsked(_ key: EntryKey, formerly kind: AlertRule.Kind?) -> Bool {
    guard let rule = rules[key.rule], rule.covers(key.vehicle),
      kind ?? rule.condition.kind == rule.condition.kind
    else { return false }
    switch rule.condition {
    case .entered(let regions), .left(let regions): return regions.isEmpty || regions.contains(key.subject)
    default: return true
    }
  }

  /// Ends the alerts of a removed vehicle, and deletes its state. A later message of the vehicle creates new
  /// state.
  mutating func forget(_ vehicle: VehicleKey) -> [AlertChange] {
    var changes: [AlertChange] = []
    for rule in entries.keys.sorted() {
      for subject in subjects(rule, vehicle) {
        forget(EntryKey(rule: rule, vehicle: vehicle, subject: subject), &changes, because: .forgotten)
      }
    }
    forgetEvents(of: vehicle)
    return changes
  }

  /// Ends an alert on request of an operator. If its condition is still satisfied, the next alert starts only
  /// after the condition has ended and is satisfied again.
  /// - Returns: all changes up to now, including the end of the alert. An alert that is not open adds no
  ///   change.
  package mutating func end(byHand number: Int64, at moment: Moment) -> [AlertChange] {
    var changes = advance(to: moment)
    guard let alert = open[number] else { return changes }
    let key = EntryKey(rule: alert.rule, vehicle: alert.vehicle, subject: alert.subject)
    if var entry = entry(key), entry.alert == number, let rule = rules[key.rule], !rule.condition.isOfEvents {
      entry.alert = nil
      entry.isFromBefore = entry.holds
      settle(entry, key, rule, &changes)
    } else {
      forget(key, &changes, because: .byHand)
    }
    if let ended = end(number, at: now.time, because: .byHand) { changes.append(.ended(ended)) }
    return changes
  }
}
