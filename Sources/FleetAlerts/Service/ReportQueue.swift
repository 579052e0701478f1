internal import DequeModule
internal import Fleet
internal import Spatial

/// The facts about vehicles that wait for the alerts' thread. Adding facts never blocks, and the size is
/// limited.
///
/// If the thread cannot keep up, only the newest state of each vehicle and topic waits. Events and removals
/// are never replaced by newer ones, so they have a higher limit.
package struct ReportQueue: Sendable {
  /// The maximum number of states that wait in order of arrival. Also the maximum number of newest states in
  /// `overflow`.
  package static let stateLimit = 20_000
  /// The maximum number of reports in total. Events and removals may use all of it, because no later message
  /// repeats them.
  package static let eventLimit = 120_000

  private struct StateKey: Hashable, Sendable {
    var vehicle: VehicleKey
    var topic: VehicleFacts.Topic
  }

  private var reports = Deque<VehicleFacts>()
  /// The newest state of each vehicle and topic, if it did not fit into `reports`.
  private var overflow: [StateKey: VehicleFacts] = [:]
  /// The number of reports that were replaced by newer ones or did not fit.
  package private(set) var dropped = 0

  package init() {}

  package var isEmpty: Bool { reports.isEmpty && overflow.isEmpty && dropped == 0 }

  /// Adds a report; a newer state in `overflow` replaces an older one.
  package mutating func add(_ report: VehicleFacts) {
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

  /// All waiting reports in order of arrival.
  package var inOrder: [VehicleFacts] {
    guard !overflow.isEmpty else { return Array(reports) }
    return (reports + overflow.values).sorted { $0.at.timestamp < $1.at.timestamp }
  }
}
