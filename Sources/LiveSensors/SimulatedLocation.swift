internal import Platform
internal import Sensors
internal import Simulation
package import Spatial

/// The position in a replay or simulation, which can be replaced while it runs.
package final class SimulatedLocation: Sendable {
  package enum Choice: Sendable {
    /// The original positions of the recording or simulation.
    case input
    /// A receiver without a fix.
    case none
    case place(Coordinate)
    /// The positions of a track, from its start on. After its end the vehicle remains at its last position.
    case track(path: String)
  }

  private let state = Locked<(revision: Int, positions: ReplacedPositions)>((0, .input))

  package init() {}

  /// Replaces the positions from the next fix on.
  /// - Throws: an error with file, line and remedy for an unreadable track.
  package func select(_ choice: Choice) throws {
    let positions: ReplacedPositions =
      switch choice {
      case .input: .input
      case .none: .none
      case .place(let coordinate): .place(coordinate)
      case .track(let path): .track(try ReplacedTrack(path))
      }
    state.withLock { $0 = ($0.revision + 1, positions) }
  }

  /// Returns the current choice of positions, if it has changed since a revision; nil otherwise.
  fileprivate func changed(since revision: Int) -> (revision: Int, positions: ReplacedPositions)? {
    state.withLock { $0.revision == revision ? nil : $0 }
  }
}

/// A recording whose positions are replaced by those of a `SimulatedLocation`.
///
/// Each fix of the recording is replaced, and keeps its time. While positions are replaced, data of motion
/// sensors are omitted, because they would contradict the positions.
struct RelocatedRecording: SensorRecording {
  private var base: any SensorRecording
  private let location: SimulatedLocation
  private var revision = 0
  private var positions = ReplacedPositions.input

  init(_ base: any SensorRecording, _ location: SimulatedLocation) {
    self.base = base
    self.location = location
  }

  var name: String { base.name }
  var kinds: Set<SensorKind> { base.kinds }
  var skipped: SkippedInput? { base.skipped }

  mutating func setDemand(_ demand: SensorDemand, for kind: SensorKind) { base.setDemand(demand, for: kind) }

  mutating func next() throws -> SensorEvent? {
    guard let event = try base.next() else { return nil }
    if let changed = location.changed(since: revision) { (revision, positions) = changed }
    if case .input = positions { return event }
    switch event {
    case .position(let fixes): return .position(fixes.map { positions.replacement(of: $0) })
    // Omitted data are replaced by an event without fixes, so that the caller gets control back after each
    // event.
    case .inertial, .barometer, .vehicle, .radio: return .position([])
    case .status: return event
    }
  }
}

/// The positions that replace the fixes of a recording.
private enum ReplacedPositions: Sendable {
  case input
  case none
  case place(Coordinate)
  case track(ReplacedTrack)

  mutating func replacement(of fix: PositionFix) -> PositionFix {
    switch self {
    case .input: return fix
    case .none:
      var replacement = PositionFix(timestamp: fix.timestamp, time: fix.time, mode: .noFix)
      replacement.receiver = "no location"
      return replacement
    case .place(let coordinate):
      return FixedReceiver.fix(at: coordinate, fix.timestamp, time: fix.time)
    case .track(var track):
      defer { self = .track(track) }
      return track.replacement(of: fix)
    }
  }
}

/// A track that replaces the fixes of another recording. It starts at the first replaced fix.
private struct ReplacedTrack: Sendable {
  private var recording: any SensorRecording
  private var start: Timestamp?
  private var waiting: [PositionFix] = []
  private var newest: PositionFix?

  /// - Throws: an error with file, line and remedy, unless the track can be read to its end.
  init(_ path: String) throws {
    recording = try SensorFeed.track(path)
    guard !(recording is FixedReceiver) else { return }
    // Copies of a recording share their position in the file. The check therefore opens the file again.
    var check = try SensorFeed.track(path)
    while try check.next() != nil {}
  }

  mutating func replacement(of fix: PositionFix) -> PositionFix {
    let elapsed = fix.timestamp.seconds(since: start ?? fix.timestamp)
    start = start ?? fix.timestamp
    while true {
      if waiting.isEmpty {
        // The file was readable when it was checked. If it has become unreadable since, the vehicle remains
        // at its last position, and the replay continues.
        guard let event = (try? recording.next()) ?? nil else { break }
        if case .position(let fixes) = event { waiting = fixes }
        continue
      }
      guard waiting[0].timestamp.seconds <= elapsed else { break }
      newest = waiting.removeFirst()
    }
    guard var replacement = newest else {
      return PositionFix(timestamp: fix.timestamp, time: fix.time, mode: .noFix)
    }
    (replacement.timestamp, replacement.time) = (fix.timestamp, fix.time)
    return replacement
  }
}
