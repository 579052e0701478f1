internal import Logging
internal import Platform
internal import Spatial

/// A small state file in text form, replaced as a whole: calibration, odometer, trips, navigation.
///
/// A damaged file is set aside under a dated name. A FIFO or device in its place is neither read nor replaced. A failure of the
/// disk costs the state, never the agent.
struct LearnedFile: Sendable {
  let path: String
  private let log: Logger
  private let largest: Int
  private var hasLoggedFailure = false

  /// - Parameter largest: bytes; most of what is kept has less than a tenth of the default.
  init(path: String, largest: Int = 65_536, log: Logger) {
    self.path = path
    self.largest = largest
    self.log = log
  }

  /// What was kept; nil when there is nothing, or nothing that can be used.
  /// - Parameters:
  ///   - now: names what is set aside.
  ///   - made: when it was kept, for the log.
  ///   - read: throws a sentence about what is wrong with the text.
  func load<Value, Failure: Error & CustomStringConvertible>(
    now: UTCTime, made: (Value) -> UTCTime?, _ read: (String) throws(Failure) -> Value
  ) -> Value? {
    let bytes: [UInt8]
    do throws(SystemError) {
      guard let contents = try AtomicFile.read(path, limit: largest) else { return nil }
      bytes = contents
    } catch {
      if error.isShortOfSpace {
        setAside(now: now, reason: "it is longer than \(largest) bytes")
      } else {
        log.warning(.calibrationNotRead, "state file not read", metadata: ["reason": "\(error)"])
      }
      return nil
    }
    do throws(Failure) {
      let value = try read(String(decoding: bytes, as: UTF8.self))
      log.info(
        .calibrationLoaded, "state file loaded",
        metadata: ["path": "\(path)", "made": "\(made(value)?.rfc3339 ?? "at an unknown time")"])
      return value
    } catch {
      setAside(now: now, reason: error.description)
      return nil
    }
  }

  private func setAside(now: UTCTime, reason: String) {
    // Colons trouble some file systems and tools.
    let date = String(now.rfc3339.map { $0 == ":" ? "-" : $0 })
    let aside = "\(path).damaged-\(date)"
    do {
      try AtomicFile.move(path, to: aside)
      log.warning(
        .calibrationDamaged, "damaged state file set aside",
        metadata: ["path": "\(aside)", "reason": "\(reason)"])
    } catch {
      log.warning(
        .calibrationDamaged, "damaged state file left",
        metadata: ["reason": "\(reason)", "failure": "\(error)"])
    }
  }

  /// Writes what is to be kept; that it cannot be is told once.
  /// - Parameter isDurable: false where a loss of power takes the file anyway.
  /// - Returns: whether it is kept.
  mutating func save(_ text: String, isDurable: Bool = true) -> Bool {
    do throws(SystemError) {
      try AtomicFile.write(Array(text.utf8), to: path, isDurable: isDurable)
      hasLoggedFailure = false
      return true
    } catch {
      if !hasLoggedFailure {
        log.warning(.calibrationNotKept, "state file not written", metadata: ["reason": "\(error)"])
      }
      hasLoggedFailure = true
      return false
    }
  }
}
