import Motion
import Spatial

/// Our own filter on a trial.
enum Odograph {
  static let name = "odograph"

  static func run(_ trial: Trial) -> Score {
    let times = trial.times.map { Timestamp(seconds: $0 + 1) }
    var estimates = [Quaternion?](repeating: nil, count: trial.count)
    var filter = AttitudeFilter()
    let clock = ContinuousClock()
    let start = clock.now
    for i in 0..<trial.count {
      let time = times[i]
      filter.update(gyroscope: trial.rates[i], at: time)
      filter.update(accelerometer: trial.forces[i], at: time)
      if trial.hasField[i] { filter.update(magnetometer: trial.fields[i], at: time) }
      estimates[i] = filter.quaternion9D
    }
    let elapsed = clock.now - start
    return Score(estimates, trial, nanoseconds: elapsed / .nanoseconds(1) / Double(max(1, trial.count)))
  }
}
