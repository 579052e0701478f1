internal import Logging
internal import Navigation
internal import Pipeline
internal import Platform
internal import Spatial

/// Stores trips, so that a kill or a loss of power neither loses a trip nor publishes two versions of it.
///
/// Before a message about a trip is delivered, the message and the trip's state are written to disk, after
/// the odometer to which they refer. Each start publishes the message again until the outbox has accepted it.
/// Stops and changes of the ignition are stored immediately, because batteries are switched off then. In
/// motion, trips are stored once a minute, at rest never. Distance that is missing in the file after a
/// restart is counted by the odometer.
struct TripStore: Sendable {
  private var disk: LearnedFile
  private var kept: String?
  private var milestones = 0
  private var nextSave: Timestamp?
  /// Time of the last failure of the disk; nil after a success.
  private var failed: Timestamp?
  private let keepsPlaces: Bool

  /// Interval in s between writes in motion: 4 kB a minute. A loss of power loses the track and the times of
  /// at most this interval.
  static let pace = 60.0
  /// Maximum size in bytes, for 64 messages with their tracks.
  private static let largest = 1 << 20

  /// - Parameter keepsPlaces: false if positions must not be stored.
  init(path: String, keepsPlaces: Bool = true, log: Logger) {
    disk = LearnedFile(path: path, largest: Self.largest, log: log)
    self.keepsPlaces = keepsPlaces
  }

  /// Returns the stored trips, or a new series if there are none or they are not usable.
  /// - Parameter now: current civil time according to the machine.
  func load(now: UTCTime) -> TripState {
    disk.load(now: now, made: { $0.boundary?.time }, TripState.init(text:))
      ?? TripState(series: .random(in: 0 ... .max))
  }

  /// Returns whether trips must be stored before messages are delivered.
  func isUrgent(_ pipeline: borrowing AgentPipeline) -> Bool {
    guard pipeline.keepsTrips else { return false }
    let newest = pipeline.tripMilestones
    return kept == nil || newest != milestones
  }

  /// Stores trips if they are due.
  mutating func keep(_ pipeline: borrowing AgentPipeline, at timestamp: Timestamp) {
    let isDue = nextSave.map { timestamp >= $0 } ?? true
    let isMoving = pipeline.isTripMoving || failed != nil
    if !isUrgent(pipeline), !isDue || !isMoving { return }
    save(pipeline, at: timestamp)
  }

  /// Stores trips, also at a clean stop.
  mutating func save(_ pipeline: borrowing AgentPipeline, at timestamp: Timestamp) {
    guard var state = pipeline.tripsToKeep else { return }
    nextSave = timestamp.advanced(bySeconds: Self.pace)
    milestones = pipeline.tripMilestones
    if !keepsPlaces { state.forgetPlaces() }
    let text = state.text
    guard text != kept else { return }
    // A failed write is retried after `pace`, even at rest.
    let isSaved = disk.save(text)
    kept = isSaved ? text : kept ?? ""
    failed = isSaved ? nil : timestamp
  }
}
