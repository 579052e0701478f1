package import Logging
package import Navigation
package import Pipeline
internal import Platform
package import Spatial
package import StoreAndForward

/// Stores trips, so that a kill or a loss of power neither loses a trip nor publishes two versions of it.
///
/// The trip's state is stored in the same commit as the messages about it, after the odometer to which they
/// refer. If the state is a file, it is written before, and contains the messages: each start publishes them
/// again until the outbox has accepted them.
/// Stops and changes of the ignition are stored immediately, because batteries are switched off then. In
/// motion, trips are stored once a minute, at rest never. Distance that is missing in the file after a
/// restart is counted by the odometer.
package struct TripStore: Sendable {
  private var disk: StateDocument
  private var kept: String?
  private var milestones = 0
  private var nextSave: Timestamp?
  /// Time of the last failure of the disk; nil after a success.
  private var failed: Timestamp?
  private let keepsPlaces: Bool

  /// True if the state is stored in the same commit as the messages, so that it contains them as accepted.
  var isInStore: Bool { disk.isInStore }

  /// Interval in s between writes in motion: 4 kB a minute. A loss of power loses the track and the times of
  /// at most this interval.
  static let pace = 60.0
  /// Maximum size in bytes, for 64 messages with their tracks.
  private static let largest = 1 << 20

  /// - Parameters:
  ///   - keepsPlaces: false if positions must not be stored.
  ///   - store: the message store; nil for a file on disk.
  package init(path: String, keepsPlaces: Bool = true, store: StateStore? = nil, log: Logger) {
    disk = StateDocument("trips", path: path, store: store, largest: Self.largest, log: log)
    self.keepsPlaces = keepsPlaces
  }

  /// Returns the stored trips, or a new series if there are none or they are not usable.
  /// - Parameter now: current civil time according to the machine.
  package func load(now: UTCTime) -> TripState {
    disk.load(now: now, made: { $0.boundary?.time }, TripState.init(text:))
      ?? TripState(series: .random(in: 0 ... .max))
  }

  /// Returns whether trips must be stored before messages are delivered.
  package func isUrgent(_ pipeline: borrowing AgentPipeline) -> Bool {
    guard pipeline.keepsTrips else { return false }
    let newest = pipeline.tripMilestones
    return kept == nil || newest != milestones
  }

  /// Stores trips if they are due.
  /// - Returns: the document for the commit with the next messages; nil if there is none.
  package mutating func keep(_ pipeline: borrowing AgentPipeline, at timestamp: Timestamp)
    -> PreservedDocument?
  {
    let isDue = nextSave.map { timestamp >= $0 } ?? true
    let isMoving = pipeline.isTripMoving || failed != nil
    if !isUrgent(pipeline), !isDue || !isMoving { return nil }
    return save(pipeline, at: timestamp)
  }

  /// Stores trips, also at a clean stop.
  /// - Returns: the document for the commit with the next messages; nil if there is none.
  package mutating func save(_ pipeline: borrowing AgentPipeline, at timestamp: Timestamp)
    -> PreservedDocument?
  {
    guard var state = pipeline.tripsToKeep else { return nil }
    nextSave = timestamp.advanced(bySeconds: Self.pace)
    milestones = pipeline.tripMilestones
    if !keepsPlaces { state.forgetPlaces() }
    let text = state.text
    guard text != kept else { return nil }
    // A failed write is retried after `pace`, even at rest.
    let (document, isSaved) = disk.prepare(text)
    kept = isSaved ? text : kept ?? ""
    failed = isSaved ? nil : timestamp
    return document
  }
}
