internal import Platform
internal import Spatial

/// The last warnings and errors that this process has logged, for who asks it how it is.
enum RecentProblems {
  struct Problem: Sendable, Hashable {
    var time: UTCTime
    var text: String
  }

  private static let capacity = 20
  private static let lengthLimit = 500
  private static let kept = Locked<[Problem]>([])

  static func note(_ text: String) {
    let problem = Problem(
      time: UTCTime(nanoseconds: SystemClock.realtime), text: String(text.prefix(lengthLimit)))
    kept.withLock { kept in
      if kept.count == capacity { kept.removeFirst() }
      kept.append(problem)
    }
  }

  /// Oldest first.
  static var all: [Problem] { kept.withLock { $0 } }
}
