internal import Fleet
internal import FleetCommand
package import JSON
internal import MQTT
internal import Platform
internal import Telemetry

/// The outcome of one request to one vehicle.
struct VehicleOutcome: Hashable, Sendable {
  var state: String
  var problems: [String] = []
  var isGood = true
  /// True if no further report is expected.
  var isFinal = true
  /// The result of a command; nil for other requests and for a failure.
  var result: JSONValue?
  /// The number of requested regions that the vehicle monitors.
  var accepted = 0
  /// The seconds since the request.
  var seconds = 0.0

  var problem: String? { problems.isEmpty ? nil : problems.joined(separator: "; ") }
}

/// Requests to vehicles, one message each, with their outcomes.
package struct VehicleRequests {
  static let unanswered = "has not reported; the vehicle receives this when it reconnects"
  /// The text for a message that the broker has not acknowledged. Also used after an interruption, because a
  /// message in flight can still arrive.
  static let unsent = "possibly not sent: the broker has not confirmed it"

  private let exchange: FleetExchange
  private let vehicles: [VehicleKey]
  private let begin = SystemClock.monotonic
  private var tokens: [UInt64: VehicleKey] = [:]
  private var open: Set<VehicleKey>
  /// The vehicles whose message the broker has not accepted.
  private(set) var unsent: Set<VehicleKey>
  private(set) var outcomes: [VehicleKey: VehicleOutcome] = [:]

  /// Sends the messages. Vehicles whose status declines remote management are skipped.
  /// - Parameter retained: the retained messages, including the vehicles' `status`.
  init(
    _ exchange: FleetExchange, _ vehicles: [VehicleKey], retained: [MQTTMessage], root: String,
    message: (VehicleKey) -> MQTTMessage
  ) {
    self.exchange = exchange
    self.vehicles = vehicles
    let unmanaged = Self.unmanaged(retained, root: root)
    open = Set(vehicles).subtracting(unmanaged)
    unsent = open
    for key in vehicles {
      if unmanaged.contains(key) {
        outcomes[key] = VehicleOutcome(state: "unmanaged", problems: [Self.notManaged], isGood: false)
      } else {
        tokens[exchange.publish(message(key))] = key
      }
    }
  }

  package static let notManaged =
    "nothing was sent: the vehicle is not managed over MQTT; set remote.enabled = true in its configuration"

  /// Returns the vehicles whose status declines configuration, regions and commands.
  static func unmanaged(_ retained: [MQTTMessage], root: String) -> Set<VehicleKey> {
    Set(
      retained.compactMap { message in
        guard let address = TopicAddress(topic: message.topic, root: root), address.kind == .status,
          let json = try? JSONValue(parsing: message.payload),
          let status = try? StatusMessage(json: json), status.isManagedRemotely == false
        else { return nil }
        return address.key
      })
  }

  /// Returns the time limit in seconds. A timeout of 0 waits for no reports, but the messages must still
  /// reach the broker.
  /// - Parameter timeout: the requested seconds; 0 to wait for no reports.
  static func timeLimit(timeout: Double) -> Double { timeout == 0 ? 15 : timeout }

  var elapsed: Double { Double(SystemClock.monotonic - begin) * 1e-9 }

  /// Waits until each vehicle has answered; with a timeout of 0, until the broker has accepted every message.
  /// - Parameter answer: returns the vehicle and outcome of a message; nil for an unrelated message.
  /// - Returns: the exit status if a signal arrived; nil otherwise.
  mutating func wait(
    timeout: Double, answer: (MQTTMessage) -> (VehicleKey, VehicleOutcome)?
  ) throws(FleetError) -> ExitStatus? {
    let deadline = begin + Int64(Self.timeLimit(timeout: timeout) * 1e9)
    let known = open
    var progress = ProgressLine()
    defer { progress.clear() }
    while !(timeout == 0 ? unsent : open).isEmpty, let event = try exchange.next(until: deadline) {
      switch event {
      case .published(let token, let reason):
        guard let key = tokens[token] else { continue }
        unsent.remove(key)
        if let reason {
          let problem = "by the broker: \(reason); check its access list for this user"
          record(VehicleOutcome(state: "refused", problems: [problem], isGood: false), of: key)
        } else if timeout == 0 {
          record(VehicleOutcome(state: "sent"), of: key)
        }
      case .message(let message):
        if let (key, outcome) = answer(message), known.contains(key) { record(outcome, of: key) }
      case .disconnected(let reason): StandardError.report("\(reason); connecting again")
      case .interrupted(let status): return status
      case .connected, .answered: break
      }
      progress.show { [self] in "\(known.count - open.count) of \(known.count) have reported" }
    }
    return nil
  }

  private mutating func record(_ outcome: VehicleOutcome, of key: VehicleKey) {
    var outcome = outcome
    outcome.seconds = elapsed
    outcomes[key] = outcome
    if outcome.isFinal { open.remove(key) }
  }

  /// The exit status after waiting: a rejection takes precedence over a missing report.
  var status: ExitStatus {
    if outcomes.values.contains(where: { $0.isFinal && !$0.isGood }) { return .unavailable }
    return vehicles.allSatisfy { outcomes[$0]?.isGood == true } ? .done : .timedOut
  }

  /// Returns the state of a vehicle's request for JSON output.
  func state(of key: VehicleKey) -> JSONValue {
    .string(outcomes[key]?.state ?? (unsent.contains(key) ? "unsent" : "unanswered"))
  }
}

