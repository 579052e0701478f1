internal import Glibc
internal import Logging
internal import Platform
package import Positioning
internal import SQLite
package import Sensors
internal import Spatial

/// Where transmitters stand, as the vehicle has learned it and the fleet has told it: in an SQLite file, bounded and forgetting.
///
/// What was learned and what the fleet told waits in memory and is written at most once in five minutes: at most the whole file, 1 MB, and its
/// journal as much, some 25 MB of flash in two hours of driving; earlier only where more than eight pieces of the fleet's map have come. A
/// loss of power costs these minutes. A file that is damaged is set aside, and what was learned in
/// it is learned anew. A disk that takes nothing costs what is learned, never the agent. The file is made by the first scan that there is
/// something to learn from.
package final class BeaconStore: BeaconMap {
  struct Settings: Sendable, Hashable {
    var path: String
    /// Beacons at most.
    var limit = 20_000
    /// Days for which one that is not heard is kept.
    var forgetAfter = 180
  }

  private struct State {
    var file: BeaconFile?
    /// What is not in the file yet; nil for what is to be dropped from it.
    var pending: [Beacon: BeaconFile.Entry?] = [:]
    var pieces = WaitingPieces()
    var nextFlush: Timestamp?
    /// Whether a damaged file was set aside, and nobody was told yet.
    var isAnew = false
    /// Days since 1970, as far as known.
    var day: Int?
    var prunedOn: Int?
    /// Those in which nothing is kept that was learned there.
    var zones: [PrivacyPolicy.Zone]?
    /// Whether the disk is left alone until the next flush.
    var isWaiting = false
    var hasLoggedFailure = false
  }

  private let settings: Settings
  private let log: Logger
  private let state = Locked(State())

  /// Seconds between two writings.
  static let pace = 300.0
  /// Sightings of a scan that are learned from.
  private static let mostSightings = 128
  /// Beacons that wait in memory while the disk takes nothing.
  private static let mostPending = 4096

  init(_ settings: Settings, log: Logger) {
    self.settings = settings
    self.log = log
  }

  /// One read of the file for each beacon. What of it is not used says `LearnedBeacon.mapped`.
  package func lookUp(_ beacons: [Beacon]) -> [MappedBeacon] {
    state.withLock { state in
      let known = entries(of: beacons, &state)
      return beacons.compactMap { known[$0]?.beacon.mapped }
    }
  }

  /// Learns from a scan beside a good fix, outside of all zones.
  /// - Parameters:
  ///   - accuracy: metres at 68 % of the place.
  ///   - day: days since 1970.
  ///   - isContested: whether what is known of the scan's beacons says that it was not heard there.
  func learn(
    _ scan: RadioScan, at place: Coordinate, accuracy: Double, day: Int, isContested: Bool = false
  ) {
    // Of a million none but the first are looked at: no band has room for more that are true.
    let strongest = scan.sightings.prefix(4096).sorted { ($0.signal ?? -200) > ($1.signal ?? -200) }
    let heard = RadioScan(
      timestamp: scan.timestamp, sightings: Array(strongest.prefix(Self.mostSightings)))
    state.withLock { state in
      let entries = entries(of: heard.sightings.map(\.beacon), &state)
      // What was told of one sighting is no more than this one: it would only draw it away.
      let known = entries.filter {
        isContested || !$0.value.isShared || $0.value.beacon.place.sightings > 1
      }.mapValues(\.beacon)
      let changes = BeaconLearner.learn(
        heard, at: place, accuracy: accuracy, day: day, known: known, isContested: isContested)
      for (beacon, change) in changes {
        guard state.pending.count < Self.mostPending else { break }
        let entry = change.map { after in
          // The fleet's word stays its own, to be replaced by its next, until the vehicle knows better.
          let isShared =
            isContested && entries[beacon]?.isShared == true
            && after.place.coordinate == known[beacon]?.place.coordinate
          return BeaconFile.Entry(beacon: after, isShared: isShared)
        }
        state.pending.updateValue(entry, forKey: beacon)
      }
    }
  }

  /// Takes the fleet's word for beacons that were never heard here: own evidence goes before it.
  /// - Parameter piece: in the order of identities.
  func accept(_ piece: [MappedBeacon]) {
    state.withLock { state in
      if state.pieces.isFull { flush(&state) }
      // What was doubted of its last word is not what it says now.
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

  /// Drops what is not to be on maps any more, whoever had it there.
  func drop(_ beacons: [Beacon]) {
    state.withLock { state in
      for beacon in entries(of: beacons, &state).keys { state.pending.updateValue(nil, forKey: beacon) }
    }
  }

  /// Cells of the fleet's map of which something had to make room since the last call.
  func drainLost() -> Set<String> { state.withLock { $0.file?.drainLost() ?? [] } }

  /// Whether all that was known was lost since the last call.
  func drainIsAnew() -> Bool {
    state.withLock { state in
      defer { state.isAnew = false }
      return state.isAnew
    }
  }

  /// The versions of cells of the fleet's map, as `BeaconFile` has them.
  func versions() -> [String: String] {
    state.withLock { state in
      guard isThere(state) else { return state.pieces.versions }
      let known = withFile(&state) { file throws(SQLiteError) in try file.versions() } ?? [:]
      return known.merging(state.pieces.versions) { $1 }
    }
  }

  /// The pieces of a cell are here as a whole; call it after the last was accepted.
  func setVersion(_ version: String, of cell: String) {
    state.withLock { $0.pieces.setVersion(version, of: cell) }
  }

  /// Writes and forgets what is due.
  /// - Parameters:
  ///   - day: days since 1970; nil where civil time is not known.
  ///   - zones: in which nothing learned is kept, from now on.
  func advance(to timestamp: Timestamp, day: Int?, zones: [PrivacyPolicy.Zone]) {
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

  /// The last moment of a clean stop.
  func close() {
    state.withLock { state in
      state.isWaiting = false
      flush(&state)
      state.file = nil
    }
  }

  /// Beacons in the file, and rows of it that were read and written since it was opened; nil where it is not open.
  var work: (beacons: Int, reads: Int, writes: Int)? {
    state.withLock { state in state.file.map { ($0.count, $0.reads, $0.writes) } }
  }

  // MARK: What is known

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

  /// A file that nobody has made yet is not made by a question.
  private func isThere(_ state: State) -> Bool {
    state.file != nil || access(settings.path, F_OK) == 0
  }

  private func flush(_ state: inout State) {
    let isNewDay = state.day != nil && state.day != state.prunedOn
    guard !state.pending.isEmpty || !state.pieces.isEmpty || isNewDay && isThere(state) else { return }
    let (pending, pieces, settings, day) = (state.pending, state.pieces, settings, state.day ?? 0)
    let first = isNewDay ? (state.day ?? 0) - settings.forgetAfter : 0
    let most = 4 * settings.limit / Int(BeaconFile.bucketCount) + 64
    let isWritten = withFile(&state) { file throws(SQLiteError) in
      if !pieces.isEmpty { try file.apply(pieces, most: most) }
      if !pending.isEmpty { try file.apply(pending, most: most) }
      for (cell, version) in pieces.versions { try file.setVersion(version, of: cell, day: day) }
      if isNewDay || file.count > settings.limit { try file.forget(before: first, limit: settings.limit) }
      return true
    }
    guard isWritten == true else { return }
    (state.pending, state.pieces) = ([:], WaitingPieces())
    if isNewDay { state.prunedOn = state.day }
  }

  /// A zone may have been made since around what was learned.
  private func hide(_ zones: [PrivacyPolicy.Zone], _ state: inout State) {
    guard zones != state.zones else { return }
    func isHidden(_ entry: BeaconFile.Entry) -> Bool {
      // Of the fleet's word only what was heard here meanwhile is the vehicle's.
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

  /// - Returns: nil where the file cannot be used now, which has been logged.
  @discardableResult
  private func withFile<Result>(
    _ state: inout State, _ body: (BeaconFile) throws(SQLiteError) -> Result
  ) -> Result? {
    guard !state.isWaiting else { return nil }
    do throws(SQLiteError) {
      if state.file == nil { state.file = try BeaconFile(path: settings.path) }
      guard let file = state.file else { return nil }
      let result = try body(file)
      state.hasLoggedFailure = false
      return result
    } catch {
      if error.isDamage {
        (state.file, state.isAnew) = (nil, true)
        setAside(error.description)
        state.isWaiting = access(settings.path, F_OK) == 0
      } else {
        state.isWaiting = true
        if !state.hasLoggedFailure {
          log.warning(.beaconsNotKept, "beacons not kept", metadata: ["reason": "\(error)"])
        }
        state.hasLoggedFailure = true
      }
      return nil
    }
  }

  /// In what is damaged nobody can look for what was learned in a zone.
  private func removeAside() {
    let folder = settings.path.lastIndex(of: "/").map { String(settings.path[...$0]) } ?? "./"
    let name = settings.path.dropFirst(settings.path.contains("/") ? folder.count : 0) + Self.aside
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

  /// What the name of a file that is set aside goes on with.
  private static let aside = ".damaged-"

  private func setAside(_ reason: String) {
    // Colons trouble some file systems and tools.
    let date = String(UTCTime(nanoseconds: SystemClock.realtime).rfc3339.map { $0 == ":" ? "-" : $0 })
    let aside = settings.path + Self.aside + date
    // The journal of a damaged file would be played back into the next one.
    unlink(settings.path + "-journal")
    do throws(SystemError) {
      try AtomicFile.move(settings.path, to: aside)
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
