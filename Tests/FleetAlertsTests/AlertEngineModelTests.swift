import Fleet
import FleetAlerts
import FleetFixtures
import Spatial
import TestSupport
import Testing

/// Compares the engine with a model that evaluates every second, and tests it with random reports.
struct AlertEngineModelTests {
  /// Returns the expected changes for battery levels, evaluated every second. Times are whole seconds.
  private func model(_ levels: [Int: Double], until end: Int, _ rule: AlertRule) -> [String] {
    guard case .battery(let below, let until) = rule.condition else { return [] }
    var (holds, since, isOpen) = (false, 0, false)
    var changes: [String] = []
    func look(_ second: Int) {
      if holds, !isOpen, Double(second - since) >= rule.duration {
        isOpen = true
        changes.append("began \(second)")
      } else if !holds, isOpen, Double(second - since) >= rule.hold {
        isOpen = false
        changes.append("ended \(second)")
      }
    }
    for second in 0...end {
      look(second)
      guard let level = levels[second] else { continue }
      let next = level < below || holds && level < until
      if next != holds { (holds, since) = (next, second) }
      look(second)
    }
    return changes
  }

  /// Time advances in random steps, and the program restarts at random moments.
  @Test func agreesWithAModelThatEvaluatesEverySecond() throws {
    var random = SplitMix.announced()
    for _ in 0..<300 {
      let rule = rule(.battery(below: 0.3, until: 0.5)) {
        $0.duration = Double(Int.random(in: 0...30, using: &random))
        $0.hold = Double(Int.random(in: 0...30, using: &random))
      }
      let end = 400
      var levels: [Int: Double] = [:]
      for _ in 0..<Int.random(in: 1...40, using: &random) {
        levels[Int.random(in: 1..<end, using: &random)] = random.uniform(0...1)
      }
      var engine = AlertEngine(rules: [rule], at: moment(0))
      var disk: [AlertEngine.EntryKey: AlertEngine.Entry] = [:]
      var found: [String] = []
      var last: Double?
      for second in 0...end {
        if let level = levels[second] {
          found += engine.report(battery(level, at: Double(second)))
          last = level
        } else if Int.random(in: 0..<5, using: &random) == 0 || second == end {
          found += engine.pass(to: Double(second))
        }
        for (key, entry) in engine.drainChanges().entries { disk[key] = entry }
        guard Int.random(in: 0..<25, using: &random) == 0 else { continue }
        found += engine.pass(to: Double(second))
        for (key, entry) in engine.drainChanges().entries { disk[key] = entry }
        var next = AlertEngine(rules: [rule], at: moment(Double(second)), nextNumber: engine.nextNumber)
        let lost = next.restore(entries: disk.map { ($0, $1) }, open: engine.openAlerts, seen: [])
        #expect(lost.isEmpty)
        engine = next
        // After a restart the broker delivers the retained status.
        if let last { found += engine.report(battery(last, at: Double(second), retained: true)) }
      }
      #expect(found == model(levels, until: end, rule), "\(rule) \(levels.sorted { $0.key < $1.key })")
    }
  }

