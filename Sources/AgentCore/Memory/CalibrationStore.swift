internal import Logging
internal import Motion
internal import Pipeline
internal import Spatial

/// Keeps the motion calibration in a file, so that a restarted agent need not learn it anew.
///
/// The file is replaced at a calm pace because flash wears and calibrations change slowly; a level that somebody has measured
/// is kept at once.
struct CalibrationStore: Sendable {
  private var file: LearnedFile
  private let log: Logger
  private var stored: MotionCalibration?
  /// That was tried to be kept last.
  private var level: LevelCalibration?
  private var nextLook: Timestamp?
  private var nextSave: Timestamp?
  private var hasLoggedDiscard = false

  /// Seconds between two saves, and between two looks at whether something was discarded.
  static let pace = 900.0
  static let look = 10.0

  init(path: String, log: Logger) {
    file = LearnedFile(path: path, log: log)
    self.log = log
  }

  /// What was kept; nil when there is nothing, or nothing that can be used.
  /// - Parameter now: names what is set aside.
  mutating func load(now: UTCTime) -> MotionCalibration? {
    stored = file.load(now: now, made: \.made, MotionCalibration.init(text:))
    level = stored?.level
    return stored
  }

  /// Saves when it is time to: at its pace, and soon after a calibration was found not to fit any more.
  mutating func keep(_ pipeline: AgentPipeline, at timestamp: Timestamp) {
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
        .calibrationDiscarded, "calibration discarded; it no longer fits these sensors and is learned anew",
        metadata: ["path": "\(file.path)"])
    }
    guard isDiscard || timestamp >= save else { return }
    nextSave = timestamp.advanced(bySeconds: Self.pace)
    self.save(pipeline, at: timestamp)
  }

  /// Saves what differs from what is in the file.
  mutating func save(_ pipeline: AgentPipeline, at timestamp: Timestamp) {
    var calibration = pipeline.calibration
    level = calibration.level
    calibration.made = stored?.made
    guard calibration != stored, stored != nil || !calibration.isEmpty else { return }
    calibration.made = pipeline.utc(at: timestamp)
    if file.save(calibration.text) { stored = calibration }
  }
}
