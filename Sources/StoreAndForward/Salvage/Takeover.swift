internal import SQLite
internal import Telemetry

/// Transfers a damaged store into a new one. If it is interrupted, or the disk becomes unwritable, the next
/// start continues after the last transferred record.
struct Takeover {
  /// The outcome of a transfer.
  struct Outcome {
    var notice: OutboxNotice
    /// The error of the new store that ended the transfer.
    var failure: SQLiteError?
    /// Number of lost records; 0 if the damaged store's counters are unreadable, or if the salvage was
    /// cancelled.
    var lost: Int
    /// True if nothing remains to be transferred.
    var isComplete: Bool
  }

  private let path: String
  private let isCancelled: @Sendable () -> Bool

  /// - Parameter path: path of the store.
  init(path: String, isCancelled: @escaping @Sendable () -> Bool) {
    self.path = path
    self.isCancelled = isCancelled
  }

  /// The damaged store whose transfer is not complete; nil if there is none, or the program is about to exit.
  var pending: String? { isCancelled() ? nil : Recovery.pending(path) }

  /// Transfers the verifiable records of a damaged store.
  /// - Parameters:
  ///   - place: path of the damaged store after it was renamed.
  ///   - cause: the cause of the damage, for users.
  ///   - move: writes records to the new store, and runs its second argument in the same transaction.
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

  /// Deletes the stored progress, inside a transaction.
  func forgetProgress(in fresh: Store) throws(SQLiteError) {
    try fresh.database.execute("DELETE FROM meta WHERE key = 'salvaged'")
  }

  /// Records that the transfer is complete, so that the next start does not continue it.
  func finish() { Recovery.finish(path) }
}
