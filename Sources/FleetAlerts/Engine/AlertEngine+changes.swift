package import Fleet
internal import Spatial

/// What ends alerts beside their conditions: other rules, vehicles that are retired, and people.
extension AlertEngine {
  /// Goes on by other rules. What is known of conditions that are still asked for stays, with the times since when; what no rule asks
  /// for any more ends.
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
            // How long it has to hold may be another.
            if rule != former[name] { lookAgain(at: key) }
          } else {
            forget(key, &changes, because: .rule)
          }
        }
      }
    }
    return changes + advance(to: moment)
  }

  /// Whether a rule asks for it.
  /// - Parameter kind: of the rule that it is known by; nil where nobody knows.
  func isAsked(_ key: EntryKey, formerly kind: AlertRule.Kind?) -> Bool {
    guard let rule = rules[key.rule], rule.covers(key.vehicle),
      kind ?? rule.condition.kind == rule.condition.kind
    else { return false }
    switch rule.condition {
    case .entered(let regions), .left(let regions): return regions.isEmpty || regions.contains(key.subject)
    default: return true
    }
  }

  /// A vehicle was retired: its alerts end, and nothing is known of it. What comes of it later makes it known anew.
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

  /// Ends an alert that somebody does not wait for any more. Its condition may still hold: it makes the next one after it has not held.
  /// - Returns: nil for an alert that is not open.
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
