import Foundation
import Spatial

/// The trials at other sample rates.
enum Rates {
  /// Sampling rates in Hz; 286 is the rate of the recordings.
  static let all = [48.0, 100, 200, 2000.0 / 7, 500, 1000]

  /// Prints a row for each rate: mean errors, and shares within two stated deviations.
  static func report(_ trials: [Trial]) {
    print("hz,total_deg,heading_deg,inclination_deg,inclination_inside,heading_inside")
    for rate in all {
      let resampled = trials.map { $0.resampled(to: rate) }
      let score = Score(meanOf: resampled.map(Odograph.run))
      let inside = resampled.map(Odograph.insideTwoDeviations)
      let count = Double(inside.count)
      print(
        String(
          format: "%.0f,%.3f,%.3f,%.3f,%.3f,%.3f", rate, score.total, score.heading, score.inclination,
          inside.reduce(0) { $0 + $1.inclination } / count, inside.reduce(0) { $0 + $1.heading } / count))
    }
  }
}

extension Trial {
  /// Returns the same motion at another sampling rate. Below the recorded rate, samples are interpolated without a filter, like a sensor
  /// that is read less often. Above it, they contain no additional information.
  func resampled(to rate: Double) -> Trial {
    guard rate != self.rate, let last = times.last else { return self }
    var result = Trial(name: name, rate: rate)
    for k in 0..<Int(last * rate) {
      let time = Double(k) / rate
      let position = min(time * self.rate, Double(count - 1))
      let i = min(Int(position), count - 2)
      let part = position - Double(i)
      func between(_ values: [Vector3]) -> Vector3 { values[i] + part * (values[i + 1] - values[i]) }
      result.times.append(time)
      result.rates.append(between(rates))
      result.forces.append(between(forces))
      result.fields.append(between(fields))
      result.hasField.append(hasField[i])
      result.references.append(Reference(references[i], references[i + 1], part))
      if i < scoredFrom { result.scoredFrom = k + 1 }
    }
    return result
  }
}

extension Trial.Reference {
  /// The attitude between two references; nil if one is unknown.
  init?(_ first: Self?, _ second: Self?, _ part: Double) {
    guard let first, let second else { return nil }
    let turn = first.attitude.conjugate * second.attitude
    let sign = turn.w < 0 ? -1.0 : 1
    let rotation = 2 * part * sign * Vector3(turn.x, turn.y, turn.z)
    self.init(
      attitude: (first.attitude * Quaternion(rotationVector: rotation)).normalized,
      isMoving: part < 0.5 ? first.isMoving : second.isMoving)
  }
}
