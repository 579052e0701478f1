internal import JSON
package import Logging
package import Pipeline
internal import Positioning
package import Spatial
package import Telemetry

/// The agent's beacon map: learns from scans taken with accurate fixes, shares them, and receives the fleet's
/// map. Used by the pipeline's thread only.
package struct BeaconMemory: Sendable {
  /// The configured store, and which functions of the beacon map are enabled.
  package struct Plan: Sendable {
    package var store: BeaconStore
    package var learns: Bool
    package var shares: Bool
    var receives: Bool
    var log: Logger

    package init(
      store: BeaconStore, learns: Bool = true, shares: Bool = false, receives: Bool = false, log: Logger
    ) {
      (self.store, self.learns, self.shares, self.receives, self.log) = (store, learns, shares, receives, log)
    }
  }

  private let plan: Plan
  private var batch = ScanBatch()
  /// Requests for the fleet's map; nil if it is not received.
  private var wanted: WantedBeacons?

  package init(_ plan: Plan) {
    self.plan = plan
    wanted = plan.receives ? WantedBeacons(versions: plan.store.versions()) : nil
  }

  /// Call it after the pipeline has processed an event.
  /// - Returns: messages to publish.
  package mutating func process(_ pipeline: inout AgentPipeline, at now: Timestamp) -> [VehicleMessage] {
    for scan in pipeline.drainLearnable() { learn(scan, at: now) }
    let unwanted = pipeline.drainOptedOut()
    if !unwanted.isEmpty {
      plan.store.drop(unwanted)
      batch.drop(unwanted)
    }
    // A clock that is years ahead by mistake must not age the map.
    plan.store.advance(
      to: now, day: pipeline.trustedTime(at: now)?.day, zones: pipeline.privacyZones)
    if plan.store.drainIsAnew() { wanted?.forgetAll() }
    wanted?.forget(plan.store.drainLost())
    var messages: [VehicleMessage] = []
    if let scan = batch.due(at: now, isShown: { pipeline.shown(stored: $0) != nil }) {
      messages.append(.scan(scan))
    }
    // The published position, subject to the same privacy rules as locations.
    let place = wanted == nil ? nil : pipeline.lastKnown?.location.coordinate
    if let message = wanted?.due(at: now, place: place, time: pipeline.utc(at: now)) {
      messages.append(.beaconsWanted(message))
    }
    return messages
  }

  private mutating func learn(_ scan: LearnableScan, at now: Timestamp) {
    if plan.learns {
      plan.store.learn(
        scan.scan, at: scan.coordinate.coordinate, accuracy: scan.accuracy, day: scan.time.day,
        isContested: scan.isContested)
    }
    // If known beacons contradict the position, the scan is not shared until the vehicle itself accepts the
    // position.
    if plan.shares, !scan.isContested { batch.append(scan, at: now) }
  }

  /// Processes a received piece of the fleet's map.
  package mutating func accept(_ payload: [UInt8], at now: Timestamp) {
    do throws(JSONError) {
      guard let (piece, isLast) = try wanted?.accept(payload, at: now) else { return }
      plan.store.accept(piece.beacons)
      if isLast { plan.store.setVersion(piece.version, of: piece.cell.text) }
      plan.log.info(
        .beaconsReceived, "piece of the fleet's map of beacons received",
        metadata: [
          "cell": "\(piece.cell)", "part": "\(piece.part)/\(piece.count)",
          "beacons": "\(piece.beacons.count)",
        ])
    } catch {
      plan.log.warning(
        .beaconsRefused, "piece of the fleet's map of beacons refused", metadata: ["reason": "\(error)"])
    }
  }

  /// Stores pending data at a clean stop.
  package mutating func close(_ pipeline: AgentPipeline) -> [VehicleMessage] {
    plan.store.close()
    return batch.drain(isShown: { pipeline.shown(stored: $0) != nil }).map { [.scan($0)] } ?? []
  }
}

extension UTCTime {
  /// Days since 1970.
  fileprivate var day: Int { Int((Double(nanoseconds) / 86_400e9).rounded(.down)) }
}
