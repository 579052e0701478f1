internal import Glibc
package import Logging
internal import Platform
package import Positioning
internal import SQLite
package import Sensors
package import Spatial

/// The learned and received positions of radio beacons, in a bounded SQLite file.
///
/// Changes wait in memory and are written at most once in five minutes, earlier only if more than eight
/// pieces of the fleet's map have arrived. A write is at most the whole file, 1 MB, plus its journal: about
/// 25 MB of flash in two hours of driving. A loss of power loses the changes since the last write. A damaged
/// file is set aside, and its content must be learned again. An unwritable disk loses what was learned but
/// does not stop the agent. The file is created by the first scan that contains something to learn.
package final class BeaconStore: BeaconMap {
  private struct State {
    var file: BeaconFile?
    /// Changes that are not yet in the file; a nil entry deletes the beacon.
    var pending: [Beacon: BeaconFile.Entry?] = [:]
    var pieces = WaitingPieces()
    var nextFlush: Timestamp?
    /// True after a damaged file was set aside, until `drainIsAnew` returns it.
    var isAnew = false
    /// Days since 1970; nil if unknown.
    var day: Int?
    var prunedOn: Int?
    /// Zones in which learned positions are not stored.
    var zones: [PrivacyPolicy.Zone]?
    /// True after a failure of the disk: until the next scheduled write the file is not accessed.
    var isWaiting = false
    var hasLoggedFailure = false
  }

  private let path: String
  private let limit: Int
  private let forgetAfter: Int
  private let log: Logger
  private let state = Locked(State())

  /// Interval between writes in s.
  package static let pace = 300.0
  /// Maximum number of sightings of a scan that are learned.
  private static let mostSightings = 128
  /// Maximum number of beacons that wait in memory while the disk is not writable.
  private static let mostPending = 4096

  /// - Parameters:
  ///   - limit: maximum number of beacons.
  ///   - forgetAfter: time in days after which an unheard beacon is removed.
  package init(path: String, limit: Int = 20_000, forgetAfter: Int = 180, log: Logger) {
    (self.path, self.limit, self.forgetAfter, self.log) = (path, limit, forgetAfter, log)
  }

  /// Returns the positions of beacons, with one read of the file for each. `LearnedBeacon.mapped` decides
  /// which of them are usable.
  package func lookUp(_ beacons: [Beacon]) -> [MappedBeacon] {
    state.withLock { state in
      let known = entries(of: beacons, &state)
      return beacons.compactMap { known[$0]?.beacon.mapped }
    }
  }

  /// Learns from a scan taken with an accurate fix, outside of all zones.
  /// - Parameters:
  ///   - accuracy: accuracy of the position in m (68 %).
  ///   - day: days since 1970.
  ///   - isContested: true if the scan's known beacons contradict the position.
  package func learn(
    _ scan: RadioScan, at place: Coordinate, accuracy: Double, day: Int, isContested: Bool = false
  ) {
    // Only the first 4096 sightings are examined, because no band contains more real transmitters.
    let strongest = scan.sightings.prefix(4096).sorted { ($0.signal ?? -200) > ($1.signal ?? -200) }
    let heard = RadioScan(
      timestamp: scan.timestamp, sightings: Array(strongest.prefix(Self.mostSightings)))
    state.withLock { state in
      let entries = entries(of: heard.sightings.map(\.beacon), &state)
      // A received entry that is based on a single sighting is ignored: it is no more accurate than this scan
      // and would distort the learned position.
      let known = entries.filter {
        isContested || !$0.value.isShared || $0.value.beacon.place.sightings > 1
      }.mapValues(\.beacon)
      let changes = BeaconLearner.learn(
        heard, at: place, accuracy: accuracy, day: day, known: known, isContested: isContested)
      for (beacon, change) in changes {
        guard state.pending.count < Self.mostPending else { break }
        let entry = change.map { after in
          // An entry of the fleet's map remains marked as shared until the vehicle has its own observations,
          // so that the next version of the map replaces the entry.
          let isShared =
            isContested && entries[beacon]?.isShared == true
            && after.place.coordinate == known[beacon]?.place.coordinate
          return BeaconFile.Entry(beacon: after, isShared: isShared)
        }
        state.pending.updateValue(entry, forKey: beacon)
      }
    }
  }

  /// Accepts received positions of beacons that this vehicle never heard; for other beacons, the vehicle's
  /// own observations have precedence.
  /// - Parameter piece: beacons in the order of their identities.
  package func accept(_ piece: [MappedBeacon]) {
    state.withLock { state in
      if state.pieces.isFull { flush(&state) }
      // Pending changes of a previously received entry are discarded, because they do not apply to the newly
      // received position.
      for beacon in piece {
        if case .some(.some(let entry)) = state.pending[beacon.beacon], entry.isShared {
          state.pending.removeValue(forKey: beacon.beacon)
        }
      }
      let day = state.day ?? .max
      state.pieces.append(
        piece.filter(\.isSound).map { beacon in
          var told = beacon
          told.lastSeen = min(told.lastSeen, day)
          return told
        })
    }
  }

  /// Deletes beacons that must not be on maps, regardless of their origin.
  package func drop(_ beacons: [Beacon]) {
    state.withLock { state in
      for beacon in entries(of: beacons, &state).keys { state.pending.updateValue(nil, forKey: beacon) }
    }
  }

  /// Returns the cells of the fleet's map that became incomplete since the last call.
  package func drainLost() -> Set<String> { state.withLock { $0.file?.drainLost() ?? [] } }

  /// Returns whether all entries were lost since the last call.
  func drainIsAnew() -> Bool {
    state.withLock { state in
      defer { state.isAnew = false }
      return state.isAnew
    }
  }

  /// Returns the versions of cells of the fleet's map, as in `BeaconFile`.
  package func versions() -> [String: String] {
    state.withLock { state in
      guard isThere(state) else { return state.pieces.versions }
      let known = withFile(&state) { file throws(SQLiteError) in try file.versions() } ?? [:]
      return known.merging(state.pieces.versions) { $1 }
    }
  }

  /// Marks the pieces of a cell as complete. Call it after the last one was accepted.
  package func setVersion(_ version: String, of cell: String) {
    state.withLock { $0.pieces.setVersion(version, of: cell) }
  }

  /// Writes pending changes and removes old beacons if this is due, and removes learned positions in new
  /// zones.
  /// - Parameters:
  ///   - day: days since 1970; nil if civil time is unknown.
  ///   - zones: zones in which learned positions are not stored from now on.
  package func advance(to timestamp: Timestamp, day: Int?, zones: [PrivacyPolicy.Zone]) {
    state.withLock { state in
      state.day = day ?? state.day
      hide(zones, &state)
      guard let due = state.nextFlush else {
        state.nextFlush = timestamp.advanced(bySeconds: Self.pace)
        return
      }
      guard timestamp >= due else { return }
      state.nextFlush = timestamp.advanced(bySeconds: Self.pace)
      state.isWaiting = false
      flush(&state)
    }
  }

  /// Writes pending changes at a clean stop.
  package func close() {
    state.withLock { state in
      state.isWaiting = false
      flush(&state)
      state.file = nil
    }
  }

  /// Number of beacons in the file, and of rows read and written since it was opened; nil if it is not open.
  package var work: (beacons: Int, reads: Int, writes: Int)? {
    state.withLock { state in state.file.map { ($0.count, $0.reads, $0.writes) } }
  }

  // MARK: Entries

  private func entries(of beacons: [Beacon], _ state: inout State) -> [Beacon: BeaconFile.Entry] {
    let pending = state.pending
    let others = beacons.filter { pending[$0] == nil }
    var known: [Beacon: BeaconFile.Entry] = [:]
    if !others.isEmpty, isThere(state) {
      known = withFile(&state) { file throws(SQLiteError) in try file.entries(of: others) } ?? [:]
    }
    for beacon in beacons {
      if let waiting = pending[beacon] {
        known[beacon] = waiting
      } else if known[beacon]?.isShared ?? true, let word = state.pieces[beacon] {
        known[beacon] = BeaconFile.Entry(beacon: LearnedBeacon(word), isShared: true)
      }
    }
    return known
  }

  /// Returns whether the file exists. Reading does not create it.
  private func isThere(_ state: State) -> Bool {
    state.file != nil || access(path, F_OK) == 0
  }

  private func flush(_ state: inout State) {
    let isNewDay = state.day != nil && state.day != state.prunedOn
    guard !state.pending.isEmpty || !state.pieces.isEmpty || isNewDay && isThere(state) else { return }
    let (pending, pieces, day) = (state.pending, state.pieces, state.day ?? 0)
    let first = isNewDay ? (state.day ?? 0) - forgetAfter : 0
    let most = 4 * limit / Int(BeaconFile.bucketCount) + 64
    let isWritten = withFile(&state) { file throws(SQLiteError) in
      if !pieces.isEmpty { try file.apply(pieces, most: most) }
      if !pending.isEmpty { try file.apply(pending, most: most) }
      for (cell, version) in pieces.versions { try file.setVersion(version, of: cell, day: day) }
      if isNewDay || file.count > limit { try file.forget(before: first, limit: limit) }
      return true
    }
    guard isWritten == true else { return }
    (state.pending, state.pieces) = ([:], WaitingPieces())
    if isNewDay { state.prunedOn = state.day }
  }

  /// Deletes learned positions inside zones, which may have been added later.
  private func hide(_ zones: [PrivacyPolicy.Zone], _ state: inout State) {
    guard zones != state.zones else { return }
    func isHidden(_ entry: BeaconFile.Entry) -> Bool {
      // In an entry from the fleet's map, only `elsewhere` is a position at which this vehicle heard the
      // beacon.
      let places = [entry.isShared ? nil : entry.beacon.place.coordinate, entry.beacon.elsewhere]
      let points = places.compactMap { $0.map { SurfacePoint($0) } }
      return zones.contains { zone in points.contains { zone.area.contains($0) } }
    }
    guard !zones.isEmpty else {
      state.zones = zones
      return
    }
    for (beacon, entry) in state.pending where entry.map(isHidden) ?? false {
      state.pending.updateValue(nil, forKey: beacon)
    }
    removeAside()
    guard isThere(state) else {
      state.zones = zones
      return
    }
    guard
      let count = withFile(&state, { file throws(SQLiteError) in try file.removeAll(where: isHidden) })
    else { return }
    state.zones = zones
    if count > 0 {
      log.info(.beaconsForgotten, "beacons in privacy zones forgotten", metadata: ["count": "\(count)"])
    }
  }

  // MARK: The file

  /// - Returns: nil if the file cannot be used; the reason has been logged.
  @discardableResult
  private func withFile<Result>(
    _ state: inout State, _ body: (BeaconFile) throws(SQLiteError) -> Result
  ) -> Result? {
    guard !state.isWaiting else { return nil }
    do throws(SQLiteError) {
      if state.file == nil { state.file = try BeaconFile(path: path) }
      guard let file = state.file else { return nil }
      let result = try body(file)
      state.hasLoggedFailure = false
      return result
    } catch {
      if error.isDamage {
        (state.file, state.isAnew) = (nil, true)
        setAside(error.description)
        state.isWaiting = access(path, F_OK) == 0
      } else {
        state.isWaiting = true
        if !state.hasLoggedFailure {
          log.warning(.beaconsNotKept, "beacons not stored", metadata: ["reason": "\(error)"])
        }
        state.hasLoggedFailure = true
      }
      return nil
    }
  }

  /// Deletes damaged files, because positions in zones cannot be removed from them.
  private func removeAside() {
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "./"
    let name = path.dropFirst(path.contains("/") ? folder.count : 0) + Self.aside
    guard let directory = opendir(folder) else { return }
    defer { closedir(directory) }
    var count = 0
    while let entry = readdir(directory) {
      let file = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if file.hasPrefix(name), unlink(folder + file) == 0 { count += 1 }
    }
    guard count > 0 else { return }
    log.info(
      .beaconsForgotten, "damaged maps of beacons deleted because of privacy zones",
      metadata: ["count": "\(count)"])
  }

  /// Suffix of a file that is set aside, followed by the date.
  private static let aside = ".damaged-"

  private func setAside(_ reason: String) {
    // Colons cause problems in some file systems and tools.
    let date = String(UTCTime.now.rfc3339.map { $0 == ":" ? "-" : $0 })
    let aside = path + Self.aside + date
    // SQLite would apply the journal of the damaged file to the new file of the same name.
    unlink(path + "-journal")
    do throws(SystemError) {
      try AtomicFile.move(path, to: aside)
      log.warning(
        .beaconsDamaged, "damaged map of beacons set aside",
        metadata: ["path": "\(aside)", "reason": "\(reason)"])
    } catch {
      log.warning(
        .beaconsDamaged, "damaged map of beacons left",
        metadata: ["reason": "\(reason)", "failure": "\(error)"])
    }
  }
}
