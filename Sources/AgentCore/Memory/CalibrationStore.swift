internal import Logging
internal import Motion
internal import Pipeline
internal import Platform
internal import Spatial

/// Keeps the motion calibration in a file, so that a restarted agent need not learn it anew.
///
/// The file is replaced as a whole, at a calm pace because flash wears and calibrations change slowly; a level that somebody has
/// measured is kept at once. One that is damaged is
/// set aside under a dated name. A disk that fails costs the calibration, never the agent.
struct CalibrationStore: Sendable {
  let path: String
  private let log: Logger
  private var stored: MotionCalibration?
  /// That was tried to be kept last.
  private var level: LevelCalibration?
  private var nextLook: Timestamp?
  private var nextSave: Timestamp?
  private var hasLoggedDiscard = false
  private var hasLoggedFailure = false

  /// Seconds between two saves, and between two looks at whether something was discarded.
  static let pace = 900.0
  static let look = 10.0
  /// Bytes; a calibration has less than a tenth of them.
  private static let largest = 65_536

  init(path: String, log: Logger) {
    self.path = path
    self.log = log
  }

  /// What was kept; nil when there is nothing, or nothing that can be used.
  /// - Parameter now: names what is set aside.
  mutating func load(now: UTCTime) -> MotionCalibration? {
    do {
      guard let bytes = try AtomicFile.read(path, limit: Self.largest) else { return nil }
      let calibration = try MotionCalibration(text: String(decoding: bytes, as: UTF8.self))
      (stored, level) = (calibration, calibration.level)
      log.info(
        .calibrationLoaded, "calibration loaded",
        metadata: ["path": "\(path)", "made": "\(calibration.made?.rfc3339 ?? "at an unknown time")"])
      return calibration
    } catch let error as CalibrationError {
      setAside(now: now, reason: error.description)
    } catch let error as SystemError where error.isShortOfSpace {
      setAside(now: now, reason: "it is longer than \(Self.largest) bytes")
    } catch {
      log.warning(.calibrationNotRead, "calibration not read", metadata: ["reason": "\(error)"])
    }
    return nil
  }

  private func setAside(now: UTCTime, reason: String) {
    // Colons trouble some file systems and tools.
    let date = String(now.rfc3339.map { $0 == ":" ? "-" : $0 })
    let aside = "\(path).damaged-\(date)"
    do {
      try AtomicFile.move(path, to: aside)
      log.warning(
        .calibrationDamaged, "damaged calibration set aside",
        metadata: ["path": "\(aside)", "reason": "\(reason)"])
    } catch {
      log.warning(
        .calibrationDamaged, "damaged calibration left",
        metadata: ["reason": "\(reason)", "failure": "\(error)"])
    }
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
        metadata: ["path": "\(path)"])
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
    do {
      try AtomicFile.write(Array(calibration.text.utf8), to: path)
      stored = calibration
      hasLoggedFailure = false
    } catch {
      if !hasLoggedFailure {
        log.warning(.calibrationNotKept, "calibration not kept", metadata: ["reason": "\(error)"])
      }
      hasLoggedFailure = true
    }
  }
}
