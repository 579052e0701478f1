internal import Platform
internal import Sensors
internal import Simulation
package import Spatial

/// Position of a recording or a simulation, replaceable while it is played.
package final class SimulatedLocation: Sendable {
  package enum Choice: Sendable {
    /// The positions of the recording or the simulation.
    case input
    /// A receiver without a fix.
    case none
    case place(Coordinate)
    /// A recorded track, from its start; after its end the vehicle remains there.
    case track(path: String)
  }

  private let state = Locked<(revision: Int, positions: ReplacedPositions)>((0, .input))

  package init() {}

  /// Replaces the positions from the next fix on.
  /// - Throws: an error with file, line and remedy, for an unreadable track.
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

  /// Returns the positions in effect, if they differ from those of a revision.
  fileprivate func changed(since revision: Int) -> (revision: Int, positions: ReplacedPositions)? {
    state.withLock { $0.revision == revision ? nil : $0 }
  }
}

/// A recording with the positions of a `SimulatedLocation`.
///
/// Fixes are replaced one by one, at the times of the recording's own. During this time there are no data of
/// motion sensors, which would contradict them.
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
    // The reader stays in control of a recording whose positions are off.
    case .inertial, .barometer, .vehicle, .radio: return .position([])
    case .status: return event
    }
  }
}

/// Replacement of fixes.
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

/// A track on the time line of another recording, from the first replaced fix on.
private struct ReplacedTrack: Sendable {
  private var recording: any SensorRecording
  private var start: Timestamp?
  private var waiting: [PositionFix] = []
  private var newest: PositionFix?

  /// - Throws: an error naming file, line and remedy, for a track that cannot be read to its end.
  init(_ path: String) throws {
    recording = try SensorFeed.track(path)
    guard !(recording is FixedReceiver) else { return }
    // Copies share a reading position, so the check opens the file for itself.
    var check = try SensorFeed.track(path)
    while try check.next() != nil {}
  }

  mutating func replacement(of fix: PositionFix) -> PositionFix {
    let elapsed = fix.timestamp.seconds(since: start ?? fix.timestamp)
    start = start ?? fix.timestamp
    while true {
      if waiting.isEmpty {
        // The file was checked. If it has changed since, the vehicle stays where it is, and the input continues.
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
