internal import Logging
internal import Platform
internal import Spatial

/// A small text file of learned values, replaced as a whole.
///
/// A damaged file is renamed with a date. A failing disk loses the values but does not stop the agent.
struct LearnedFile: Sendable {
  let path: String
  private let log: Logger
  private let largest: Int
  private var hasLoggedFailure = false

  /// - Parameter largest: maximum size in bytes; most files have less than a tenth of the default.
  init(path: String, largest: Int = 65_536, log: Logger) {
    self.path = path
    self.largest = largest
    self.log = log
  }

  /// Returns the stored value; nil if there is none or it is not usable.
  /// - Parameters:
  ///   - now: date for the name of a file that is set aside.
  ///   - made: returns the time of storing, for the log.
  ///   - read: parses the text, or throws a description of the problem.
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
        log.warning(.calibrationNotRead, "calibration not read", metadata: ["reason": "\(error)"])
      }
      return nil
    }
    do throws(Failure) {
      let value = try read(String(decoding: bytes, as: UTF8.self))
      log.info(
        .calibrationLoaded, "calibration loaded",
        metadata: ["path": "\(path)", "made": "\(made(value)?.rfc3339 ?? "at an unknown time")"])
      return value
    } catch {
      setAside(now: now, reason: error.description)
      return nil
    }
  }

  private func setAside(now: UTCTime, reason: String) {
    // Colons cause problems in some file systems and tools.
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

  /// Deletes the file.
  func remove() { try? AtomicFile.remove(path) }

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
        log.warning(.calibrationNotKept, "calibration not kept", metadata: ["reason": "\(error)"])
      }
      hasLoggedFailure = true
      return false
    }
  }
}
