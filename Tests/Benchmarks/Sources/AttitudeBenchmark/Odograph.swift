import Motion
import Sensors
import Spatial

/// Our own filter on a trial.
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
}
