internal import DequeModule
internal import Fleet
internal import Spatial

/// The reports of vehicles that wait for the alerts' thread. Adding never waits, and the size is bounded.
///
/// While the thread is behind, only the newest state of each vehicle and topic waits. Events and removals have no newer report,
/// so they wait up to a higher limit.
struct ReportQueue: Sendable {
  /// The maximum number of states that wait in order of arrival, and of vehicles' newest states beyond that.
  static let stateLimit = 20_000
  /// The limit for events and removals, which no later message repeats.
  static let eventLimit = 120_000

  private struct StateKey: Hashable, Sendable {
    var vehicle: VehicleKey
    var topic: VehicleFacts.Topic
  }

  private var reports = Deque<VehicleFacts>()
  /// The newest states that did not fit into `reports`.
  private var overflow: [StateKey: VehicleFacts] = [:]
  /// The number of reports that a newer one replaced, and of those that did not fit.
  private(set) var dropped = 0

  var isEmpty: Bool { reports.isEmpty && overflow.isEmpty && dropped == 0 }

  /// Adds a report, or replaces an older one.
  mutating func add(_ report: VehicleFacts) {
    if report.topic.isState, reports.count >= Self.stateLimit || !overflow.isEmpty {
      let key = StateKey(vehicle: report.key, topic: report.topic)
      if overflow[key] == nil, overflow.count >= Self.stateLimit {
        dropped += 1
        return
      }
      if overflow.updateValue(report, forKey: key) != nil { dropped += 1 }
      return
    }
    guard reports.count < Self.eventLimit else {
      dropped += 1
      return
    }
    if report.topic == .removal, !overflow.isEmpty {
      overflow = overflow.filter { $0.key.vehicle != report.key }
    }
    reports.append(report)
  }

  /// The waiting reports in order of arrival.
  var inOrder: [VehicleFacts] {
    guard !overflow.isEmpty else { return Array(reports) }
    return (reports + overflow.values).sorted { $0.at.timestamp < $1.at.timestamp }
  }
}
