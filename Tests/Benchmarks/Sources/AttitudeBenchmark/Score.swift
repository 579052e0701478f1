import Foundation
import Spatial

/// Root mean squares of the attitude error over the moving samples with a reference, degrees.
struct Score {
  var total = 0.0
  var heading = 0.0
  var inclination = 0.0
  /// Time per sample of all sensors.
  var nanoseconds = 0.0

  /// The error quaternion in the earth frame is e = estimate * reference^-1; total = 2 acos|w|, heading = 2 atan|z / w|,
  /// inclination = 2 acos sqrt(w² + z²). Radians.
  struct Error {
    var total: Double
    var heading: Double
    var inclination: Double

    init(_ estimate: Quaternion, _ reference: Quaternion) {
      let e = estimate * reference.conjugate
      let n = e.norm
      let (w, z) = (e.w / n, e.z / n)
      total = 2 * acos(min(1, abs(w)))
      heading = 2 * atan(abs(z / w))
      inclination = 2 * acos(min(1, (w * w + z * z).squareRoot()))
    }
  }

  /// Scores estimates (nil counts as unknown: identity) against a trial.
  init(_ estimates: [Quaternion?], _ trial: Trial, nanoseconds: Double) {
    var count = 0.0
    for i in trial.scoredFrom..<trial.count {
      guard let reference = trial.references[i], reference.isMoving else { continue }
      let error = Error(estimates[i] ?? .identity, reference.attitude)
      total += error.total * error.total
      heading += error.heading * error.heading
      inclination += error.inclination * error.inclination
      count += 1
    }
    let degrees = 180 / Double.pi
    total = (total / max(1, count)).squareRoot() * degrees
    heading = (heading / max(1, count)).squareRoot() * degrees
    inclination = (inclination / max(1, count)).squareRoot() * degrees
    self.nanoseconds = nanoseconds
  }

  init(meanOf scores: [Score]) {
    let count = Double(max(1, scores.count))
    total = scores.reduce(0) { $0 + $1.total } / count
    heading = scores.reduce(0) { $0 + $1.heading } / count
    inclination = scores.reduce(0) { $0 + $1.inclination } / count
    nanoseconds = scores.reduce(0) { $0 + $1.nanoseconds } / count
  }

  /// Returns a line of the CSV output.
  func line(trial: String, fault: Fault, algorithm: String) -> String {
    func text(_ value: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", value) }
    return [
      trial, fault.rawValue, algorithm, text(total, 3), text(heading, 3), text(inclination, 3),
      text(nanoseconds, 0),
    ].joined(separator: ",")
  }
}
