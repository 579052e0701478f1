package import Fleet
internal import Glibc
internal import Platform
internal import SQLite
package import Spatial

/// The alerts of a server, for programs beside it: lists alerts, and requests silences, ends and retries. The
/// server applies requests within about a second, or when it starts next.
package struct AlertAdministration: ~Copyable {
  /// The messages to one receiver that it has not accepted.
  package struct Backlog: Hashable, Sendable {
    package var receiver: String
    /// The number of messages that are retried.
    package var waiting: Int64
    /// The number of messages that were given up.
    package var givenUp: Int64
    /// The reason of the last failure; nil without one.
    package var failure: String?
  }

  private let path: String
  private let store: AlertStore

  /// Opens the store that a server has created. A missing store is an error, because no server would use a
  /// new one.
  /// - Throws: `FleetError` for a store that is missing or cannot be used.
  package init(path: String) throws(FleetError) {
    guard unsafe access(path, F_OK) == 0 else {
      throw .usage(
        "find the alerts in", path,
        "\(SystemError.message(for: errno)); odograph serve creates it; name the file that the server uses with --store"
      )
    }
    store = try AlertStore(path: path, isReader: true)
    self.path = path
  }

  /// The epoch of the store, a part of the identifiers of its alerts.
  package var epoch: String { store.epoch }

  /// Returns the open alerts by number; with `isAll`, also the ended ones.
  package func alerts(isAll: Bool = false) throws(FleetError) -> [Alert] {
    try reporting { () throws(SQLiteError) in
      try store.alerts(where: (isAll ? "1 = 1" : "ended IS NULL") + " ORDER BY number").map(\.alert)
    }
  }

  /// Returns the silences that have not ended.
  package func silences(at now: UTCTime) throws(FleetError) -> [Silence] {
    try reporting { () throws(SQLiteError) in try store.silences().filter { $0.until > now } }
  }

  /// Returns the receivers with messages that they have not accepted, by name.
  package func backlogs() throws(FleetError) -> [Backlog] {
    try reporting { () throws(SQLiteError) in
      var statement = try store.database.prepare(
        """
        SELECT receiver, sum(gone = 0), sum(gone), max(failure) FROM messages GROUP BY receiver ORDER BY receiver
        """, isPersistent: false)
      var backlogs: [Backlog] = []
      while try statement.step() {
        backlogs.append(
          Backlog(
            receiver: statement.text(0) ?? "", waiting: statement.int64(1), givenUp: statement.int64(2),
            failure: statement.text(3)))
      }
      return backlogs
    }
  }

  /// Requests a silence.
  package func add(_ silence: Silence) throws(FleetError) {
    try reporting { () throws(SQLiteError) in try store.add(silence) }
  }

  /// Ends the silences of a rule and of vehicles; nil for silences without that restriction.
  /// - Returns: the number of ended silences.
  package func endSilences(rule: String?, fleet: String?, vehicle: String?) throws(FleetError) -> Int {
    try reporting { () throws(SQLiteError) in
      try store.endSilences(rule: rule, fleet: fleet, vehicle: vehicle)
    }
  }

  /// Queues all messages again that were given up.
  /// - Returns: the number of messages.
  package func retryGivenUp(at now: UTCTime) throws(FleetError) -> Int {
    try reporting { () throws(SQLiteError) in try store.retryGone(at: now) }
  }

  /// Requests the end of open alerts.
  /// - Parameter identifiers: the alerts' identifiers in messages.
  /// - Returns: the alerts.
  /// - Throws: `FleetError` if one of them is not open; then no alert ends.
  package func end(_ identifiers: [String]) throws(FleetError) -> [Alert] {
    let open = Dictionary(try alerts().map { ($0.number, $0) }) { $1 }
    var ending: [Alert] = []
    for text in identifiers {
      let parts = text.split(separator: "-", omittingEmptySubsequences: false)
      guard parts.count == 2, parts[0] == store.epoch, let alert = Int64(parts[1]).flatMap({ open[$0] })
      else {
        throw .usage(
          "end", "alert \"\(text.prefix(80))\"",
          "no open alert has this name; odograph alerts list shows the names")
      }
      ending.append(alert)
    }
    try reporting { () throws(SQLiteError) in try store.requestEnds(ending.map(\.number)) }
    return ending
  }

  private func reporting<Result>(_ work: () throws(SQLiteError) -> Result) throws(FleetError) -> Result {
    do throws(SQLiteError) { return try work() } catch { throw AlertStore.failure(error, path) }
  }
}
