internal import JSON
internal import Logging
internal import Pipeline
internal import Spatial
internal import Telemetry

/// The recorded fixes of this vehicle, for the command `track`. The first of consecutive failures to write is logged.
final class PositionHistory {
  /// Maximum number of fixes in an answer. If there are more, the answer contains the time from which they
  /// can be requested.
  private static let trackLimit = 20_000
  private static let fixesPerMessage = 1000

  private var history: FixHistory
  private var hasComplained = false
  private let log: Logger

  /// Opens the history; nil without a limit, and if the file cannot be opened, which is logged.
  /// - Parameter limit: maximum size of the file in bytes.
  init?(path: String, limit: Int, log: Logger) {
    guard limit > 0 else { return nil }
    do { history = try FixHistory(path: path, limit: limit) } catch {
      log.warning(.historyMissing, "no history of fixes", metadata: ["reason": "\(error)"])
      return nil
    }
    self.log = log
  }

  func record(_ message: LocationMessage) {
    do {
      try history.record(message)
      hasComplained = false
    } catch { complain(error) }
  }

  /// Writes the recorded fixes to disk.
  func flush() { do { try history.flush() } catch { complain(error) } }

  private func complain(_ error: any Error) {
    if !hasComplained {
      log.warning(.historyNotWritten, "history of fixes not written", metadata: ["reason": "\(error)"])
    }
    hasComplained = true
  }

  /// Returns the fixes of a time range that the current settings permit to publish.
  /// - Returns: messages with the fixes, and the result of the command.
  func track(from: UTCTime, to: UTCTime?, _ pipeline: AgentPipeline) -> ([VehicleMessage], JSONValue) {
    // One fix more than the limit is read: its time is the start of the next request.
    var stored = history.fixes(from: from, to: to ?? UTCTime(nanoseconds: .max), limit: Self.trackLimit + 1)
    let next = stored.count > Self.trackLimit ? stored.removeLast().time : nil
    // A privacy zone may have been added since the fixes were recorded.
    let fixes = stored.compactMap { fix in
      pipeline.shown(stored: fix.coordinate).map {
        TrackMessage.Fix(time: fix.time, coordinate: $0, horizontalAccuracy: fix.horizontalAccuracy)
      }
    }
    let messages = stride(from: 0, to: fixes.count, by: Self.fixesPerMessage).map { start in
      VehicleMessage.track(
        TrackMessage(
          identity: nil, fixes: Array(fixes[start..<min(start + Self.fixesPerMessage, fixes.count)])))
    }
    var result: [String: JSONValue] = [
      "fixes": .integer(Int64(fixes.count)), "messages": .integer(Int64(messages.count)),
    ]
    if let next { result["next"] = .string(next.rfc3339) }
    return (messages, .object(result))
  }
}
