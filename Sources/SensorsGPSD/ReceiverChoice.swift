package import Sensors
internal import Spatial

/// Chooses one of the receivers of a gpsd. The positions of several antennas would otherwise form one track.
/// Pure: time arrives with the reports.
///
/// The first receiver that reports is chosen. Another one replaces it with its own report:
/// - after `patience` without a report of the chosen one, or 2.5 of its intervals if these are longer;
/// - with a fix, if the chosen one has had no fix for that time, or none yet;
/// - with a fix, after `comparison` in which its error was at most half as large.
///
/// A fix that repeats time and position of its receiver's previous one is no report: the receiver hangs, or gpsd sends an epoch
/// in parts.
package struct ReceiverChoice: Sendable {
  /// Time in s without a report or a fix, after which another receiver is chosen.
  package static let patience = 5.0
  /// Time in s for which another receiver's error must be clearly smaller.
  package static let comparison = 30.0
  /// Ratio of two errors below which one is clearly smaller.
  private static let clearRatio = 0.5
  /// Number of missing reports of a slow receiver that count as silence.
  private static let intervals = 2.5
  /// Longest interval in s between two reports of a receiver.
  private static let longestInterval = 60.0
  /// Maximum number of receivers, to limit memory; gpsd itself supports four.
  private static let mostReceivers = 16
  /// Assumed horizontal error (95 %) in m: per unit of dilution, and of a fix without error and dilution.
  private static let (perDilution, threeDimensional, twoDimensional) = (5.0, 25.0, 50.0)

  private struct Receiver {
    var lastReport: Timestamp
    /// Time in s between the last two reports; zero before.
    var interval = 0.0
    /// Time of the last fix; nil before the first.
    var lastFix: Timestamp?
    /// Civil time and position of the last fix; nil if it had none.
    var content: Content?
    /// Horizontal error (95 %) in m of the last fix.
    var error = 0.0
    /// Time in s with fixes in which the error has been clearly smaller than that of the chosen receiver.
    var advantage = 0.0
  }

  private struct Content: Equatable {
    var time: UTCTime
    var coordinate: Coordinate
  }

  /// True if the last processed report repeats the previous one of its receiver.
  package private(set) var isRepeated = false
  private var receivers: [String: Receiver] = [:]
  private var chosen: String?
  /// Time of the last report of any receiver; nil before the first.
  private var newest: Timestamp?
  private var hasPaused = false

  package init() {}

  /// A sentence for the operator that names the chosen receiver; nil unless there are several.
  package var notice: String? {
    guard let chosen, receivers.count > 1 else { return nil }
    let others = receivers.keys.filter { $0 != chosen }.sorted().joined(separator: ", ")
    return "uses the receiver \(chosen) and ignores \(others); gpsd.device selects a receiver"
  }

  /// Processes a report. Returns true if its receiver is the chosen one, or is not named.
  package mutating func admits(_ fix: PositionFix) -> Bool {
    isRepeated = false
    guard let name = fix.receiver else { return true }
    let now = fix.timestamp
    if hasPaused { resume(at: now) }
    newest = now
    observe(fix, of: name)
    guard let chosen, chosen != name, let current = receivers[chosen] else {
      self.chosen = name
      return true
    }
    let patience = max(Self.patience, Self.intervals * current.interval)
    let isSilent = now.seconds(since: current.lastReport) >= patience
    let hasLostFix = current.lastFix.map { now.seconds(since: $0) >= patience } ?? true
    let isWorse = receivers[name].map { $0.advantage >= Self.comparison } ?? false
    guard isSilent || fix.coordinate != nil && (hasLostFix || isWorse) else { return false }
    self.chosen = name
    for name in receivers.keys { receivers[name]?.advantage = 0 }
    return true
  }

  /// Processes the end of a connection. Times between two connections do not count as silence.
  package mutating func pause() { hasPaused = true }

  /// Removes the receivers that are not in gpsd's list.
  package mutating func retain(_ paths: [String]) {
    for name in receivers.keys where !paths.contains(name) { remove(name) }
  }

  /// Removes a receiver that gpsd has closed.
  package mutating func remove(_ name: String) {
    receivers[name] = nil
    if chosen == name { chosen = nil }
  }

  /// Excludes the time since the last report from the silence of the chosen receiver.
  private mutating func resume(at now: Timestamp) {
    hasPaused = false
    guard let chosen, var receiver = receivers[chosen], let newest else { return }
    let pause = now.seconds(since: newest)
    receiver.lastReport = receiver.lastReport.advanced(bySeconds: pause)
    receiver.lastFix = receiver.lastFix?.advanced(bySeconds: pause)
    receivers[chosen] = receiver
  }

  private mutating func observe(_ fix: PositionFix, of name: String) {
    if receivers[name] == nil, receivers.count >= Self.mostReceivers {
      receivers = receivers.filter { $0.key == chosen }
    }
    var receiver = receivers[name] ?? Receiver(lastReport: fix.timestamp)
    let content = fix.time.flatMap { time in fix.coordinate.map { Content(time: time, coordinate: $0) } }
    isRepeated = content != nil && content == receiver.content
    guard !isRepeated else { return }
    receiver.content = content
    receiver.interval = min(Self.longestInterval, max(0, fix.timestamp.seconds(since: receiver.lastReport)))
    receiver.lastReport = fix.timestamp
    if fix.coordinate != nil {
      let error = Self.error(of: fix)
      if let chosen, chosen != name, let current = receivers[chosen], error <= Self.clearRatio * current.error
      {
        let step = receiver.lastFix.map { fix.timestamp.seconds(since: $0) } ?? 0
        receiver.advantage += (0...Self.patience).contains(step) ? step : 0
      } else {
        receiver.advantage = 0
      }
      (receiver.lastFix, receiver.error) = (fix.timestamp, error)
    }
    receivers[name] = receiver
  }

  /// Returns the horizontal error (95 %) in m.
  private static func error(of fix: PositionFix) -> Double {
    if let error = fix.horizontalError, !fix.isHorizontalErrorFromDilution { return error }
    if let dilution = fix.horizontalDilution { return dilution * perDilution }
    return fix.mode == .threeDimensional ? threeDimensional : twoDimensional
  }
}
