package import FleetStore

/// A stop: a time that a vehicle spent at one position.
package struct Stop: Hashable, Sendable {
  /// The times of the first and last position of the stop, in milliseconds since 1970 by the vehicle's clock.
  package var from: Int64
  package var to: Int64
  /// The mean of the stop's positions in degrees.
  package var latitude: Double
  package var longitude: Double
  package var positions: Int
  /// True if the stop has not ended: no later position is outside its radius.
  package var isOpen: Bool

  /// Returns the part of the stop within a span; nil if there is none.
  package func cut(to span: TrackSpan) -> Stop? {
    var stop = self
    stop.from = max(from, span.from.milliseconds)
    stop.to = min(to, span.to.milliseconds)
    return stop.from < stop.to ? stop : nil
  }
}

/// A detector of stops in a vehicle's positions (stay points: Li et al., "Mining user similarity based on
/// location history", ACM GIS 2008). A value type without a clock.
///
/// A vehicle is at a stop while its positions are within a radius of their mean. A single position outside is
/// an outlier; the second in a row ends the stop. Silence does not end it: a vehicle that sleeps sends
/// nothing, and wakes up at the same position. Suspect positions, positions from radio beacons, and positions
/// whose accuracy exceeds the radius, show no movement within the radius. They are ignored.
package struct StopFinder: Sendable {
  package struct Limits: Hashable, Sendable {
    /// The radius in m: twice the accuracy of a fix between houses (50 m).
    package var radius = 100.0
    /// The minimum duration in s: five minutes, from which fleet systems usually count a stop as parking, and
    /// longer than any traffic light.
    package var duration = 300.0

    package init() {}
  }

  private let limits: Limits
  private var stay: Stop?
  /// The last position if it was outside the stop's radius: an outlier, or the first position after a
  /// departure. Nil otherwise.
  private var doubtful: TrackSample?

  package init(_ limits: Limits = Limits()) { self.limits = limits }

  /// Processes a position, later than the previous one. Returns the stop that it ends; nil if it ends none.
  package mutating func process(_ sample: TrackSample) -> Stop? {
    // The comparison is false for an unknown accuracy (NaN).
    guard sample.source.isOnPath, !(Double(sample.accuracy) > limits.radius) else { return nil }
    guard let current = stay else {
      stay = Self.begin(sample)
      return nil
    }
    if isNear(sample, current) {
      stay = Self.extended(current, sample)
      doubtful = nil
      return nil
    }
    guard let first = doubtful else {
      doubtful = sample
      return nil
    }
    doubtful = nil
    let next = Self.begin(first)
    if isNear(sample, next) {
      stay = Self.extended(next, sample)
    } else {
      stay = next
      doubtful = sample
    }
    return ended(current)
  }

  /// Returns the stop that has not ended; nil if there is none.
  package mutating func finish() -> Stop? {
    defer { (stay, doubtful) = (nil, nil) }
    guard var last = stay else { return nil }
    last.isOpen = doubtful == nil
    return ended(last)
  }

  private func ended(_ stop: Stop) -> Stop? {
    Double(stop.to - stop.from) >= limits.duration * 1000 ? stop : nil
  }

  private func isNear(_ sample: TrackSample, _ stop: Stop) -> Bool {
    Planar.distance((sample.latitude, sample.longitude), (stop.latitude, stop.longitude)) <= limits.radius
  }

  private static func begin(_ sample: TrackSample) -> Stop {
    Stop(
      from: sample.time, to: sample.time, latitude: sample.latitude, longitude: sample.longitude,
      positions: 1, isOpen: false)
  }

  /// Returns the stop with an updated mean.
  private static func extended(_ stop: Stop, _ sample: TrackSample) -> Stop {
    var stop = stop
    stop.to = sample.time
    stop.positions += 1
    // The mean of all positions: the position of a long stop neither follows a creeping vehicle nor depends
    // on the error of the first fix.
    let share = 1 / Double(stop.positions)
    stop.latitude += (sample.latitude - stop.latitude) * share
    var east = sample.longitude - stop.longitude
    if east > 180 { east -= 360 } else if east < -180 { east += 360 }
    stop.longitude += east * share
    if stop.longitude > 180 { stop.longitude -= 360 } else if stop.longitude < -180 { stop.longitude += 360 }
    return stop
  }
}
