package import FleetStore

/// A time that a vehicle spent at one place.
package struct Stop: Hashable, Sendable {
  /// Milliseconds since 1970, by the vehicle's clock: of the first position there, and of the last.
  package var from: Int64
  package var to: Int64
  /// Degrees: the mean of what was heard there.
  package var latitude: Double
  package var longitude: Double
  package var positions: Int
  /// Whether no position elsewhere has come after it.
  package var isOpen: Bool
}

/// Finds out of a vehicle's positions where it stood (stay points: Li et al., "Mining user similarity based on location
/// history", ACM GIS 2008). A value type, without a clock.
///
/// A vehicle stands while its positions stay within a radius of the mean of those before. One that is further off by itself is an
/// outlier; the second in a row ends the stop. Silence does not end it: a vehicle that sleeps tells nothing, and is there when it wakes
/// at the same place. What radios say is too coarse to move anything.
package struct StopFinder: Sendable {
  package struct Limits: Hashable, Sendable {
    /// Metres: twice the accuracy that a fix has between houses (50 m).
    package var radius = 100.0
    /// Seconds that a vehicle stands at least: five minutes, as fleet systems count parking; no traffic light lasts as long.
    package var duration = 300.0

    package init() {}
  }

  private let limits: Limits
  private var stay: Stop?
  /// One that may be an outlier, or the first of a departure.
  private var doubtful: TrackSample?

  package init(_ limits: Limits = Limits()) { self.limits = limits }

  /// Takes a position, later than the one before. Returns a stop that has ended.
  package mutating func process(_ sample: TrackSample) -> Stop? {
    guard sample.source != .coarse else { return nil }
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

  /// The stop that still goes on; nil where the vehicle does not stand.
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

  /// With the mean brought up to date.
  private static func extended(_ stop: Stop, _ sample: TrackSample) -> Stop {
    var stop = stop
    stop.to = sample.time
    stop.positions += 1
    // A place that was stayed at for long does not follow who creeps away from it, nor is it the first position's error.
    let share = 1 / Double(stop.positions)
    stop.latitude += (sample.latitude - stop.latitude) * share
    var east = sample.longitude - stop.longitude
    if east > 180 { east -= 360 } else if east < -180 { east += 360 }
    stop.longitude += east * share
    if stop.longitude > 180 { stop.longitude -= 360 } else if stop.longitude < -180 { stop.longitude += 360 }
    return stop
  }
}
