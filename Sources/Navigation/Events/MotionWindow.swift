internal import Glibc
internal import Spatial

/// The accumulated motion of the last seconds. The mean over any part of it is a difference of two points.
struct MotionWindow: Sendable {
  /// The accumulated motion up to a time.
  struct Point: Hashable, Sendable {
    var timestamp: Timestamp
    /// The integral of the forward acceleration, m/s.
    var along = 0.0
    /// The integral of the lateral acceleration in m/s, positive to the right.
    var across = 0.0
    /// The integral of speed times rate of turn in m/s, which is the lateral velocity change; positive to the
    /// right.
    var turned = 0.0
    /// The unwrapped heading in rad.
    var heading = 0.0
    var speed: Double
    var deviation: Double
    var coordinate: Coordinate?
  }

  /// Mean values over a part of the window. Accelerations are in m/s².
  struct Mean: Hashable, Sendable {
    var along: Double
    var across: Double
    /// The lateral acceleration computed from speed and rate of turn.
    var turned: Double
    /// The time in the middle of the part of the window.
    var middle: Timestamp
    /// The largest speed in the part of the window, m/s.
    var speed: Double
    var heading: Double
  }

  private static let capacity = 64
  /// The interval between samples in s above which the motion in between is unknown.
  private static let longestGap = 0.5

  private var points: [Point] = []
  private var newestIndex = 0

  var newest: Point? { points.isEmpty ? nil : points[newestIndex] }

  mutating func reset() {
    points.removeAll(keepingCapacity: true)
    newestIndex = 0
  }

  /// Adds a sample.
  ///
  /// - Returns: true if the sample continues the previous one; false if the window was restarted.
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

  /// Returns the mean over the last `seconds` of the window; nil if the window is shorter.
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

  /// Returns the last stored point before a time, or the oldest point.
  func point(at timestamp: Timestamp) -> Point? {
    guard !points.isEmpty else { return nil }
    var index = newestIndex
    for _ in 1..<points.count where points[index].timestamp > timestamp {
      index = (index + points.count - 1) % points.count
    }
    return points[index]
  }
}
