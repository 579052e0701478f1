internal import CStandardError
internal import Logging
internal import Platform

/// Redirects the libraries' output on standard error to the agent's log, one line each, limited by
/// `LibraryMessageLimit`.
///
/// The process's own output in a crash still reaches the real standard error (`CStandardError`).
struct LibraryMessages {
  private let thread: DedicatedThread

  /// Redirects standard error. Call it after blocking signals, because the new thread inherits the mask.
  /// - Returns: nil if redirection is impossible; libraries then write to standard error as usual.
  init?(log: Logger) {
    guard standard_error_capture() else { return nil }
    do {
      thread = try DedicatedThread.start(name: "libraries", stackSize: 256 << 10) { Self.read(log) }
    } catch {
      standard_error_restore()
      standard_error_close()
      return nil
    }
  }

  /// Logs remaining output and restores standard error.
  func end() {
    standard_error_restore()
    thread.join()
    standard_error_close()
  }

  private static func read(_ log: Logger) {
    var limit = LibraryMessageLimit()
    var bytes: UnsafePointer<UInt8>?
    while true {
      let count = standard_error_read(&bytes)
      guard count > 0, let bytes else { break }
      let text = UnsafeBufferPointer(start: bytes, count: count)
      for line in text.split(separator: UInt8(ascii: "\n")) {
        guard let admitted = limit.admit(LibraryMessageLimit.cleaned(line), at: .now) else {
          continue
        }
        var metadata: Logger.Metadata = ["text": "\(admitted.text)"]
        if admitted.leftOut > 0 { metadata["left_out"] = "\(admitted.leftOut)" }
        log.warning(.libraryMessage, "message from a library", metadata: metadata)
      }
    }
    if limit.leftOut > 0 {
      log.warning(
        .libraryMessage, "messages from libraries omitted", metadata: ["left_out": "\(limit.leftOut)"])
    }
  }
}
