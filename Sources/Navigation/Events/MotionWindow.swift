internal import Glibc
internal import Spatial

/// The newest seconds of driving, summed up, so that means over any part of them cost a subtraction.
struct MotionWindow: Sendable {
  /// What has added up until a moment.
  struct Point: Hashable, Sendable {
    var timestamp: Timestamp
    /// m/s: integrals of the accelerations along and across.
    var along = 0.0
    var across = 0.0
    /// m/s: integral of speed times rate of turn, to the right.
    var turned = 0.0
    /// rad, without jumps.
    var heading = 0.0
    var speed: Double
    var deviation: Double
    var coordinate: Coordinate?
  }

  /// m/s² over a part of the window.
  struct Mean: Hashable, Sendable {
    var along: Double
    var across: Double
    /// Across, by speed and rate of turn.
    var turned: Double
    /// The middle of the part.
    var middle: Timestamp
    /// m/s: the greatest in it.
    var speed: Double
    var heading: Double
  }

  private static let capacity = 64
  /// s between samples beyond which nothing is known of what happened.
  private static let longestGap = 0.5

  private var points: [Point] = []
  private var newestIndex = 0

  var newest: Point? { points.isEmpty ? nil : points[newestIndex] }

  mutating func reset() {
    points.removeAll(keepingCapacity: true)
    newestIndex = 0
  }

  /// - Returns: whether the sample goes on from the one before; false begins anew.
  @discardableResult
  mutating func add(_ sample: DrivingSample) -> Bool {
    guard let before = newest else {
      begin(sample)
      return false
    }
    let step = sample.timestamp.seconds(since: before.timestamp)
    guard step > 0 else { return true }
    guard step <= Self.longestGap else {
      begin(sample)
      return false
    }
    let turn = remainder(sample.heading - before.heading, 2 * .pi)
    var point = Point(
      timestamp: sample.timestamp, speed: sample.speed, deviation: sample.deviation,
      coordinate: sample.coordinate)
    point.along = before.along + sample.forward * step
    point.across = before.across + sample.right * step
    point.turned = before.turned + 0.5 * (before.speed + sample.speed) * turn
    point.heading = before.heading + turn
    append(point)
    return true
  }

  private mutating func begin(_ sample: DrivingSample) {
    reset()
    append(
      Point(
        timestamp: sample.timestamp, heading: sample.heading, speed: sample.speed,
        deviation: sample.deviation, coordinate: sample.coordinate))
  }

  private mutating func append(_ point: Point) {
    if points.count < Self.capacity {
      points.append(point)
      newestIndex = points.count - 1
    } else {
      newestIndex = (newestIndex + 1) % Self.capacity
      points[newestIndex] = point
    }
  }

  /// The mean of the newest seconds; nil while there are fewer.
  func mean(seconds: Double) -> Mean? {
    guard let newest else { return nil }
    var index = newestIndex
    var speed = newest.speed
    for _ in 1..<max(points.count, 1) {
      index = (index + points.count - 1) % points.count
      let point = points[index]
      speed = max(speed, point.speed)
      let age = newest.timestamp.seconds(since: point.timestamp)
      guard age >= seconds - 1e-6 else { continue }
      return Mean(
        along: (newest.along - point.along) / age, across: (newest.across - point.across) / age,
        turned: (newest.turned - point.turned) / age, middle: newest.timestamp.advanced(bySeconds: -age / 2),
        speed: speed, heading: newest.heading)
    }
    return nil
  }

  /// Of the point nearest before a time that is still remembered; the oldest for one before them.
  func point(at timestamp: Timestamp) -> Point? {
    guard !points.isEmpty else { return nil }
    var index = newestIndex
    for _ in 1..<points.count where points[index].timestamp > timestamp {
      index = (index + points.count - 1) % points.count
    }
    return points[index]
  }
}
