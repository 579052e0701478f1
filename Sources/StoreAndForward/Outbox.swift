internal import Glibc
package import Platform
package import Telemetry

/// The durable queue between the vehicle's decisions and the broker's acknowledgement.
///
/// ## Invariants
/// 1. When `append` returns, the record is in the store, or in the file of recent records (`RecentRecords`),
///    or, while the disk is not writable, in memory, which the status reports. A crash of the program loses
///    nothing that is on disk. A power cut loses nothing of the events lane and at most the last second of
///    the others (`OutboxConfiguration.Durability`): there is one flash sync per event and one per second for
///    everything else. Records that a broker acknowledges within 0.8 s are never written to the store.
/// 2. A record leaves by `remove` (acknowledged), by `reject` (to the dead letters), or by its lane's limits
///    (the oldest are dropped and counted), and in no other way.
/// 3. Epoch and seq identify a record permanently. Numbers are assigned only below the mark, a limit that is
///    already safe on disk (`Sequence`). A store that is a copy of another store, or that replaces a damaged
///    store, starts a new epoch.
/// 4. Within a lane, records are handed out in order of acceptance, each once until `offerAgain`. Only the
///    state lane replaces records: it contains the newest of each topic. Only the newest retained record of a
///    topic overtakes a long backlog of its lane; the older ones follow without their retain flag, so the
///    broker's retained message never goes back in time, and then the newest again (`LastKnown`).
/// 5. Memory does not grow with the backlog: records are read in portions from a cursor, and the oldest is
///    found without a search.
/// 6. The wall clock has no influence. Ages are measured by the store's own clock (`StoreClock`).
///
/// ## On disk
/// One SQLite database in WAL mode (`Schema`): `meta` (format, epoch, mark, clock, inode), `lanes` (what each
/// contains and has dropped), a table per lane keyed by seq, `dead`, and `documents` with the program's state
/// (`PreservedDocument`). Each record and each document has a checksum of its whole content. Beside the database are `….lock`, locked while an outbox has the store open, and `….recent`, with
/// the newest records of lanes in which nothing older waits. A damaged store is renamed to `….damaged-DATE`,
/// and `….salvage` contains its name until all verifiable records are transferred (`Salvage`). Acknowledged
/// records are deleted in groups, within half a second: after a crash in between they are sent again, with
/// the same seq.
package final class Outbox: Sendable {
  let keeper: Monitor<OutboxState>
  private let arrivals = Locked<[Batch]>([])
  private let wake: EventDescriptor
  /// Timer for housekeeping, set when a record is accepted. Records that are acknowledged in time cause no
  /// wakeup.
  private let timer: TimerDescriptor
  private let ended: EventDescriptor
  private let housekeeper = Locked<DedicatedThread?>(nil)
  private let notice: @Sendable (OutboxNotice) -> Void
  private let isClosing: Locked<Bool>

  /// Opens the store at `path`, and creates it, but not its directory, if missing. An unwritable disk is not
  /// an error: the outbox starts in memory and retries.
  /// - Parameters:
  ///   - notice: called on the thread that detected the event, never with a lock held.
  ///   - isCancelled: called during the salvage of a damaged store, also within this call; returns true if
  ///     the program is to exit. The rest is then salvaged at the next start.
  /// - Throws: `OperationError` if a limit is out of bounds or another process has the store open. Later
  ///   problems are an `OutboxNotice` and part of the status.
  package init(
    path: String, configuration: OutboxConfiguration = OutboxConfiguration(),
    notice: @escaping @Sendable (OutboxNotice) -> Void = { _ in },
    isCancelled: @escaping @Sendable () -> Bool = { false }
  ) throws(OperationError) {
    try configuration.validate()
    do throws(SystemError) {
      wake = try EventDescriptor()
      timer = try TimerDescriptor()
      ended = try EventDescriptor()
    } catch {
      throw OperationError("outbox", operation: "open", object: path, cause: error.description)
    }
    self.notice = notice
    let isClosing = Locked(false)
    self.isClosing = isClosing
    keeper = Monitor(
      try OutboxState(path: path, configuration: configuration) { isClosing.withLock { $0 } || isCancelled() }
    )
    use { _ in }
    try startHousekeeping(path)
  }

  deinit { close() }

  /// Accepts messages in one commit, together with those that other threads append meanwhile.
  /// - Returns: their identities, in the same order.
  /// - Parameter documents: preserved in the same commit. After a crash, `document(named:)` returns them if and
  ///   only if the messages were stored. Messages with a document never wait outside the store.
  @discardableResult
  package func append(
    _ messages: [some OutboxMessage], preserving documents: [PreservedDocument] = []
  ) -> [MessageIdentity] {
    guard !messages.isEmpty || !documents.isEmpty else { return [] }
    let batch = Batch(messages, documents)
    arrivals.withLock { $0.append(batch) }
    return use { keeper in
      // The first thread commits the messages of all threads that arrived during the previous commit.
      if !batch.isCommitted {
        let batches = arrivals.withLock { waiting in
          defer { waiting = [] }
          return waiting
        }
        keeper.commit(batches)
      }
      return batch.identities
    }
  }

  /// Accepts one message: one commit, and for the events lane one sync.
  @discardableResult
  package func append(
    _ message: some OutboxMessage, preserving documents: [PreservedDocument] = []
  ) -> MessageIdentity {
    append([message], preserving: documents).first ?? MessageIdentity(epoch: "", seq: 0)
  }

  /// Stores a document that belongs to no messages, safe from a power cut.
  /// - Parameter isHeld: true if the document is held in memory while the disk is not writable, and stored as soon as
  ///   the disk is writable again; otherwise the previous version remains.
  /// - Returns: false while the disk is not writable.
  @discardableResult
  package func preserve(_ document: PreservedDocument, isHeld: Bool = true) -> Bool {
    use { $0.preserve(document, isHeld: isHeld) }
  }

  /// Returns the newest document of a name; nil if there is none, or if its part of a damaged store could not be
  /// salvaged.
  package func document(named name: String) -> [UInt8]? { use { $0.document(name) } }

  /// Returns an identity for a message that bypasses the store, such as the last message before a link is
  /// closed.
  package func makeIdentity() -> MessageIdentity { use { $0.makeIdentity() } }

  /// Starts a new epoch for subsequently accepted messages; numbers continue. Call it if the order relative
  /// to earlier messages is unknown, as after time went back.
  package func beginEpoch() { use { $0.beginEpoch() } }

  /// Returns the next records to send, at most `limit`, each once until `offerAgain`. Fewer than `limit`
  /// means that no more are waiting.
  package func next(limit: Int) -> [OutboxRecord] { use { $0.next(limit: limit) } }

  /// Offers all records again that were handed out and neither removed nor rejected: first the newest
  /// retained ones and the state lane, then lane by lane, oldest first.
  package func offerAgain() { use { $0.offerAgain() } }

  /// Removes records that the broker has acknowledged. Numbers that were not handed out are ignored.
  package func remove(_ seqs: [UInt64]) { use { $0.remove(seqs) } }

  /// Moves a record that the broker will never accept to the dead letters.
  /// - Parameter reason: text for users, as in "not authorized (0x87)".
  package func reject(_ seq: UInt64, reason: String) { use { $0.reject(seq, reason: reason) } }

  /// Handles a rejected record. If the rejection may be temporary (`isLasting` is false), the record and all
  /// others of its topic wait until the pause is over or `offerAgain` is called, at most for the
  /// configuration's `refusedAge`. Otherwise it becomes a dead letter. Returns nil if the record was not
  /// handed out.
  /// - Parameter reason: text for users, as in "not authorized (0x87)".
  @discardableResult
  package func refuse(_ seq: UInt64, reason: String, isLasting: Bool) -> OutboxRefusal? {
    use { $0.refuse(seq, reason: reason, isLasting: isLasting) }
  }

  /// Returns at most `limit` dead letters, newest first.
  package func deadLetters(limit: Int = 100) -> [DeadLetter] { use { $0.deadLetters(limit: limit) } }

  /// Deletes all dead letters. Returns their number.
  @discardableResult
  package func clearDeadLetters() -> Int { use { $0.clearDeadLetters() } }

  /// Moves all dead letters back into their lanes as the newest records, after the cause of the rejections
  /// was corrected. Their payloads retain their original identity. Returns their number.
  @discardableResult
  package func retryDeadLetters() -> Int { use { $0.retryDeadLetters() } }

  package var status: OutboxStatus { use { $0.status } }

  /// Waits until fewer than `count` records remain in a lane, or in all lanes for nil, at most until `deadline`.
  /// Returns their number.
  package func waitForFewer(
    than count: Int, in lane: DeliveryLane? = nil, until deadline: MonotonicTime
  ) -> Int {
    keeper.wait(until: deadline) { keeper in
      let left = keeper.status.records(in: lane)
      return left < count ? left : nil
    } ?? status.records(in: lane)
  }

  /// Makes all accepted records safe from a power cut; retries a disk that was not writable.
  package func flush() { use { $0.flush() } }

  /// Flushes and closes the store. After that, the outbox works in memory; `deinit` calls this, too.
  /// - Returns: the remaining records; empty for further calls.
  @discardableResult package func close() -> OutboxRemainder {
    isClosing.withLock { $0 = true }
    guard let remainder = use({ $0.close() }) else { return OutboxRemainder(kept: 0, lost: 0) }
    wake.signal()
    // The housekeeping thread may be inside a slow call of `notice`, or that call may have called this
    // method. Therefore the wait is limited.
    if ended.wait(seconds: 5) { housekeeper.withLock { $0 }?.join() }
    return remainder
  }

  /// Runs `body` with the lock held, then releases the lock and reports the notices.
  private func use<Result>(_ body: (OutboxState) -> Result) -> Result {
    let (result, notices) = keeper.update { keeper in
      let result = body(keeper)
      keeper.schedule(timer)
      return (result, keeper.removeNotices())
    }
    for item in notices { notice(item) }
    return result
  }

  /// Starts the thread that syncs, deletes and retries between calls. It sleeps while nothing is due.
  private func startHousekeeping(_ path: String) throws(OperationError) {
    let (wake, timer, ended, keeper, notice) = (wake, timer, ended, keeper, notice)
    do throws(SystemError) {
      let thread = try DedicatedThread.startWatched(
        name: "outbox", stackSize: 256 * 1024, call: { wake.signal() },
        { heartbeat in
          while let notices = keeper.withLock({ keeper in
            let notices = keeper.housekeep()
            keeper.schedule(timer)
            return notices
          }) {
            heartbeat.beat()
            for item in notices { notice(item) }
            _ = waitUntilReadable([wake.descriptor, timer.descriptor])
            wake.drain()
            timer.drain()
          }
          ended.signal()
        })
      housekeeper.withLock { $0 = thread }
    } catch {
      throw OperationError("outbox", operation: "open", object: path, cause: error.description)
    }
  }
}

/// The messages of one `append` call. Its results are written and read only under the outbox's lock.
final class Batch {
  let messages: [any OutboxMessage]
  let documents: [PreservedDocument]
  private(set) var identities: [MessageIdentity] = []
  private(set) var isCommitted = false

  init(_ messages: [any OutboxMessage], _ documents: [PreservedDocument]) {
    self.messages = messages
    self.documents = documents
  }

  /// Assigns identities and positions to the messages, and encodes their payloads. A message that does not
  /// contain an identity receives an empty one.
  /// - Parameter sequence: source of identities if the store has no numbers.
  func accept(
    naming sequence: inout TemporarySequence, _ places: inout RecordPositions, _ store: Store?
  ) -> [OutboxRecord] {
    isCommitted = true
    return messages.map { message in
      let isNumbered = message.carriesIdentity || sequence.isInUse || store == nil
      let identity = isNumbered ? sequence.nextIdentity(store) : MessageIdentity(epoch: "", seq: 0)
      identities.append(identity)
      var record = message.record(as: identity)
      record.seq = places.next(atLeast: identity.seq)
      record.qos = min(record.qos, 2)
      record.storedAt = store?.clock.now ?? 0
      return record
    }
  }
}
