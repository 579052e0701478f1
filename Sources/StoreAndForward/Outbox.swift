internal import Glibc
internal import Platform
public import Telemetry

/// The durable queue between what a vehicle decides and what its broker has acknowledged.
///
/// ## Invariants
/// 1. When `append` returns, the record is in the store, or in the file of recent records (`RecentRecords`), or, while the
///    disk takes none, in memory and the status says so. A crash of the program loses nothing that is on disk; a power cut
///    loses nothing of the events lane and at most the last second of the others (`OutboxConfiguration.Durability`): one
///    sync of the flash per event, one per second for everything else, and none for what a broker acknowledges within
///    0.8 s, which never goes to the store.
/// 2. A record leaves by `remove` (acknowledged), by `reject` (to the dead letters), or by its lane's limits
///    (the oldest make room, counted). Nothing else takes it away.
/// 3. Epoch and seq name a record for ever. Numbers are given out only below a mark that is already safe on
///    disk; a store that is a copy of another, or that replaces a damaged one, begins a new epoch.
/// 4. Within a lane, records are handed out in the order in which they were accepted, each once until
///    `offerAgain`. Only the state lane replaces: of each topic the newest is kept. Only what is last known
///    overtakes: the newest retained record of a topic goes before the backlog of its lane, and the older ones
///    follow without their retain flag (`LastKnown`), so that what the broker keeps never goes back.
/// 5. Memory does not grow with the backlog: records are read in portions from a cursor, and the oldest is
///    found without a search.
/// 6. The wall clock decides nothing. Ages are counted by the store's own clock (`StoreClock`).
///
/// ## On disk
/// One SQLite database in WAL mode (`Schema`): `meta` (format, epoch, mark, clock, inode), `lanes` (what each
/// holds and has dropped), a table per lane keyed by seq, and `dead`. What is to agree with the records is in `meta` too
/// (`PreservedDocument`). Each record carries a checksum of all
/// of it. Beside it lie `….lock`, held while an outbox has the store open, and `….recent`, with the records of
/// the last moment of lanes in which nothing older waits. A damaged store becomes `….damaged-DATE`, and `….salvage`
/// names it until all that can be proved of it is taken over (`Salvage`). Acknowledged records are deleted in groups,
/// within half a second: after a crash
/// in between they are sent again, with the same seq.
public final class Outbox: Sendable {
  let keeper: Locked<Keeper>
  private let arrivals = Locked<[Batch]>([])
  private let wake: EventDescriptor
  /// When housekeeping is due: whoever accepts a record sets it, and nobody wakes for a record that is acknowledged in time.
  private let timer: TimerDescriptor
  private let ended: EventDescriptor
  private let housekeeper = Locked<DedicatedThread?>(nil)
  private let notice: @Sendable (OutboxNotice) -> Void
  private let isClosing: Locked<Bool>

  /// Opens the store at `path`, and makes it, not its directory, where there is none. A disk that does not
  /// let it is no error: the outbox begins in memory and keeps trying.
  /// - Parameters:
  ///   - notice: called on whichever thread met the news, never while a lock is held.
  ///   - isCancelled: asked while a damaged store is salvaged, as here: whether the program is to end. What is left then is
  ///     salvaged at the next start.
  /// - Throws: `OutboxError` when a limit is out of bounds or another process has the store open.
  public init(
    path: String, configuration: OutboxConfiguration = OutboxConfiguration(),
    notice: @escaping @Sendable (OutboxNotice) -> Void = { _ in },
    isCancelled: @escaping @Sendable () -> Bool = { false }
  ) throws(OutboxError) {
    try configuration.validate()
    do throws(SystemError) {
      wake = try EventDescriptor()
      timer = try TimerDescriptor()
      ended = try EventDescriptor()
    } catch {
      throw OutboxError(operation: "open", object: path, cause: error.description)
    }
    self.notice = notice
    let isClosing = Locked(false)
    self.isClosing = isClosing
    keeper = Locked(
      try Keeper(path: path, configuration: configuration) { isClosing.withLock { $0 } || isCancelled() })
    use { _ in }
    try startHousekeeping(path)
  }

  deinit { close() }

