package import Fleet
internal import JSON

/// A change of the settings of several vehicles in stages.
///
/// A stage starts when all vehicles of the previous stage have applied the settings, so that a mistake only
/// affects the first few vehicles.
package struct ConfigRollout {
  package struct Stage: Sendable {
    /// The position among all stages, from 1.
    package let number: Int
    package let vehicles: [VehicleKey]
  }

  /// A desired setting that a new document does not contain, because the vehicle refuses it.
  package struct DroppedSetting: Sendable {
    package let vehicle: VehicleKey
    package let key: String
    package let reason: String
  }

  private let settings: ConfigSettings
  private let session: DocumentSession
  private let documents: RetainedDocuments
  /// The name of this change.
  package let version: String
  /// The stages that add vehicles.
  package let stages: [Stage]
  /// The number of selected vehicles, including those that no stage contains.
  package var vehicleCount: Int { documents.vehicles.count }

  /// Plans a change.
  ///
  /// - Parameters:
  ///   - percentages: for each stage, the ascending percentage of the vehicles that have received the settings
  ///     after the stage; above 0 and up to 100.
  ///   - version: the name of this change.
  /// - Throws: `FleetError` if no vehicle is found, and for keys to remove that are unknown.
  package init(
    _ settings: ConfigSettings, _ session: DocumentSession, percentages: [Double], version: String
  ) throws(FleetError) {
    let kept = try session.documents()
    try settings.checkRemovals(kept.vehicles.map { kept[$0] })
    // Vehicles are in pseudo-random order instead of sorted by name, so that the first few do not all belong
    // to one depot.
    let order = kept.vehicles.sorted { ($0.lot, $0) < ($1.lot, $1) }
    var stages: [Stage] = []
    var done = 0
    for (index, percentage) in percentages.enumerated() {
      let end = percentage >= 100 ? order.count : Int((Double(order.count) * percentage / 100).rounded(.up))
      guard end > done else { continue }
      stages.append(Stage(number: index + 1, vehicles: Array(order[done..<end])))
      done = end
    }
    (self.settings, self.session, self.version) = (settings, session, version)
    (documents, self.stages) = (kept, stages)
  }

  /// Publishes the desired settings of a stage's vehicles. Returns the requests, and the previously desired
  /// settings that the new documents do not contain.
  /// - Parameter timeout: the seconds to wait for reports; 0 to wait only for the broker's acknowledgements.
  package func request(_ stage: Stage, timeout: Double) -> (VehicleRequests, dropped: [DroppedSetting]) {
    var dropped: [DroppedSetting] = []
    let version = version
    let requests = session.request(stage.vehicles, timeout: timeout) { key in
      let document = settings.document(on: documents[key], version: version)
      dropped += document.leftBehind.map { DroppedSetting(vehicle: key, key: $0.key, reason: $0.reason) }
      return document.json.text
    } outcome: { _, report in
      // Reports about other documents are ignored.
      report["version"]?.string == version ? VehicleOutcome(settingsReport: report) : nil
    }
    return (requests, dropped)
  }
}

extension VehicleOutcome {
  /// Parses a vehicle's report about its settings; nil for a report without a state.
  init?(settingsReport report: JSONValue) {
    guard let state = report["state"]?.string else { return nil }
    let problem = report["problem"]?.string
    // If one key causes the rejection of all settings, the report contains this key as a refusal and as the
    // problem; it is printed once.
    let refusals = (report["refused"]?.array ?? []).map {
      "\($0["key"]?.string ?? "?"): \($0["reason"]?.string ?? "refused")"
    }.filter { problem != "key \($0)" }
    let ineffective = (report["ineffective"]?.array ?? []).map {
      "\($0["key"]?.string ?? "?") \($0["reason"]?.string ?? "")"
    }
    self.init(
      state: state, problems: [problem].compactMap { $0 } + refusals + ineffective,
      isGood: state == "applied", isFinal: ["applied", "refused", "rolledBack"].contains(state))
  }
}
