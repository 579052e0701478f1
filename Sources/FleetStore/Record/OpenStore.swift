package import Fleet
internal import Platform
internal import Spatial

/// The database of a recording, with all tables of this version once it is open.
package struct OpenStore {
  let store: any MessageStore
  /// False if the database was unavailable; the recorder then opens it before it stores messages.
  let isOpen: Bool

  /// Opens the plan's database: creates or migrates its tables.
  ///
  /// - Parameter report: called with notices about long operations, also later.
  /// - Throws: `FleetError` for a database that cannot be opened.
  package init(
    _ plan: RecordPlan, report: @escaping @Sendable (RecordNotice) -> Void
  ) throws(FleetError) {
    store = RecordingAddress.store(for: plan.store, keep: plan.keptDays, report: report)
    try store.open()
    isOpen = true
    if let advice = store.advice { report(RecordNotice(advice, isRoutine: true)) }
  }

  /// Opens the plan's database, or leaves this to the recorder if the database is unavailable.
  ///
  /// - Parameter report: called with notices about long operations, also later.
  package init(openingIfAvailable plan: RecordPlan, report: @escaping @Sendable (RecordNotice) -> Void) {
    do throws(FleetError) { self = try OpenStore(plan, report: report) } catch {
      // The recorder tries again immediately, and reports the error.
      store = RecordingAddress.store(for: plan.store, keep: plan.keptDays, report: report)
      isOpen = false
    }
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
