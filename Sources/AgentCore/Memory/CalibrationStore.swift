package import Logging
package import Motion
package import Pipeline
package import Spatial

/// Stores the motion calibration for the next start.
///
/// It is replaced rarely, because flash wears and calibrations change slowly. A level calibration that
/// a command has set is stored immediately.
package struct CalibrationStore: Sendable {
  private var document: StateDocument
  private let log: Logger
  private var stored: MotionCalibration?
  /// The level calibration at the last attempt to save.
  private var level: LevelCalibration?
  private var nextLook: Timestamp?
  private var nextSave: Timestamp?
  private var hasLoggedDiscard = false

  /// Interval in s between saves, and between checks whether a calibration was discarded.
  package static let pace = 900.0
  package static let look = 10.0

  package init(path: String, store: StateStore? = nil, log: Logger) {
    document = StateDocument("calibration", path: path, store: store, log: log)
    self.log = log
  }

  /// Returns the stored calibration; nil if there is none or it is not usable.
  /// - Parameter now: date for the name of a document that is set aside.
  package mutating func load(now: UTCTime) -> MotionCalibration? {
    stored = document.load(now: now, made: \.made, MotionCalibration.init(text:))
    level = stored?.level
    return stored
  }

  /// Saves if it is due: at regular intervals, and soon after a calibration was discarded.
  package mutating func keep(_ pipeline: AgentPipeline, at timestamp: Timestamp) {
    if pipeline.level != level { return save(pipeline, at: timestamp) }
    guard let look = nextLook, let save = nextSave else {
      nextLook = timestamp.advanced(bySeconds: Self.look)
      nextSave = timestamp.advanced(bySeconds: Self.pace)
      return
    }
    guard timestamp >= look else { return }
    nextLook = timestamp.advanced(bySeconds: Self.look)
    let isDiscard = pipeline.hasDiscardedCalibration && !hasLoggedDiscard
    if isDiscard {
      hasLoggedDiscard = true
      log.notice(
        .calibrationDiscarded,
        "calibration discarded: it is from other sensors; the calibration restarts",
        metadata: ["path": "\(document.path)"])
    }
    guard isDiscard || timestamp >= save else { return }
    nextSave = timestamp.advanced(bySeconds: Self.pace)
    self.save(pipeline, at: timestamp)
  }

  /// Saves the calibration if it differs from the stored one.
  package mutating func save(_ pipeline: AgentPipeline, at timestamp: Timestamp) {
    var calibration = pipeline.calibration
    level = calibration.level
    calibration.made = stored?.made
    guard calibration != stored, stored != nil || !calibration.isEmpty else { return }
    calibration.made = pipeline.utc(at: timestamp)
    if document.save(calibration.text) { stored = calibration }
  }
}
