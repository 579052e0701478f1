internal import Fleet
internal import FleetManagement
internal import FleetProgram
internal import JSON

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

extension VehicleRequests {
  /// Waits for the vehicles' reports, and shows the progress.
  /// - Returns: the exit status if a signal arrived; nil otherwise.
  mutating func waitWithProgress() throws(FleetError) -> ExitStatus? {
    var line = ProgressLine()
    defer { line.clear() }
    let signal = try wait { progress in
      switch progress {
      case .reported(let count, let all): line.show { "\(count) of \(all) have reported" }
      case .disconnected(let reason): StandardError.report("\(reason); connecting again")
      }
    }
    return signal.map { ExitStatus(signal: $0) }
  }

  /// The exit status after waiting.
  var status: ExitStatus {
    switch reports.completion {
    case .done: .done
    case .refused: .unavailable
    case .unanswered: .timedOut
    }
  }

  /// Returns the text for a vehicle without an outcome.
  /// - Parameter unanswered: the text if the broker has accepted the message. Otherwise it may not have been
  ///   sent; also after an interruption, because a message in flight can still arrive.
  func pendingText(
    of key: VehicleKey, unanswered: String = "has not reported; the vehicle receives this when it reconnects"
  ) -> String {
    reports.unsent.contains(key) ? "possibly not sent: the broker has not confirmed it" : unanswered
  }
}
