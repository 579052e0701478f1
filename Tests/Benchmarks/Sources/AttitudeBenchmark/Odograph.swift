import Motion
import Sensors
import Spatial

/// The project's attitude filter.
enum Odograph {
  static let name = "odograph"

  static func run(_ trial: Trial) -> Score {
    let times = trial.times.map { Timestamp(seconds: $0 + 1) }
    var estimates = [Quaternion?](repeating: nil, count: trial.count)
    var (screen, filter) = (ScanScreen(), AttitudeFilter())
    let clock = ContinuousClock()
    let start = clock.now
    for i in 0..<trial.count {
      var scan = InertialScan(
        timestamp: times[i], specificForce: trial.forces[i], rotationRate: trial.rates[i],
        magneticField: trial.hasField[i] ? trial.fields[i] : nil)
      let doubts = screen.admit(&scan)
      filter.process(scan, doubts: doubts)
      estimates[i] = filter.quaternion9D
    }
    let elapsed = clock.now - start
    return Score(estimates, trial, nanoseconds: elapsed / .nanoseconds(1) / Double(max(1, trial.count)))
  }

  /// Attitudes of a trial.
  static func estimates(_ trial: Trial) -> [Quaternion?] {
    var (screen, filter) = (ScanScreen(), AttitudeFilter())
    return (0..<trial.count).map { i in
      var scan = InertialScan(
        timestamp: Timestamp(seconds: trial.times[i] + 1), specificForce: trial.forces[i],
        rotationRate: trial.rates[i], magneticField: trial.hasField[i] ? trial.fields[i] : nil)
      let doubts = screen.admit(&scan)
      filter.process(scan, doubts: doubts)
      return filter.quaternion9D
    }
  }

  /// Shares of the moving samples, ten per second, whose error is within two stated deviations of inclination and of heading.
  static func insideTwoDeviations(_ trial: Trial) -> (inclination: Double, heading: Double) {
    var (screen, filter) = (ScanScreen(), AttitudeFilter())
    var (inclination, heading, count) = (0.0, 0.0, 0.0)
    for i in 0..<trial.count {
      var scan = InertialScan(
        timestamp: Timestamp(seconds: trial.times[i] + 1), specificForce: trial.forces[i],
        rotationRate: trial.rates[i], magneticField: trial.hasField[i] ? trial.fields[i] : nil)
      let doubts = screen.admit(&scan)
      filter.process(scan, doubts: doubts)
      guard i % max(1, Int(trial.rate / 10)) == 0, i >= trial.scoredFrom, let reference = trial.references[i],
        reference.isMoving, let attitude = filter.quaternion9D
      else { continue }
      let (state, error) = (filter.state, Score.Error(attitude, reference.attitude))
      count += 1
      if error.inclination <= 2 * state.inclinationDeviation { inclination += 1 }
      if error.heading <= 2 * (state.headingDeviation ?? 0) { heading += 1 }
    }
    return (inclination / max(1, count), heading / max(1, count))
  }

  /// Time in ns per scan of the complete processing in a vehicle: blocks of ten scans through `MotionManager`, which screens, orders and
  /// fuses them, and separates gravity.
  static func timeOfManager(_ trial: Trial) -> Double {
    let blocks = stride(from: 0, to: trial.count, by: 10).map { first in
      (first..<min(first + 10, trial.count)).map { i in
        InertialScan(
          timestamp: Timestamp(seconds: trial.times[i] + 1), specificForce: trial.forces[i],
          rotationRate: trial.rates[i], magneticField: trial.hasField[i] ? trial.fields[i] : nil)
      }
    }
    var manager = MotionManager(frame: .xMagneticNorthZVertical)
    let clock = ContinuousClock()
    let start = clock.now
    for block in blocks { manager.process(block) }
    return (clock.now - start) / .nanoseconds(1) / Double(max(1, trial.count))
  }
}