extension CommandOutput {
  /// Prints a JSON object per line, or lines of text, for each vehicle.
  static func print(
    _ vehicles: [VehicleKey], asJSON: Bool, members: (VehicleKey) -> [String: JSONValue],
    lines: (VehicleKey) -> [StyledText]
  ) throws(FleetError) {
    guard asJSON else { return try print(vehicles.flatMap(lines), styles: usesStyles) }
    try print(vehicles.map { $0.json(with: members($0)) }.joined())
  }
}

extension VehicleKey {
  /// Returns a line of JSON with the names of fleet and vehicle, and other members.
  func json(with members: [String: JSONValue]) -> String {
    JSONValue.object(
      members.merging(["fleet": .string(fleet), "vehicle": .string(vehicle)]) { own, _ in own }
    ).text + "\n"
  }
}

/// The retained documents of a vehicle: desired and reported.
package struct VehicleDocuments: Hashable, Sendable {
  package var desired: JSONValue?
  package var reported: JSONValue?
  /// The states of the vehicle's regions; nil if unknown.
  package var state: JSONValue?

  package init(desired: JSONValue? = nil, reported: JSONValue? = nil, state: JSONValue? = nil) {
    (self.desired, self.reported, self.state) = (desired, reported, state)
  }
}

/// The retained documents of one subject for several vehicles.
struct RetainedDocuments {
  let vehicles: [VehicleKey]
  private var documents: [VehicleKey: VehicleDocuments] = [:]

  /// Collects the documents.
  ///
  /// - Parameters:
  ///   - vehicles: the vehicles, including those without retained messages.
  ///   - subject: `config` or `regions`.
  init(vehicles: [VehicleKey], subject: String, from messages: [MQTTMessage], root: String) {
    self.vehicles = vehicles
    for message in messages {
      guard let address = TopicAddress(topic: message.topic, root: root) else { continue }
      let json = try? JSONValue(parsing: message.payload)
      switch address.path {
      case subject + "/desired": documents[address.key, default: VehicleDocuments()].desired = json
      case subject + "/reported": documents[address.key, default: VehicleDocuments()].reported = json
      case subject + "/state": documents[address.key, default: VehicleDocuments()].state = json
      default: break
      }
    }
  }

  subscript(key: VehicleKey) -> VehicleDocuments { documents[key] ?? VehicleDocuments() }
}
