package import Fleet
package import JSON
package import MQTT
package import Platform

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

/// The outcomes of one request to several vehicles: the broker's acknowledgements, and the vehicles' reports.
///
/// A value type without a clock. Times are monotonic, in ns.
package struct RequestOutcomes: Sendable {
  /// Returns the vehicle and the outcome of a message; nil for an unrelated message.
  package typealias Answer = @Sendable (MQTTMessage) -> (VehicleKey, VehicleOutcome)?

  /// The state of all requests together. A rejection takes precedence over a missing report.
  package enum Completion: Hashable, Sendable {
    case done
    case refused
    case unanswered
  }

  package let vehicles: [VehicleKey]
  /// The time of the request.
  let begin: MonotonicTime
  /// The time at which waiting ends.
  let deadline: MonotonicTime
  /// Parses a vehicle's report; nil to wait only for the broker's acknowledgements.
  private let answer: Answer?
  /// The vehicles to which a message was sent.
  let addressed: Set<VehicleKey>
  private var open: Set<VehicleKey>
  /// The vehicles whose message the broker has not accepted.
  package private(set) var unsent: Set<VehicleKey>
  package private(set) var outcomes: [VehicleKey: VehicleOutcome] = [:]

  /// Creates the outcomes of a request.
  ///
  /// - Parameters:
  ///   - unmanaged: vehicles that decline remote management; nothing is sent to them.
  ///   - timeout: the seconds to wait.
  ///   - answer: parses a vehicle's report; nil to wait only for the broker's acknowledgements.
  package init(
    _ vehicles: [VehicleKey], unmanaged: Set<VehicleKey> = [], at now: MonotonicTime, timeout: Double,
    answer: Answer?
  ) {
    (self.vehicles, self.answer, begin) = (vehicles, answer, now)
    deadline = now.advanced(bySeconds: timeout)
    addressed = Set(vehicles).subtracting(unmanaged)
    (open, unsent) = (addressed, addressed)
    for key in vehicles where unmanaged.contains(key) {
      outcomes[key] = VehicleOutcome(state: "unmanaged", problems: [Self.notManaged], isGood: false)
    }
  }

  package static let notManaged =
    "nothing was sent: the vehicle is not managed over MQTT; set remote.enabled = true in its configuration"

  /// Records the broker's acknowledgement of a vehicle's message.
  /// - Parameter refusal: the reason of a rejection; nil if the broker accepted the message.
  mutating func acknowledged(_ key: VehicleKey, refusal: String?, at now: MonotonicTime) {
    unsent.remove(key)
    if let refusal {
      record(VehicleOutcome(state: "refused", problems: [refusal], isGood: false), of: key, at: now)
    } else if answer == nil {
      record(VehicleOutcome(state: "sent"), of: key, at: now)
    }
  }

  /// Records the report in a message.
  mutating func receive(_ message: MQTTMessage, at now: MonotonicTime) {
    guard let (key, outcome) = answer?(message), addressed.contains(key) else { return }
    record(outcome, of: key, at: now)
  }

  private mutating func record(_ outcome: VehicleOutcome, of key: VehicleKey, at now: MonotonicTime) {
    var outcome = outcome
    outcome.seconds = now.seconds(since: begin)
    outcomes[key] = outcome
    if outcome.isFinal { open.remove(key) }
  }

  /// True if no acknowledgement and no report is expected any more.
  var isComplete: Bool { open.isEmpty }

  /// The number of vehicles that have reported.
  var reportedCount: Int { addressed.count - open.count }

  package var completion: Completion {
    if outcomes.values.contains(where: { $0.isFinal && !$0.isGood }) { return .refused }
    return vehicles.allSatisfy { outcomes[$0]?.isGood == true } ? .done : .unanswered
  }

  /// Returns the state of a vehicle's request: `unsent`, `unanswered`, or the state that the vehicle reported.
  package func state(of key: VehicleKey) -> String {
    outcomes[key]?.state ?? (unsent.contains(key) ? "unsent" : "unanswered")
  }
}
