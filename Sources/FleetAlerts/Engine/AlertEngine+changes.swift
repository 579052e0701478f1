package import Fleet
internal import Spatial

/// Alerts that end for other reasons than their conditions: changed rules, removed vehicles, and the
/// operator.
extension AlertEngine {
  /// Replaces the rules. The states of conditions that are still monitored are retained with their times;
  /// alerts without a rule end.
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
            // The required duration can have changed.
            if rule != former[name] { lookAgain(at: key) }
          } else {
            forget(key, &changes, because: .rule)
          }
        }
      }
    }
    return changes + advance(to: moment)
  }

  /// Returns whether a rule monitors the condition.
  /// - Parameter kind: the kind of the rule under which the condition was stored; nil if unknown.
  func isAsked(_ key: EntryKey, formerly kind: AlertRule.Kind?) -> Bool {
    guard let rule = rules[key.rule], rule.covers(key.vehicle),
      kind ?? rule.condition.kind == rule.condition.kind
    else { return false }
    switch rule.condition {
    case .entered(let regions), .left(let regions): return regions.isEmpty || regions.contains(key.subject)
    default: return true
    }
  }

  /// Ends the alerts of a removed vehicle and deletes its state. A later message creates it again.
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

  /// Ends an alert on behalf of the operator. If its condition persists, the next alert starts only after the
  /// condition has ended once.
  /// - Returns: the changes; empty for an alert that is not open.
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
