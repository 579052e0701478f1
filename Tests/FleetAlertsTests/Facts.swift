import Fleet
import FleetAlerts
import FleetFixtures
import Spatial

let van = VehicleKey(fleet: "demo", vehicle: "van")

/// Returns the facts of a message, `seconds` after noon.
func facts(
  _ topic: VehicleFacts.Topic, at seconds: Double, of key: VehicleKey = van, state: VehicleState = .online,
  retained: Bool = false, _ change: (inout VehicleFacts) -> Void = { _ in }
) -> VehicleFacts {
  var facts = VehicleFacts(key: key, topic: topic, at: moment(seconds), state: state, isRetained: retained)
  change(&facts)
  return facts
}

func battery(_ level: Double, at seconds: Double, of key: VehicleKey = van, retained: Bool = false)
  -> VehicleFacts
{
  facts(.status, at: seconds, of: key, retained: retained) { $0.battery = level }
}

func rule(
  _ condition: AlertRule.Condition, _ change: (inout AlertRule) -> Void = { _ in }
) -> AlertRule {
  var rule = AlertRule(name: condition.kind.rawValue, condition: condition)
  change(&rule)
  return rule
}

/// Transition and time in seconds after noon, e.g. `began 60`.
func brief(_ change: AlertChange) -> String {
  let time = change.transition == .ended ? change.alert.ended ?? change.alert.began : change.alert.began
  return "\(change.transition.rawValue) \(Int(time.seconds(since: noon).rounded()))"
}

extension AlertEngine {
  /// The alerts that have not ended, in the order of their numbers.
  var openAlerts: [Alert] { open.values.sorted { $0.number < $1.number } }
  mutating func report(_ facts: VehicleFacts) -> [String] { observe(facts).map(brief) }
  mutating func pass(to seconds: Double) -> [String] { advance(to: moment(seconds)).map(brief) }
}

/// A fleet whose messages reach the engine as in the service.
struct Subscriber {
  var roster = Roster()
  var engine: AlertEngine

  init(_ rules: AlertRule...) { engine = AlertEngine(rules: rules, at: moment(0)) }

  /// Processes a message of the vehicle `van`.
  mutating func receive(_ kind: String, _ json: String, retained: Bool = false, at seconds: Double)
    -> [AlertChange]
  {
    let (outcome, key, content) = roster.applyDecoding(
      topic: "odograph/v1/demo/van/\(kind)", payload: Array(json.utf8), retained: retained,
      at: moment(seconds))
    guard outcome == .applied, let key, let record = roster[key], case .message(let message)? = content,
      let facts = VehicleFacts(message, isRetained: retained, of: record, at: moment(seconds))
    else { return engine.advance(to: moment(seconds)) }
    return engine.observe(facts)
  }

  mutating func locate(
    _ speed: Double?, at time: Double, arriving seconds: Double, latitude: Double = 48, retained: Bool = false
  ) -> [AlertChange] {
    receive("location", locationJSON(latitude, at: time, speed: speed), retained: retained, at: seconds)
  }
}