  /// Messages, announced sleep and restarts, after which the broker delivers a retained message.
  @Test func silenceAgreesWithAModelThatEvaluatesEverySecond() {
    var random = SplitMix.announced()
    for _ in 0..<300 {
      let rule = rule(.silent) { $0.duration = Double(Int.random(in: 1...40, using: &random)) }
      var engine = AlertEngine(rules: [rule], at: moment(0))
      var disk: [AlertEngine.EntryKey: AlertEngine.Entry] = [:]
      var (expected, found): ([String], [String]) = ([], [])
      // The times of the last message, and of the announced contact with its tolerance.
      var (heard, contact, isOpen) = (0.0, 0.0, false)
      // The time by which all retained messages have arrived after a restart.
      var complete = 0.0
      for second in stride(from: 0.0, through: 400, by: 1) {
        let due = max(heard + rule.duration, contact)
        if !isOpen, second >= max(due, complete) {
          expected.append("began \(Int(due))")
          isOpen = true
        }
        found += engine.pass(to: second)
        func message(retained: Bool) -> VehicleFacts {
          facts(contact > 0 ? .status : .contact, at: second, retained: retained) {
            ($0.heard, $0.overdue) = (moment(heard).timestamp, contact > 0 ? contact - second : nil)
          }
        }
        if second == 0 || Int.random(in: 0..<20, using: &random) == 0 {
          if isOpen { expected.append("ended \(Int(second))") }
          (heard, complete, isOpen) = (second, 0, false)
          contact = Bool.random(using: &random) ? second + Double(Int.random(in: 1...80, using: &random)) : 0
          found += engine.report(message(retained: false))
        }
        for (key, entry) in engine.drainChanges().entries { disk[key] = entry }
        guard Int.random(in: 0..<25, using: &random) == 0 else { continue }
        var next = AlertEngine(rules: [rule], at: moment(second), nextNumber: engine.nextNumber)
        let lost = next.restore(entries: disk.map { ($0, $1) }, open: engine.openAlerts, seen: [])
        #expect(lost.isEmpty)
        engine = next
        found += engine.report(message(retained: true))
        complete = second + 5
      }
      #expect(found == expected, "\(rule)")
    }
  }

  /// Each alert begins once, before it ends, and has a unique number.
  @Test func randomReportsAreBounded() {
    var random = SplitMix.announced()
    let rules = [
      rule(.offline) { $0.duration = 5 }, rule(.battery(below: 0.5, until: 0.6)), rule(.entered([])),
      rule(.left([])), rule(.silent) { $0.duration = 7 },
      rule(.event([])), rule(.queue(above: 10, until: 5)), rule(.speed(above: 1, until: 1)),
      rule(.accuracy(above: 1, until: 1)), rule(.trace([])),
    ]
    var engine = AlertEngine(rules: rules, at: moment(0), capacity: 500)
    var began: Set<Int64> = []
    var ended: Set<Int64> = []
    let numbers: [Double] = [.nan, .infinity, -.infinity, -1, 0, 0.3, 1, 1e300]
    let topics: [VehicleFacts.Topic] = [.status, .position, .regions, .event, .trace, .contact]
    for turn in 0..<30_000 {
      func name() -> String {
        let length = Int.random(in: 0..<40, using: &random) == 0 ? 60_000 : 3
        return "v\(UInt16.random(in: 0...400, using: &random))"
          + String(repeating: "\u{1F69A}", count: length)
      }
      let key = VehicleKey(fleet: "f", vehicle: name())
      let facts = facts(
        topics.randomElement(using: &random) ?? .status, at: Double(turn) / 10, of: key,
        state: VehicleState.allCases.randomElement(using: &random) ?? .unknown,
        retained: Bool.random(using: &random)
      ) { facts in
        facts.battery = numbers.randomElement(using: &random)
        facts.speed = numbers.randomElement(using: &random)
        facts.accuracy = numbers.randomElement(using: &random)
        facts.queue = numbers.randomElement(using: &random)
        facts.overdue = numbers.randomElement(using: &random)
        facts.inside = [name()]
        facts.outside = [name()]
        facts.isCrossing = Bool.random(using: &random)
        facts.event = .init(
          name: name(), summary: name(), key: name(), isOngoing: Bool.random(using: &random))
      }
      for change in engine.observe(facts) {
        let number = change.alert.number
        switch change {
        case .began, .happened: #expect(began.insert(number).inserted)
        case .ended: #expect(began.contains(number) && ended.insert(number).inserted)
        }
      }
      #expect(engine.entryCount <= 500)
    }
    #expect(engine.refused > 0 && engine.openAlerts.count <= 500)
    #expect(Set(engine.openAlerts.map(\.number)).isDisjoint(with: ended))
  }
}
