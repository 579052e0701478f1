package import Fleet
package import JSON
package import MQTT
internal import Platform
internal import Telemetry

/// The outcome of one request to one vehicle.
package struct VehicleOutcome: Hashable, Sendable {
  package var state: String
  package var problems: [String] = []
  package var isGood = true
  /// True if no further report is expected.
  package var isFinal = true
  /// The result of a command; nil for other requests and for a failure.
  package var result: JSONValue?
  /// The number of requested regions that the vehicle monitors.
  package var accepted = 0
  /// The seconds since the request.
  package var seconds = 0.0

  package var problem: String? { problems.isEmpty ? nil : problems.joined(separator: "; ") }
}

/// Requests to vehicles, one message each, with their outcomes.
package struct VehicleRequests {
  /// A step of the wait for the vehicles' reports.
  package enum Progress {
    /// The number of vehicles that have reported, of all vehicles to which a request was sent.
    case reported(Int, of: Int)
    /// The connection is lost, and is retried.
    case disconnected(MQTTDisconnection)
  }

  /// The state of all requests together. A rejection takes precedence over a missing report.
  package enum Completion: Hashable, Sendable {
    case done
    case refused
    case unanswered
  }

  /// Returns the vehicle and the outcome of a message; nil for an unrelated message.
  typealias Answer = (MQTTMessage) -> (VehicleKey, VehicleOutcome)?

  private let exchange: FleetExchange
  private let answer: Answer
  package let vehicles: [VehicleKey]
  private let begin = SystemClock.monotonic
  private var tokens: [UInt64: VehicleKey] = [:]
  private var open: Set<VehicleKey>
  /// The vehicles whose message the broker has not accepted.
  package private(set) var unsent: Set<VehicleKey>
  package private(set) var outcomes: [VehicleKey: VehicleOutcome] = [:]

  /// Sends the messages. Vehicles whose status declines remote management are skipped.
  /// - Parameter retained: the retained messages, including the vehicles' `status`.
  init(
    _ exchange: FleetExchange, _ vehicles: [VehicleKey], retained: [MQTTMessage], root: String,
    message: (VehicleKey) -> MQTTMessage, answer: @escaping Answer
  ) {
    self.exchange = exchange
    self.answer = answer
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

  /// The seconds since the requests were sent.
  package var elapsed: Double { Double(SystemClock.monotonic - begin) * 1e-9 }

  /// Waits until each vehicle has answered; with a timeout of 0, until the broker has accepted every message.
  /// - Parameter progress: called after each event.
  /// - Returns: the number of a signal that ended the wait; nil otherwise.
  package mutating func wait(
    timeout: Double, progress: (Progress) -> Void
  ) throws(FleetError) -> Int32? {
    let deadline = begin + Int64(Self.timeLimit(timeout: timeout) * 1e9)
    let known = open
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
      case .disconnected(let reason): progress(.disconnected(reason))
      case .interrupted(let signal): return signal
      case .connected, .answered: break
      }
      progress(.reported(known.count - open.count, of: known.count))
    }
    return nil
  }

  private mutating func record(_ outcome: VehicleOutcome, of key: VehicleKey) {
    var outcome = outcome
    outcome.seconds = elapsed
    outcomes[key] = outcome
    if outcome.isFinal { open.remove(key) }
  }

  package var completion: Completion {
    if outcomes.values.contains(where: { $0.isFinal && !$0.isGood }) { return .refused }
    return vehicles.allSatisfy { outcomes[$0]?.isGood == true } ? .done : .unanswered
  }

  /// Returns the state of a vehicle's request: `unsent`, `unanswered`, or the state that the vehicle reported.
  package func state(of key: VehicleKey) -> String {
    outcomes[key]?.state ?? (unsent.contains(key) ? "unsent" : "unanswered")
  }

  /// Disconnects from the broker.
  package func close() { exchange.close() }
}
