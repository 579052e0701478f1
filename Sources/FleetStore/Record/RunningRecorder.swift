package import Fleet
internal import Glibc
internal import MQTT
internal import Platform
internal import Spatial

/// The counters of a recording.
package struct RecordCounts: Hashable, Sendable {
  /// The number of messages stored or recognized as duplicates.
  package var received = 0
  /// The number of messages that were not stored before.
  package var stored = 0
  /// The number of messages that were stored before.
  package var duplicates: Int { received - stored }
  package var commits = 0
  /// The total size of the received payloads in bytes.
  package var bytes = 0
  /// The number of times that the store became unavailable.
  package var interruptions = 0
  /// True while the store is unavailable. At the end, true if messages could not be stored for this reason.
  package var isInterrupted = false
}

/// A running recorder: receives messages from a source, and stores them on its own thread until the source ends.
package final class RunningRecorder: Sendable {
  private let plan: RecordPlan
  private let entry: RecordEntry
  private let total = Locked(RecordCounts())
  private let abandoned: EventDescriptor
  private let isAbandoned = Locked(false)
  private let finished: EventDescriptor
  /// Called when the number of messages of the plan is reached.
  private let reachedCount: @Sendable () -> Void
  private let report: @Sendable (RecordNotice) -> Void

  private init(
    _ plan: RecordPlan, _ entry: RecordEntry, report: @escaping @Sendable (RecordNotice) -> Void,
    reachedCount: @escaping @Sendable () -> Void
  ) throws(FleetError) {
    (self.plan, self.entry, self.report) = (plan, entry, report)
    self.reachedCount = reachedCount
    do throws(SystemError) {
      abandoned = try EventDescriptor()
      finished = try EventDescriptor()
    } catch { throw FleetError(error) }
  }

  package var counts: RecordCounts { total.withLock { $0 } }

  /// A sentence for the user about what the broker continues to store; nil for nothing.
  package var left: String? { entry.left }

  /// Starts a recorder.
  ///
  /// - Parameters:
  ///   - opened: the database, which the recorder closes at the end, and opens before if it was unavailable.
  ///   - report: called with notices about the database, on the recorder's thread.
  ///   - reachedCount: called when the plan's count is reached.
  /// - Throws: `FleetError` if the queue or a thread cannot be created.
  package static func start(
    _ plan: RecordPlan, into opened: sending OpenStore, from entry: RecordEntry,
    report: @escaping @Sendable (RecordNotice) -> Void, reachedCount: @escaping @Sendable () -> Void = {}
  ) throws(FleetError) -> RunningRecorder {
    let recorder = try RunningRecorder(plan, entry, report: report, reachedCount: reachedCount)
    if let batches = entry.source.batches { try recorder.start(opened, batches) }
    try entry.source.start()
    return recorder
  }

  /// Starts the thread.
  private func start(_ opened: sending OpenStore, _ queue: BatchQueue) throws(FleetError) {
    let isOpen = opened.isOpen
    let transfer = Locked<(any MessageStore)?>(opened.store)
    do throws(SystemError) {
      let thread = try DedicatedThread.start(name: "record") { [self] in
        if let store = transfer.withLock({ $0 }) {
          // Storing nothing opens the store.
          if isOpen || keep([], in: store) != nil { run(store, queue) }
          store.close()
        }
        finished.signal()
      }
      // The thread is not joined: `end` waits for `finished` instead, which can have a time limit.
      thread.detach()
    } catch { throw FleetError(error) }
  }

  /// Disconnects after the received messages were stored and acknowledged.
  /// - Parameter drain: the maximum time in s for storing and acknowledging.
  /// - Returns: true if all received messages were acknowledged.
  package func leaveBlocking(drain: Double) -> Bool { entry.source.leaveBlocking(drain: drain) }

  /// Waits until the remaining messages are stored.
  /// - Parameters:
  ///   - abandoning: true to give up if the store is unavailable.
  ///   - limit: the maximum time to wait in s.
  /// - Returns: true if the recorder has finished.
  @discardableResult
  package func end(abandoning: Bool, limit: Double) -> Bool {
    if abandoning {
      isAbandoned.withLock { $0 = true }
      abandoned.signal()
    }
    return finished.wait(seconds: limit)
  }

  private func run(_ store: any MessageStore, _ queue: BatchQueue) {
    var recording = MessageRecording(root: plan.root, profile: plan.profile)
    var size = CommitSize(most: plan.commitCount)
    var retention = Retention(days: plan.keptDays)
    while true {
      expire(store, &retention)
      switch queue.next(
        enough: size.enough, linger: plan.commitInterval, pause: 0.003, limit: Retention.interval)
      {
      case .nothing: continue
      case .finished: return
      case .batch(let batch, let isExhausted):
        size.took(batch.messages.count, isExhausted: isExhausted)
        let rows = batch.messages.map { recording.record($0, at: batch.receivedAt) }
        guard let added = keep(rows, in: store) else { return }
        let received = total.withLock { counts in
          counts.received += rows.count
          counts.stored += added
          counts.commits += 1
          counts.bytes += rows.reduce(0) { $0 + $1.payload.count }
          return counts.received
        }
        batch.acknowledge()
        if let count = plan.count, received >= count { reachedCount() }
      }
    }
  }

  /// Deletes old data if this is due. After a failure, the next attempt is an hour later.
  private func expire(_ store: any MessageStore, _ retention: inout Retention) {
    guard let due = retention.due(at: .now) else { return }
    do throws(FleetError) {
      let expiry = try store.expire(before: due.limit, today: due.today)
      guard expiry != StoreExpiry() else { return }
      report(
        RecordNotice(
          "\(store.name): \(Retention.sentence(expiry, before: due.limit))", isRoutine: true))
    } catch { report(RecordNotice("\(error); old messages are deleted at the next attempt, in an hour")) }
  }

  /// Stores rows, and retries until it succeeds or is abandoned.
  /// - Returns: the number of new messages; nil if it was abandoned.
  private func keep(_ rows: [RecordedMessage], in store: any MessageStore) -> Int? {
    var backoff = Backoff(floor: 0.05, base: 0.2, limit: 10)
    while true {
      do throws(FleetError) {
        let added = try store.store(rows)
        let wasInterrupted = total.withLock { counts in
          defer { counts.isInterrupted = false }
          return counts.isInterrupted
        }
        if wasInterrupted { report(RecordNotice("writing to \(store.name) again")) }
        return added
      } catch {
        let isNew = total.withLock { counts in
          defer { counts.isInterrupted = true }
          if !counts.isInterrupted { counts.interruptions += 1 }
          return !counts.isInterrupted
        }
        if isNew {
          report(RecordNotice("\(error); nothing is acknowledged to the broker until it is available"))
        }
        if abandoned.wait(seconds: backoff.next()) || isAbandoned.withLock({ $0 }) {
          if !rows.isEmpty {
            report(
              RecordNotice("\(rows.count) messages were not stored; they are not acknowledged to the broker"))
          }
          return nil
        }
      }
    }
  }
}

/// An adaptive commit size: the number of messages at which a commit starts without waiting for more. A pure
/// value type.
///
/// A broker limits the number of unacknowledged messages (EMQX: 32 by default). When this limit is reached,
/// it sends no further messages before a commit acknowledges them. Waiting for a larger batch would only
/// delay the commit.
package struct CommitSize: Hashable {
  /// The maximum number of messages in a commit.
  package let most: Int
  package private(set) var enough: Int
  /// The number of consecutive commits that reached the current size without waiting.
  private var streak = 0

  /// The number of consecutive full commits after which the size is doubled.
  private static let trial = 32

  package init(most: Int) {
    self.most = most
    enough = most
  }

  /// Records the size of a commit.
  /// - Parameters:
  ///   - count: the number of messages in the commit.
  ///   - isExhausted: true if the commit started because no more messages arrived for a while.
  package mutating func took(_ count: Int, isExhausted: Bool) {
    if isExhausted {
      (enough, streak) = (min(max(1, count), most), 0)
      return
    }
    streak += 1
    enough = min(max(enough, count), most)
    guard streak >= Self.trial else { return }
    (enough, streak) = (min(2 * enough, most), 0)
  }
}
