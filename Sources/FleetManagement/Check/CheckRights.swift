internal import Fleet
internal import MQTT
internal import Platform
internal import Telemetry

/// A test of this user's permissions in a broker's access list.
struct CheckRights {
  /// The time limit in seconds for each of the broker's answers.
  private static let answerTimeout = 10.0
  /// The seconds to wait for messages that arrive after the broker's answer, such as retained ones.
  private static let moments = 0.7

  private let root: String
  private let isVersion5: Bool
  private let operation: ManagementOperation
  private let filters: [String]
  private let probes: [(topic: String, purpose: String)]
  private let nonce = "check-\(String(UInt64.random(in: 0 ... .max), radix: 16))"

  init(
    _ broker: MQTTConfiguration, root: String, fleets: [String], isVersion5: Bool
  ) throws(FleetError) {
    self.root = root
    self.isVersion5 = isVersion5
    filters = try FleetSelection(root: root, fleets: fleets).filters()
    let fleet = fleets.first ?? "odograph-check"
    let base = "\(root)/\(fleet)/\(BrokerCheck.probeVehicle)"
    probes = [
      (base + "/config/desired", "odograph config set"), (base + "/regions/desired", "odograph regions push"),
      (base + "/command/status", "odograph command"),
    ]
    // A short reconnection delay, because some brokers close the connection at each rejection.
    var broker = broker
    broker.backoffBase = 0.2
    operation = try ManagementOperation(broker, root: root, filters: filters, storing: [])
  }

  func run() throws(FleetError) -> [CheckFinding] {
    try operation.start()
    defer { operation.close() }
    var findings: [CheckFinding] = []
    var granted: Set<String> = []
    var statuses: Set<String> = []
    var returned: Set<String> = []
    var trials = CheckTrials(count: probes.count)
    var waiting = Set(filters)
    var deadline = MonotonicTime.after(Self.answerTimeout)
    while true {
      guard let event = try operation.next(until: deadline) else {
        // The time limit for a subscription's answer or a returning message has expired. This is not a
        // failure: the next trial starts.
        guard trials.isAnswered, !trials.isOver, trials.isConnected else { break }
        begin(&trials, &deadline)
        continue
      }
      switch event {
      case .connected: trials.isConnected = true
      case .disconnected(let reason):
        let lost = trials.token
        guard trials.ended(reason) else { throw FleetError(reason) }
        // The message of the trial is withdrawn, so that its repetition does not end the next connection,
        // too.
        if let lost { operation.client.withdraw(lost) }
        deadline = .after(Self.answerTimeout)
      case .answered(let filter, let reason):
        // After a reconnection the filters are subscribed to again; only the first answer to each filter
        // counts.
        guard waiting.remove(filter) != nil else { continue }
        findings.append(finding(filter, reason))
        if !reason.isError { granted.insert(filter) }
      case .published(let token, let reason):
        guard trials.answered(token, reason) else { continue }
        if reason == nil, !isVersion5, !granted.isEmpty { deadline = .after(Self.moments) }
      case .message(let message):
        if message.retain, message.topic.hasSuffix("/status"), !message.payload.isEmpty {
          statuses.insert(message.topic)
        }
        if message.payload == Array(nonce.utf8) { returned.insert(message.topic) }
      case .interrupted(let signal): throw .interrupted(signal: signal)
      }
      // Trials start after all subscriptions are answered, so that a disconnection is attributed to the right
      // request.
      guard waiting.isEmpty, trials.isAnswered else { continue }
      if trials.isOver {
        // Retained messages and returning test messages arrive shortly after the last answer.
        deadline = min(deadline, .after(Self.moments))
      } else if trials.isConnected, isSettled(trials, granted, returned) {
        begin(&trials, &deadline)
      }
    }
    for filter in waiting.sorted() {
      findings.append(CheckFinding("subscribe", .failed, "\(filter): the broker did not answer"))
    }
    if trials.begun > 0 {
      for (probe, answer) in zip(probes, trials.answers) {
        findings.append(finding(probe, answer, hasReturned: returned.contains(probe.topic), granted))
      }
    }
    if !granted.isEmpty { findings.append(retained(statuses.count)) }
    return findings
  }

  /// Publishes the next trial.
  private func begin(_ trials: inout CheckTrials, _ deadline: inout MonotonicTime) {
    let topic = probes[trials.begun].topic
    trials.began(operation.client.publish(MQTTMessage(topic: topic, text: nonce, qos: .atLeastOnce)))
    deadline = .after(Self.answerTimeout)
  }

  /// Returns whether the last trial is complete: under MQTT 3.1.1 an accepted message must also have
  /// returned, because the next trial can end the connection.
  private func isSettled(_ trials: CheckTrials, _ granted: Set<String>, _ returned: Set<String>) -> Bool {
    guard !isVersion5, !granted.isEmpty, trials.begun > 0, case .accepted? = trials.answers[trials.begun - 1]
    else { return true }
    return returned.contains(probes[trials.begun - 1].topic)
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
    _ probe: (topic: String, purpose: String), _ answer: CheckTrials.Answer?, hasReturned: Bool,
    _ granted: Set<String>
  ) -> CheckFinding {
    let place = "\(probe.topic.dropFirst(root.utf8.count + 1)), for \(probe.purpose)"
    switch answer {
    case nil: return CheckFinding("publish", .failed, "\(place): the broker did not answer")
    case .refused(let reason):
      return CheckFinding(
        "publish", .warning, "\(place): \(reason)",
        remedy: "allow only users that manage vehicles to publish there")
    case .accepted:
      if isVersion5 || hasReturned { return CheckFinding("publish", .ok, "\(place): allowed") }
      // Under 3.1.1 some brokers acknowledge and drop a denied message: only a message that returns proves
      // the permission.
      return granted.isEmpty
        ? CheckFinding("publish", .unknown, "\(place): not reported by MQTT 3.1.1")
        : CheckFinding(
          "publish", .warning, "\(place): the broker acknowledged the test message but did not deliver it",
          remedy: "let this user publish to this topic if the user manages vehicles")
    }
  }

  private func retained(_ count: Int) -> CheckFinding {
    count > 0
      ? CheckFinding("retained", .ok, "the status of \(count) vehicle\(count == 1 ? "" : "s") is retained")
      : CheckFinding(
        "retained", .warning, "no retained status of a vehicle",
        remedy:
          "no vehicle has connected yet, the access list hides them, the broker does not persist messages (mosquitto: persistence), or it delivers "
          + "retained messages for exact topics only (RabbitMQ before 4): then name --fleet and --vehicle"
      )
  }
}
