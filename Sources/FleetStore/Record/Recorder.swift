internal import Fleet
internal import FleetConsole
internal import Glibc
internal import MQTT
internal import Platform
internal import Spatial

/// What a recording has done so far.
struct RecordCounts: Hashable, Sendable {
  /// Messages received and dealt with.
  var received = 0
  /// Messages that were not in the store before.
  var stored = 0
  /// Messages that were.
  var duplicates: Int { received - stored }
  var commits = 0
  /// Bytes of payload stored.
  var bytes = 0
  /// Times that the store was away.
  var interruptions = 0
  /// Whether it is away now; at the end, whether messages were left unstored for that.
  var isInterrupted = false
}

/// Takes batches from a subscriber and stores them, on a thread of its own, until the subscriber has no more.
final class Recorder: Sendable {
  private let plan: RecordPlan
  private let counts = Locked(RecordCounts())
  private let abandoned: EventDescriptor
  private let isAbandoned = Locked(false)
  private let finished: EventDescriptor
  /// Called when the count that was asked for is reached.
  private let reachedCount: @Sendable () -> Void

  init(_ plan: RecordPlan, reachedCount: @escaping @Sendable () -> Void) throws(FleetError) {
    self.plan = plan
    self.reachedCount = reachedCount
    do throws(SystemError) {
      abandoned = try EventDescriptor()
      finished = try EventDescriptor()
    } catch { throw FleetError(error) }
  }

  var current: RecordCounts { counts.withLock { $0 } }

  /// - Parameter store: opened; the recorder closes it at the end.
  func start(_ store: sending any MessageStore, _ queue: BatchQueue) throws(FleetError) {
    let transfer = Locked<(any MessageStore)?>(store)
    do throws(SystemError) {
      let thread = try DedicatedThread.start(name: "record") { [self] in
        if let store = transfer.withLock({ $0 }) {
          run(store, queue)
          store.close()
        }
        finished.signal()
      }
      // `end` waits for the signal, since it does so for a limited time.
      thread.detach()
    } catch { throw FleetError(error) }
  }

  /// Gives up on what the store does not take, and waits for the end.
  /// - Parameter limit: seconds, after which it is left alone.
  /// - Returns: whether it has ended.
  @discardableResult
  func end(abandoning: Bool, limit: Double) -> Bool {
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
        let total = counts.withLock { counts in
          counts.received += rows.count
          counts.stored += added
          counts.commits += 1
          counts.bytes += rows.reduce(0) { $0 + $1.payload.count }
          return counts.received
        }
        batch.acknowledge()
        if let count = plan.count, total >= count { reachedCount() }
      }
    }
  }

  /// Deletes what is too old when it is time to look. What fails is tried again at the next time.
  private func expire(_ store: any MessageStore, _ retention: inout Retention) {
    guard let due = retention.due(at: UTCTime(nanoseconds: SystemClock.realtime)) else { return }
    do throws(FleetError) {
      let expiry = try store.expire(before: due.limit, today: due.today)
      guard expiry != StoreExpiry(), !plan.isQuiet else { return }
      StandardError.say("\(store.name): \(Retention.sentence(expiry, before: due.limit))")
    } catch { StandardError.say("\(error); what is too old stays for another hour") }
  }

  /// Stores rows, however long it takes; nil when that was given up.
  private func keep(_ rows: [RecordedMessage], in store: any MessageStore) -> Int? {
    var backoff = Backoff(floor: 0.05, base: 0.2, limit: 10)
    while true {
      do throws(FleetError) {
        let added = try store.store(rows)
        let wasInterrupted = counts.withLock { counts in
          defer { counts.isInterrupted = false }
          return counts.isInterrupted
        }
        if wasInterrupted { StandardError.say("writing to \(store.name) again") }
        return added
      } catch {
        let isNew = counts.withLock { counts in
          defer { counts.isInterrupted = true }
          if !counts.isInterrupted { counts.interruptions += 1 }
          return !counts.isInterrupted
        }
        if isNew { StandardError.say("\(error); nothing is acknowledged to the broker until it takes it") }
        if abandoned.wait(seconds: backoff.next()) || isAbandoned.withLock({ $0 }) {
          StandardError.say("leaving \(rows.count) messages unstored; the broker was not told that they came")
          return nil
        }
      }
    }
  }
}

/// After how many messages a commit does not wait for more: learns what there is to wait for. Pure.
///
/// A broker lets so many messages be under way (EMQX, unless told otherwise, 32) and sends no others until those
/// are acknowledged, which they are after the commit: waiting for more is waiting for nothing then.
struct CommitSize: Hashable {
  /// Never above this.
  let most: Int
  private(set) var enough: Int
  /// Commits in a row that had enough.
  private var streak = 0

  /// So many commits with enough, and it is tried whether there is more.
  private static let trial = 32

  init(most: Int) {
    self.most = most
    enough = most
  }

  /// A commit took so many messages.
  /// - Parameter isExhausted: no more came for a while.
  mutating func took(_ count: Int, isExhausted: Bool) {
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
