public import Spatial

/// Adds up for how long something has power, and how often that began.
public struct OnTimeMeter: Hashable, Sendable {
  /// Seconds that the power stays on after nobody needs it any more.
  public let linger: Double
  /// How often the power came on.
  public private(set) var starts = 0

  private var seconds = 0.0
  private var onSince: Timestamp?
  private var offSince: Timestamp?

  public init(linger: Double = 0) {
    self.linger = max(0, linger)
  }

  /// Notes whether it is needed from `time` on; repetitions do not matter.
  public mutating func set(_ isOn: Bool, at time: Timestamp) {
    guard isOn != (onSince != nil) else { return }
    if isOn {
      let after = lingered(until: time)
      seconds += after
      // Needed again before the power went, it never went.
      if offSince == nil || after >= linger { starts += 1 }
      (onSince, offSince) = (time, nil)
    } else {
      seconds += running(until: time)
      (onSince, offSince) = (nil, time)
    }
  }

  /// Seconds with power until `time`.
  public func total(at time: Timestamp) -> Double {
    seconds + running(until: time) + lingered(until: time)
  }

  private func running(until time: Timestamp) -> Double {
    onSince.map { max(0, time.seconds(since: $0)) } ?? 0
  }

  private func lingered(until time: Timestamp) -> Double {
    offSince.map { min(linger, max(0, time.seconds(since: $0))) } ?? 0
  }
}
