internal import Spatial

/// A request for one location that is exact enough, or the best there is when its time is over.
struct OneShotRequest: Sendable {
  /// Metres at 68 %.
  var accuracy: Double
  var start: Timestamp
  /// Seconds.
  var timeLimit: Double
  private(set) var best: Location?

  init(accuracy: Double, start: Timestamp, timeLimit: Double) {
    self.accuracy = accuracy
    self.start = start
    self.timeLimit = timeLimit
  }

  var deadline: Timestamp { start.advanced(bySeconds: timeLimit) }

  /// The tier that the hardware must run in for it.
  var desiredAccuracy: DesiredAccuracy {
    DesiredAccuracy.allCases.last { tier in
      guard tier != .reduced, let meters = tier.meters else { return false }
      return meters <= accuracy
    } ?? .best
  }

  /// Takes a location; returns it when it answers the request.
  mutating func take(_ location: Location) -> Location? {
    // Of two that are equally good the newer is better.
    if radius(of: location) <= radius(of: best) { best = location }
    return radius(of: location) <= accuracy ? location : nil
  }

  private func radius(of location: Location?) -> Double { location?.horizontalAccuracy ?? .infinity }
}
