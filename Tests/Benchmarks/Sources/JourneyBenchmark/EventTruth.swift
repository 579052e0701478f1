import Foundation
import Navigation
import Sensors
import Spatial

/// Manoeuvres of a drive from its true velocities, by the detector's own definition.
enum EventTruth {
  /// Interval of samples, s.
  private static let interval = 0.05
  /// Longest interval between velocities in s; longer ones are gaps.
  private static let longestGap = 1.5

  /// Natural cubic splines through the true velocities, of which there are one or four per second: the forward acceleration is the change
  /// of the speed, the lateral one is speed times rate of the course.
  static func samples(_ drive: Drive) -> [DrivingSample] {
    var points: [(timestamp: Timestamp, velocity: SIMD2<Double>)] = []
    for point in drive.trueVelocities
    where points.last.map({ point.timestamp.seconds(since: $0.timestamp) > 0.01 }) ?? true {
      points.append(point)
    }
    guard let first = points.first?.timestamp, points.count > 3 else { return [] }
    let times = points.map { $0.timestamp.seconds(since: first) }
    let bends = curvatures(times, points.map(\.velocity))
    var samples: [DrivingSample] = []
    var index = 0
    for time in stride(from: 0, to: times[times.count - 1], by: interval) {
      while index + 2 < times.count, times[index + 1] <= time { index += 1 }
      let step = times[index + 1] - times[index]
      guard step <= longestGap else { continue }
      let (a, b) = ((times[index + 1] - time) / step, (time - times[index]) / step)
      let (p, q) = (points[index].velocity, points[index + 1].velocity)
      let (m, n) = (bends[index], bends[index + 1])
      let velocity = a * p + b * q + ((a * a * a - a) * m + (b * b * b - b) * n) * (step * step / 6)
      let change = (q - p) / step + ((3 * b * b - 1) * n - (3 * a * a - 1) * m) * (step / 6)
      let speed = (velocity * velocity).sum().squareRoot()
      let moves = speed > 0.3
      samples.append(
        DrivingSample(
          timestamp: first.advanced(bySeconds: time),
          forward: moves ? (change * velocity).sum() / speed : 0,
          right: moves ? (change.x * velocity.y - change.y * velocity.x) / speed : 0, speed: speed,
          heading: moves ? atan2(velocity.x, velocity.y) : samples.last?.heading ?? 0))
    }
    return samples
  }

  /// Manoeuvres from a receiver alone: differences of its speeds and courses, constant between two reports.
  ///
  /// - Parameter rate: reports per second that are used.
  static func differenced(_ fixes: [PositionFix], rate: Double) -> [DrivingSample] {
    var samples: [DrivingSample] = []
    var last: (timestamp: Timestamp, speed: Double, course: Double)?
    var heading = 0.0
    for fix in fixes {
      guard let speed = fix.speed else { continue }
      guard let before = last else {
        last = (fix.timestamp, speed, fix.course ?? 0)
        continue
      }
      let step = fix.timestamp.seconds(since: before.timestamp)
      guard step > 0.9 / rate else { continue }
      let course = fix.course ?? before.course
      // Courses at walking speed are noise.
      let turn =
        min(speed, before.speed) > 1 ? remainder(course - before.course, 360) * .pi / 180 : 0
      last = (fix.timestamp, speed, course)
      guard step < longestGap else { continue }
      let count = Int((step / interval).rounded(.up))
      for index in 1...count {
        let part = Double(index) / Double(count)
        samples.append(
          DrivingSample(
            timestamp: before.timestamp.advanced(bySeconds: part * step),
            forward: (speed - before.speed) / step, right: (speed + before.speed) / 2 * turn / step,
            speed: before.speed + part * (speed - before.speed), heading: heading + part * turn))
      }
      heading += turn
    }
    return samples
  }

  static func events(_ samples: [DrivingSample], _ limits: DrivingEventLimits) -> [DrivingEvent] {
    var detector = ManoeuvreDetector(limits: limits)
    return samples.flatMap { detector.process($0) } + detector.finish()
  }

  /// The second derivatives of a natural cubic spline at its knots.
  private static func curvatures(_ x: [Double], _ y: [SIMD2<Double>]) -> [SIMD2<Double>] {
    let count = x.count
    var (upper, right) = (
      [Double](repeating: 0, count: count), [SIMD2<Double>](repeating: .zero, count: count)
    )
    for i in 1..<count - 1 {
      let (before, after) = (x[i] - x[i - 1], x[i + 1] - x[i])
      let value = 6 * ((y[i + 1] - y[i]) / after - (y[i] - y[i - 1]) / before)
      let pivot = 2 * (before + after) - before * upper[i - 1]
      upper[i] = after / pivot
      right[i] = (value - before * right[i - 1]) / pivot
    }
    var result = [SIMD2<Double>](repeating: .zero, count: count)
    for i in (1..<count - 1).reversed() { result[i] = right[i] - upper[i] * result[i + 1] }
    return result
  }
}
