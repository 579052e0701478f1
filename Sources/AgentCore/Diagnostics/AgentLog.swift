internal import CStandardError
internal import Glibc
package import Logging
internal import Platform
internal import Spatial
internal import StoreAndForward

/// Creates the agent's logger.
package enum AgentLog {
  /// - Parameter level: one of debug, info, notice, warning, error; anything else is info.
  package static func make(level: String) -> Logger {
    // systemd sets this variable for services whose output it reads.
    let isUnderSystemd = getenv("JOURNAL_STREAM") != nil
    let level = Logger.Level(rawValue: level) ?? .info
    return Logger(label: "odographd") { _ in JournalLogHandler(level: level, isUnderSystemd: isUnderSystemd) }
  }
}

/// Unbuffered standard error.
package enum AgentErrorOutput {
  package static func write(_ text: String) {
    var bytes = Array(text.utf8)
    _ = Glibc.write(standard_error_descriptor(), &bytes, bytes.count)
  }
}

/// The environment of the process.
package enum ProcessEnvironment {
  package static var variables: [String: String] {
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

/// The version of this program.
package enum AgentVersion {
  /// Version as in `status`.
  package static let current = BuildInformation.current.version
  /// Version with commit and day of the build, if available.
  package static let description = BuildInformation.current.description
}

/// The last warnings and errors logged by this process, for `odographd status`.
enum RecentProblems {
  struct Problem: Sendable, Hashable {
    var time: UTCTime
    var text: String
  }

  private static let capacity = 20
  private static let lengthLimit = 500
  private static let kept = Locked<[Problem]>([])

  static func record(_ text: String) {
    let problem = Problem(
      time: .now, text: String(text.prefix(lengthLimit)))
    kept.withLock { kept in
      if kept.count == capacity { kept.removeFirst() }
      kept.append(problem)
    }
  }

  /// All problems, oldest first.
  static var all: [Problem] { kept.withLock { $0 } }
}

extension OutboxNotice {
  var event: AgentEvent {
    switch self {
    case .degraded: .storeDegraded
    case .recovered: .storeRecovered
    case .setAside: .storeSetAside
    case .logDamaged, .damaged: .storeDamaged
    case .newEpoch: .storeNewEpoch
    case .dropped: .storeDropped
    }
  }
}
