internal import Logging
internal import Navigation
internal import Pipeline
internal import Platform
internal import Spatial

/// Keeps trips, so that a kill or a loss of power neither loses one nor tells one twice differently.
///
/// Before a statement about a trip leaves, it is on the disk with all that the trip has come to, after the odometer whose metres it tells; from
/// there it is told again until the outbox has it. A stop, and the ignition, are kept at once, as batteries are switched off then; in
/// between, trips are kept once a minute on the way, and at rest never. What a restart does not find in the file is counted by the odometer.
struct TripStore: Sendable {
  private var disk: LearnedFile
  private var kept: String?
  private var milestones = 0
  private var nextSave: Timestamp?
  /// When the disk took nothing, until it does again.
  private var failed: Timestamp?
  private let keepsPlaces: Bool

  /// s between two writings on the way: 4 kB a minute. A loss of power costs the track and the times of as many.
  static let pace = 60.0
  /// Bytes: of 64 statements with their tracks.
  private static let largest = 1 << 20

  /// - Parameter keepsPlaces: no where nothing of where the vehicle is is to be kept.
  init(path: String, keepsPlaces: Bool = true, log: Logger) {
    disk = LearnedFile(path: path, largest: Self.largest, log: log)
    self.keepsPlaces = keepsPlaces
  }

  /// What was kept; another series where that is nothing that can be used.
  /// - Parameter now: civil time, as far as the machine knows.
  func load(now: UTCTime) -> TripState {
    disk.load(now: now, made: { $0.boundary?.time }, TripState.init(text:))
      ?? TripState(series: .random(in: 0 ... .max))
  }

  /// Whether something must be safe before messages leave.
  func isUrgent(_ pipeline: borrowing AgentPipeline) -> Bool {
    guard pipeline.keepsTrips else { return false }
    let newest = pipeline.tripMilestones
    return kept == nil || newest != milestones
  }

  /// Keeps what is due.
  mutating func keep(_ pipeline: borrowing AgentPipeline, at timestamp: Timestamp) {
    let isDue = nextSave.map { timestamp >= $0 } ?? true
    let isMoving = pipeline.isTripMoving || failed != nil
    if !isUrgent(pipeline), !isDue || !isMoving { return }
    save(pipeline, at: timestamp)
  }

  /// The last moment of a clean stop, too.
  mutating func save(_ pipeline: borrowing AgentPipeline, at timestamp: Timestamp) {
    guard var state = pipeline.tripsToKeep else { return }
    nextSave = timestamp.advanced(bySeconds: Self.pace)
    milestones = pipeline.tripMilestones
    if !keepsPlaces { state.forgetPlaces() }
    let text = state.text
    guard text != kept else { return }
    // What the disk did not take is tried again, at the pace of a drive.
    let isSaved = disk.save(text)
    kept = isSaved ? text : kept ?? ""
    failed = isSaved ? nil : timestamp
  }
}
