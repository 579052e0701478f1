package import Fleet
internal import Platform
internal import Spatial

/// The open database of a recording, with all tables of this version.
package struct OpenStore {
  let store: any MessageStore

  /// Opens the plan's database: creates or migrates its tables.
  ///
  /// - Parameter report: called with notices about long operations, also later.
  /// - Throws: `FleetError` for a database that cannot be opened.
  package init(
    _ plan: RecordPlan, report: @escaping @Sendable (RecordNotice) -> Void
  ) throws(FleetError) {
    store = RecordingAddress.store(for: plan.store, keep: plan.keptDays, report: report)
    try store.open()
    if let advice = store.advice { report(RecordNotice(advice, isRoutine: true)) }
  }

  /// Deletes the messages that are older than the plan retains, and closes the database.
  ///
  /// - Returns: a sentence about the result.
  package func expireAndClose(_ plan: RecordPlan) throws(FleetError) -> String {
    var retention = Retention(days: plan.keptDays)
    var done = "\(store.name) is up to date"
    if let due = retention.due(at: .now) {
      done +=
        "; " + Retention.sentence(try store.expire(before: due.limit, today: due.today), before: due.limit)
    }
    store.close()
    return done
  }
}
