internal import Fleet
internal import FleetConsole
package import JSON
internal import MQTT
internal import Platform
internal import Telemetry

/// What became of what a vehicle was told.
struct VehicleOutcome: Hashable, Sendable {
  var state: String
  var problems: [String] = []
  var isGood = true
  /// Whether nothing more is waited for.
  var isFinal = true
  /// A command's result.
  var result: JSONValue?
  /// Regions that the vehicle watches, of those that it was told.
  var accepted = 0
  /// From the request to this.
  var seconds = 0.0

  var problem: String? { problems.isEmpty ? nil : problems.joined(separator: "; ") }
}

/// One message for each of some vehicles, and what becomes of it.
package struct VehicleRequests {
  static let unanswered = "has not reported; it will read this when it is back"
  /// Also where the command was interrupted: what is under way may still arrive.
  static let unsent = "not known to be sent: the broker has not confirmed it"

  private let exchange: FleetExchange
  private let vehicles: [VehicleKey]
  private let begin = SystemClock.monotonic
  private var tokens: [UInt64: VehicleKey] = [:]
  private var open: Set<VehicleKey>
  /// Those of which the broker has not taken the message over.
  private(set) var unsent: Set<VehicleKey>
  private(set) var outcomes: [VehicleKey: VehicleOutcome] = [:]

  /// Sends the messages; to vehicles that say in their status that they take none, nothing is sent, and nothing is waited for.
  /// - Parameter retained: what the broker keeps, with the vehicles' `status` in it.
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

  /// The vehicles whose status says that they take neither configuration nor regions nor commands.
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

  /// How long vehicles and broker have. A time that somebody gives holds; with no time for reports, what was sent has to
  /// arrive at the broker at least.
  /// - Parameter timeout: seconds, as given; 0 does not wait for reports.
  static func patience(timeout: Double) -> Double { timeout == 0 ? 15 : timeout }

  var elapsed: Double { Double(SystemClock.monotonic - begin) * 1e-9 }

  /// Waits until each vehicle has answered, or with a timeout of 0 until the broker has every message.
  /// - Parameter answer: whose answer a message is, and what it says; nil for one that answers none of these.
  /// - Returns: how the command ends when a signal ends it.
  mutating func wait(
    timeout: Double, answer: (MQTTMessage) -> (VehicleKey, VehicleOutcome)?
  ) throws(FleetError) -> ExitStatus? {
    let deadline = begin + Int64(Self.patience(timeout: timeout) * 1e9)
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
      case .disconnected(let reason): StandardError.say("\(reason); connecting again")
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

  /// How a command ends that has waited: a refusal goes before a missing report.
  var status: ExitStatus {
    if outcomes.values.contains(where: { $0.isFinal && !$0.isGood }) { return .unavailable }
    return vehicles.allSatisfy { outcomes[$0]?.isGood == true } ? .done : .timedOut
  }

  /// The state of a vehicle in JSON.
  func state(of key: VehicleKey) -> JSONValue {
    .string(outcomes[key]?.state ?? (unsent.contains(key) ? "unsent" : "unanswered"))
  }
}

extension CommandOutput {
  /// Prints for each vehicle an object in a line, or lines of text.
  static func print(
    _ vehicles: [VehicleKey], asJSON: Bool, members: (VehicleKey) -> [String: JSONValue],
    lines: (VehicleKey) -> [StyledText]
  ) throws(FleetError) {
    guard asJSON else { return try print(vehicles.flatMap(lines), styles: usesStyles) }
    try print(vehicles.map { $0.json(with: members($0)) }.joined())
  }
}

extension VehicleKey {
  /// A line of JSON about the vehicle.
  func json(with members: [String: JSONValue]) -> String {
    JSONValue.object(
      members.merging(["fleet": .string(fleet), "vehicle": .string(vehicle)]) { own, _ in own }
    ).text + "\n"
  }
}

/// What is wanted of a vehicle and what it says of it: retained documents.
package struct VehicleDocuments: Hashable, Sendable {
  package var desired: JSONValue?
  package var reported: JSONValue?
  /// How it stands with its regions.
  package var state: JSONValue?

  package init(desired: JSONValue? = nil, reported: JSONValue? = nil, state: JSONValue? = nil) {
    (self.desired, self.reported, self.state) = (desired, reported, state)
  }
}

/// What the broker keeps of one subject for each of some vehicles.
struct RetainedDocuments {
  let vehicles: [VehicleKey]
  private var documents: [VehicleKey: VehicleDocuments] = [:]

  /// - Parameters:
  ///   - vehicles: those that are meant, of which the broker may keep nothing.
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
