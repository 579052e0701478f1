internal import Fleet
internal import FleetConsole
internal import MQTT
internal import Platform
internal import Telemetry

/// Finds out what a broker's access list lets this user do.
struct CheckRights {
  /// Seconds for the broker's answers.
  private static let patience = 10.0

  private let root: String
  private let isVersion5: Bool
  private let exchange: FleetExchange
  private let filters: [String]
  private let probes: [(topic: String, purpose: String)]
  private let nonce = "check-\(String(UInt64.random(in: 0 ... .max), radix: 16))"

  init(_ options: CheckOptions, _ broker: MQTTConfiguration, isVersion5: Bool) throws(FleetError) {
    root = options.broker.topicRoot
    let fleets = options.broker.fleets(options.fleet)
    self.isVersion5 = isVersion5
    filters = try FleetSelection(root: root, fleets: fleets).filters()
    let fleet = fleets.first ?? "odograph-check"
    let base = "\(root)/\(fleet)/\(CheckCommand.probeVehicle)"
    probes = [
      (base + "/config/desired", "odograph config set"), (base + "/regions/desired", "odograph regions push"),
      (base + "/command/status", "odograph command"),
    ]
    exchange = try FleetExchange(broker, filters: filters)
  }

  mutating func run() throws(FleetError) -> [CheckFinding] {
    try exchange.start()
    defer { exchange.close() }
    var findings: [CheckFinding] = []
    var granted: Set<String> = []
    var statuses: Set<String> = []
    var returned: Set<String> = []
    var answers: [UInt64: MQTTReasonCode?] = [:]
    var tokens: [UInt64] = []
    var waiting = Set(filters)
    var deadline = SystemClock.monotonic + Int64(Self.patience * 1e9)
    while let event = try exchange.next(until: deadline) {
      switch event {
      case .connected:
        // Asked once: a connection that is made anew has the session send again what was not answered.
        guard tokens.isEmpty else { continue }
        tokens = probes.map { exchange.publish(MQTTMessage(topic: $0.topic, text: nonce, qos: .atLeastOnce)) }
      case .disconnected(let reason): throw FleetError(reason)
      case .answered(let filter, let reason):
        waiting.remove(filter)
        findings.append(finding(filter, reason))
        if !reason.isError { granted.insert(filter) }
      case .published(let token, let reason): answers[token] = .some(reason)
      case .message(let message):
        if message.retain, message.topic.hasSuffix("/status"), !message.payload.isEmpty {
          statuses.insert(message.topic)
        }
        if message.payload == Array(nonce.utf8) { returned.insert(message.topic) }
      case .interrupted(let status): throw .interrupted(status)
      }
      // What the broker keeps, and what comes back, follows within moments.
      if waiting.isEmpty, answers.count == tokens.count, !tokens.isEmpty {
        deadline = min(deadline, SystemClock.monotonic + 700_000_000)
      }
    }
    for filter in waiting.sorted() {
      findings.append(CheckFinding("subscribe", .failed, "\(filter): the broker did not answer"))
    }
    for (probe, token) in zip(probes, tokens) {
      findings.append(finding(probe, answers[token], hasReturned: returned.contains(probe.topic), granted))
    }
    if !granted.isEmpty { findings.append(retained(statuses.count)) }
    return findings
  }

  private func finding(_ filter: String, _ reason: MQTTReasonCode) -> CheckFinding {
    if reason.isError {
      return CheckFinding(
        "subscribe", .failed, "\(filter): \(reason)",
        remedy: "let this user read it in the broker's access list (mosquitto: topic read \(filter))")
    }
    if reason.rawValue == 0 {
      return CheckFinding(
        "subscribe", .warning, "\(filter): granted with QoS 0 only: messages may be lost",
        remedy: "allow QoS 1 (mosquitto: max_qos)")
    }
    return CheckFinding("subscribe", .ok, "\(filter): granted")
  }

  private func finding(
    _ probe: (topic: String, purpose: String), _ answer: MQTTReasonCode??, hasReturned: Bool,
    _ granted: Set<String>
  ) -> CheckFinding {
    let place = "\(probe.topic.dropFirst(root.utf8.count + 1)), for \(probe.purpose)"
    switch answer {
    case .none: return CheckFinding("publish", .failed, "\(place): the broker did not answer")
    case .some(.some(let reason)):
      return CheckFinding(
        "publish", .warning, "\(place): \(reason)",
        remedy: "let this user write there where it is to manage vehicles, and nobody else")
    case .some(.none):
      if isVersion5 || hasReturned { return CheckFinding("publish", .ok, "\(place): allowed") }
      // Under 3.1.1 a message that is denied is acknowledged and thrown away: only its coming back tells.
      return granted.isEmpty
        ? CheckFinding("publish", .unknown, "\(place): MQTT 3.1.1 does not tell")
        : CheckFinding(
          "publish", .warning, "\(place): acknowledged, but it did not arrive",
          remedy: "let this user write there where it is to manage vehicles")
    }
  }

  private func retained(_ count: Int) -> CheckFinding {
    count > 0
      ? CheckFinding("retained", .ok, "the status of \(count) vehicle\(count == 1 ? "" : "s") is kept")
      : CheckFinding(
        "retained", .warning, "no vehicle's status is kept",
        remedy:
          "none has been here yet, or the access list hides them, or the broker forgets (mosquitto: persistence), or hands "
          + "what it keeps to those alone who name its topic (RabbitMQ before 4): then name --fleet and --vehicle"
      )
  }
}
