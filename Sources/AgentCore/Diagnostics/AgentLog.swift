internal import Glibc
public import Logging

/// The agent's logger.
public enum AgentLog {
  /// - Parameter level: one of debug, info, notice, warning, error; anything else is info.
  public static func make(level: String) -> Logger {
    // systemd names the journal's stream in this variable for services whose output it reads.
    let isUnderSystemd = getenv("JOURNAL_STREAM") != nil
    let level = Logger.Level(rawValue: level) ?? .info
    return Logger(label: "odographd") { _ in JournalLogHandler(level: level, isUnderSystemd: isUnderSystemd) }
  }
}

/// Standard error, unbuffered.
public enum StandardError {
  public static func write(_ text: String) {
    var bytes = Array(text.utf8)
    _ = Glibc.write(STDERR_FILENO, &bytes, bytes.count)
  }
}

/// The program's environment.
public enum ProcessEnvironment {
  public static var variables: [String: String] {
    var result: [String: String] = [:]
    var entry = environ
    while let current = entry.pointee {
      let text = String(cString: current)
      if let equals = text.firstIndex(of: "=") {
        result[String(text[..<equals])] = String(text[text.index(after: equals)...])
      }
      entry = entry.advanced(by: 1)
    }
    return result
  }
}
