package import Fleet
package import MQTT
internal import Platform

/// Requests of a command to vehicles, one message each, with their outcomes.
package struct VehicleRequests {
  /// A step of the wait for the vehicles' reports.
  package enum Progress {
    /// The number of vehicles that have reported, of all vehicles to which a request was sent.
    case reported(Int, of: Int)
    /// The connection is lost, and is retried.
    case disconnected(MQTTDisconnection)
  }

  private let operation: ManagementOperation
  private let ticket: ManagementState.Ticket
  package private(set) var reports: RequestOutcomes

  package var vehicles: [VehicleKey] { reports.vehicles }

  /// Sends the messages. Vehicles whose status declines remote management are skipped.
  ///
  /// - Parameters:
  ///   - timeout: the seconds to wait for reports; 0 to wait only for the broker's acknowledgements.
  ///   - answer: parses a vehicle's report.
  init(
    _ operation: ManagementOperation, _ vehicles: [VehicleKey], timeout: Double,
    message: (VehicleKey) -> MQTTMessage, answer: @escaping RequestOutcomes.Answer
  ) {
    let unmanaged = operation.client.withState { state in vehicles.filter { !state.isManaged($0) } }
    self.operation = operation
    reports = RequestOutcomes(
      vehicles, unmanaged: Set(unmanaged), at: .now, timeout: Self.timeLimit(timeout: timeout),
      answer: timeout == 0 ? nil : answer)
    ticket = operation.client.send(reports, message: message)
  }

  /// Returns the time limit in seconds. A timeout of 0 waits for no reports, but the messages must still
  /// reach the broker.
  /// - Parameter timeout: the requested seconds; 0 to wait for no reports.
  package static func timeLimit(timeout: Double) -> Double { timeout == 0 ? 15 : timeout }

  /// The seconds since the requests were sent.
  package var elapsed: Double { reports.begin.secondsElapsed }

  /// Waits until each vehicle has answered; with a timeout of 0, until the broker has accepted every message.
  /// - Parameter progress: called after each event.
  /// - Returns: the number of a signal that ended the wait; nil otherwise.
  package mutating func wait(progress: (Progress) -> Void) throws(FleetError) -> Int32? {
    let client = operation.client
    let count = reports.addressed.count
    while true {
      if case .reports(let last)? = client.outcome(of: ticket) {
        reports = last
        return nil
      }
      guard let event = try operation.next(until: reports.deadline) else { continue }
      if case .disconnected(let reason) = event { progress(.disconnected(reason)) }
      if case .interrupted(let signal) = event {
        if case .reports(let last)? = client.outcome(of: ticket, isOver: true) { reports = last }
        return signal
      }
      if let reported = client.withState({ $0.reportedCount(of: ticket) }) {
        progress(.reported(reported, of: count))
      }
    }
  }

  /// Disconnects from the broker.
  package func close() { operation.close() }
}
