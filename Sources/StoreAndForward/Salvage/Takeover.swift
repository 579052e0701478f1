internal import SQLite
internal import Telemetry

/// The taking over of a damaged store into a fresh one, at its own pace: where it is ended before, or the disk takes no more,
/// the next start goes on behind the last record that was taken over.
struct Takeover {
  /// What became of it.
  struct Outcome {
    var notice: OutboxNotice
    /// Why the fresh store took no more.
    var failure: SQLiteError?
    /// Records that are lost, as far as that can be read.
    var lost: Int
    /// Whether there is nothing more to take over.
    var isComplete: Bool
  }

  private let path: String
  private let isCancelled: @Sendable () -> Bool

  /// - Parameter path: of the store.
  init(path: String, isCancelled: @escaping @Sendable () -> Bool) {
    self.path = path
    self.isCancelled = isCancelled
  }

  /// The damaged store of which not all was taken over yet; nil when there is none, or this is no time for it.
  var pending: String? { isCancelled() ? nil : Recovery.pending(path) }

  /// Takes over what can be proved of a damaged store.
  /// - Parameters:
  ///   - place: where it was set aside.
  ///   - cause: of the damage, for people.
  ///   - move: writes records to the fresh store, and runs its second argument in the same transaction.
  func run(
    _ place: String, into fresh: Store, cause: String,
    move: ([OutboxRecord], () throws(SQLiteError) -> Void) throws(SQLiteError) -> Void
  ) -> Outcome {
    var failure: SQLiteError?
    let result = Salvage.run(place, after: (try? fresh.salvaged()) ?? nil, isCancelled: isCancelled) {
      records in
      guard let last = records.last else { return true }
      do throws(SQLiteError) {
        try move(records) { () throws(SQLiteError) in
          try fresh.setMeta("salvaged", "\(last.lane.rawValue) \(last.seq)")
        }
        return true
      } catch {
        failure = error
        return false
      }
    }
    let lost = result.isCancelled ? nil : result.expected.map { max(0, $0 - result.records) }
    return Outcome(
      notice: .setAside(path: place, cause: cause, salvaged: result.records, lost: lost), failure: failure,
      lost: lost ?? 0, isComplete: failure == nil && !result.isCancelled)
  }

  /// Forgets, inside a transaction, how far it has come.
  func forgetProgress(in fresh: Store) throws(SQLiteError) {
    try fresh.database.execute("DELETE FROM meta WHERE key = 'salvaged'")
  }

  /// Nothing more is to be taken over.
  func finish() { Recovery.finish(path) }
}