  /// Accepts messages, all in one commit; with other threads' that arrive meanwhile.
  /// - Returns: their identities, in the same order.
  /// - Parameter document: preserved in the same commit: after a crash it is what `document(named:)` says if and only if the
  ///   messages are there, or were. Messages with a document never wait outside the store.
  @discardableResult
  public func append(
    _ messages: [some OutboxMessage], preserving document: PreservedDocument? = nil
  ) -> [MessageIdentity] {
    guard !messages.isEmpty || document != nil else { return [] }
    let batch = Batch(messages, document)
    arrivals.withLock { $0.append(batch) }
    return use { keeper in
      // Whoever comes first commits for all who came while the commit before was under way.
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
  public func append(
    _ message: some OutboxMessage, preserving document: PreservedDocument? = nil
  ) -> MessageIdentity {
    append([message], preserving: document).first ?? MessageIdentity(epoch: "", seq: 0)
  }

  /// The bytes of the newest preserved document of this name; nil when there is none, or the store that had it was damaged
  /// before it was opened.
  public func document(named name: String) -> [UInt8]? { use { $0.document(name) } }

  /// A name for a message that does not go through the store, as the last word before a link is closed.
  public func makeIdentity() -> MessageIdentity { use { $0.makeIdentity() } }

  /// Names what is accepted from now on in another epoch; numbers go on. For who knows that nothing tells the order of what
  /// follows to what was, as when time goes back.
  public func beginEpoch() { use { $0.beginEpoch() } }

  /// The records to send next, at most `limit`, each handed out once until `offerAgain`. Fewer than `limit`
  /// means that no more wait for now.
  public func next(limit: Int) -> [OutboxRecord] { use { $0.next(limit: limit) } }

  /// Everything that was handed out and is neither removed nor rejected is to be handed out again: what is last
  /// known and the state lane first, then lane by lane, oldest first.
  public func offerAgain() { use { $0.offerAgain() } }

  /// The broker has taken these over. Numbers that were not handed out are ignored.
  public func remove(_ seqs: [UInt64]) { use { $0.remove(seqs) } }

  /// The broker will never take this one: it goes to the dead letters.
  /// - Parameter reason: for people, as in "not authorized (0x87)".
  public func reject(_ seq: UInt64, reason: String) { use { $0.reject(seq, reason: reason) } }

  /// The broker refuses this one. Where that may be set right (`isLasting` is false), it stays, and with it all that waits for
  /// the same topic, until the pause is over or `offerAgain` is called, for as long as the configuration's `refusedAge`; otherwise it
  /// goes to the dead letters. Returns nil for one that was not handed out.
  /// - Parameter reason: for people, as in "not authorized (0x87)".
  @discardableResult
  public func refuse(_ seq: UInt64, reason: String, isLasting: Bool) -> OutboxRefusal? {
    use { $0.refuse(seq, reason: reason, isLasting: isLasting) }
  }

  /// The newest dead letters, newest first, at most `limit`.
  public func deadLetters(limit: Int = 100) -> [DeadLetter] { use { $0.deadLetters(limit: limit) } }

  /// Forgets all dead letters. Returns how many there were.
  @discardableResult
  public func clearDeadLetters() -> Int { use { $0.clearDeadLetters() } }

  /// Puts all dead letters back into their lanes, as the newest there: whoever refused them was set right. Their payloads
  /// keep the identity that they were accepted under. Returns how many there were.
  @discardableResult
  public func retryDeadLetters() -> Int { use { $0.retryDeadLetters() } }

  public var status: OutboxStatus { use { $0.status } }

  /// Makes everything accepted safe from a power cut, now; tries a disk again that took nothing.
  public func flush() { use { $0.flush() } }

  /// Flushes and closes the store. Later calls find an outbox that works in memory; `deinit` calls it too.
  /// - Returns: what is left of what was accepted; nothing at later calls.
  @discardableResult public func close() -> OutboxRemainder {
    isClosing.withLock { $0 = true }
    guard let remainder = use({ $0.close() }) else { return OutboxRemainder(kept: 0, lost: 0) }
    wake.signal()
    // The thread may be inside a call of `notice`, which may be slow or may be the caller.
    if ended.wait(seconds: 5) { housekeeper.withLock { $0 }?.join() }
    return remainder
  }

  /// Runs `body` alone, then passes on what there is to tell.
  private func use<Result>(_ body: (Keeper) -> Result) -> Result {
    let (result, notices) = keeper.withLock { keeper in
      let result = body(keeper)
      keeper.schedule(timer)
      return (result, keeper.removeNotices())
    }
    for item in notices { notice(item) }
    return result
  }

  /// The thread that syncs, deletes and retries when nobody calls. It sleeps for as long as nothing is due.
  private func startHousekeeping(_ path: String) throws(OutboxError) {
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
      throw OutboxError(operation: "open", object: path, cause: error.description)
    }
  }
}

/// The messages of one `append` call. Its results are written and read under the keeper's lock alone.
final class Batch {
  let messages: [any OutboxMessage]
  let document: PreservedDocument?
  private(set) var identities: [MessageIdentity] = []
  private(set) var isCommitted = false

  init(_ messages: [any OutboxMessage], _ document: PreservedDocument?) {
    self.messages = messages
    self.document = document
  }

  /// Gives the messages identities and places, and encodes their payloads. A message that does not carry an identity gets an empty
  /// one.
  /// - Parameter sequence: the source of identities where the store has none.
  func accept(
    naming sequence: inout TemporarySequence, _ places: inout Places, _ store: Store?
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
