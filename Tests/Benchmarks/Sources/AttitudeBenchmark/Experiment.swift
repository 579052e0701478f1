import Foundation
import Spatial

/// An event that is inserted into a trial. The errors after it are scored, not those of the whole trial.
///
/// All random values come from a generator seeded with the names of trial and experiment and the number of the run, so that all algorithms
/// process the same samples.
enum Experiment: String, CaseIterable {
  /// A field of 1 to 10 µT for 1 to 60 s that rotates with the device.
  case transient
  /// The same field, fixed in the room.
  case passing
  /// The sensors turn by 12° relative to the device in motion, without a measured rotation.
  case tilt
  /// The same during a rest of 30 s.
  case tiltAtRest
  /// Gaps of all sensors of 1.5 s, three times within 10 s.
  case gap
  /// A gap of all sensors of 3 s.
  case longGap
  /// No magnetometer for a minute.
  case noField
  /// Scale errors of the gyroscope of up to 5 % on each axis, from the start.
  case scale
  /// A spin at 700 to 900 °/s for 2.5 s; the gyroscope's range is 500 °/s.
  case spin
  /// The gyroscope's bias changes by 0.1 to 0.5 °/s about a random axis.
  case biasStep
  /// A field of 5 to 20 µT in the room, from the start until one minute after the first movement.
  case leaving
  /// A start in motion with a field of 10 µT from the surroundings that fades within 20 s.
  case magnetAtStart

  /// Times in s after the event at which errors are measured, as the mean square over one second.
  static let delays = [2.0, 5, 10, 20, 40]

  /// A modified trial.
  struct Run {
    var trial: Trial
    /// Start and end of the event, s.
    var onset = 0.0
    var end = 0.0
    /// Field in µT; zero if the event is not magnetic.
    var size = 0.0
  }

  func run(_ original: Trial, number: Int) -> Run? {
    var random = SeededRandom("\(original.name)/\(rawValue)/\(number)")
    var run = Run(trial: original)
    let moving = original.times[original.movementStart]
    let last = original.times[original.count - 1]
    func draw(_ range: ClosedRange<Double>) -> Double { Double.random(in: range, using: &random) }
    /// Returns a time in motion, at least `end` seconds before the end of the trial.
    func onset(before end: Double) -> Double { draw((moving + 15)...max(moving + 16, last - end)) }
    switch self {
    case .transient, .passing:
      run.size = [1.0, 2, 3, 5, 10][number % 5]
      let duration = [1.0, 3, 10, 30, 60][number / 5 % 5]
      run.onset = onset(before: duration + 15)
      run.end = run.onset + duration
      let field = run.size * Fault.direction(&random)
      for i in 0..<original.count {
        let t = original.times[i]
        let part = max(0, min(1, (t - run.onset) / 0.3)) - max(0, min(1, (t - run.end) / 0.3))
        guard part != 0 else { continue }
        if self == .transient {
          run.trial.fields[i] += part * field
        } else if let reference = original.references[i] {
          run.trial.fields[i] += part * reference.attitude.conjugate.rotate(field)
        }
      }
    case .tilt:
      run.onset = onset(before: 45)
      run.end = run.onset
      run.trial.tilt(12.0.radians, toward: draw(0...(2 * .pi)), after: run.onset)
    case .tiltAtRest:
      run.onset = 25
      run.end = 25
      run.trial.prependRest(40)
      run.trial.tilt(12.0.radians, toward: draw(0...(2 * .pi)), after: run.onset)
    case .gap, .longGap:
      run.onset = onset(before: 60)
      let starts = self == .gap ? [0.0, 4, 8] : [0]
      let length = self == .gap ? 1.5 : 3
      run.end = run.onset + (starts.last ?? 0) + length
      run.trial.filter(
        original.times.map { t in
          !starts.contains { t > run.onset + $0 && t < run.onset + $0 + length }
        })
    case .noField:
      run.onset = onset(before: 100)
      run.end = run.onset + 60
      for i in 0..<original.count where original.times[i] > run.onset && original.times[i] < run.end {
        run.trial.hasField[i] = false
      }
    case .scale:
      let scale = Vector3(1 + draw(-0.05...0.05), 1 + draw(-0.05...0.05), 1 + draw(-0.05...0.05))
      for i in 0..<original.count { run.trial.rates[i] *= scale }
      run.onset = moving
      run.end = moving
    case .spin:
      run.onset = onset(before: 50)
      run.end = run.onset + 2.5
      run.trial.spin(
        draw(700...900).radians, about: Fault.direction(&random), from: run.onset, for: 2.5,
        range: 500.0.radians)
    case .biasStep:
      run.onset = onset(before: 60)
      run.end = run.onset
      let change = draw(0.1...0.5).radians * Fault.direction(&random)
      for i in 0..<original.count where original.times[i] >= run.onset { run.trial.rates[i] += change }
    case .leaving:
      let field = draw(5...20) * Fault.direction(&random)
      run.end = moving + 60
      run.onset = run.end
      for i in 0..<original.count {
        guard let reference = original.references[i] else { continue }
        let part = max(0, min(1, (run.end - original.times[i]) / 2))
        run.trial.fields[i] += part * reference.attitude.conjugate.rotate(field)
      }
    case .magnetAtStart:
      let field = 10 * Fault.direction(&random)
      run.trial.filter((0..<original.count).map { original.times[$0] >= moving })
      run.onset = moving
      run.end = moving + 20
      for i in 0..<run.trial.count {
        guard let reference = run.trial.references[i] else { continue }
        let part = max(0, 1 - (run.trial.times[i] - moving) / 20)
        run.trial.fields[i] += part * reference.attitude.conjugate.rotate(field)
      }
    }
    return run
  }

  /// Runs experiments and prints a row for each algorithm; for magnetic ones, for each field strength.
  static func report(
    _ experiments: [Experiment], _ trials: [Trial], runs: Int, every: Int, withPeers: Bool, showsEach: Bool
  ) throws {
    print("experiment | inclination, rms and worst after \(delays) s | heading | excess, within 3 | total")
    for experiment in experiments {
      var results: [String: [Double: [Aftermath]]] = [:]
      for original in trials {
        var trial = original
        if every > 1 { trial.decimate(by: every) }
        let isMagnetic = experiment == .transient || experiment == .passing
        var clean = isMagnetic ? [Odograph.name: Odograph.estimates(trial)] : [:]
        if withPeers, isMagnetic { clean["vqf"] = try Peers.estimates(trial, only: "vqf")[0].estimates }
        for number in 0..<runs {
          guard let run = experiment.run(trial, number: number) else { continue }
          var all = [(Odograph.name, Odograph.estimates(run.trial))]
          if withPeers { all.append(("vqf", try Peers.estimates(run.trial, only: "vqf")[0].estimates)) }
          for (name, estimates) in all {
            let aftermath = Aftermath(estimates, run, clean: clean[name])
            if showsEach {
              Aftermath.report("\(trial.name) \(experiment.rawValue) \(number) \(name)", [aftermath])
            }
            results[name, default: [:]][run.size, default: []].append(aftermath)
          }
        }
      }
      for (name, bySize) in results.sorted(by: { $0.key < $1.key }) {
        for (size, all) in bySize.sorted(by: { $0.key < $1.key }) {
          Aftermath.report("\(experiment.rawValue) \(size > 0 ? "\(Int(size)) µT " : "")\(name)", all)
        }
      }
    }
  }
}

/// Errors of an algorithm after an event, degrees.
struct Aftermath {
  /// Root mean squares over the second that ends at each of `Experiment.delays` after the event.
  var inclination: [Double?] = []
  var heading: [Double?] = []
  /// Largest difference from the heading without the event, from the start of the event to the end of the trial.
  var excess = 0.0
  /// Root mean square of the total error after the event.
  var total = 0.0

  /// - Parameter clean: attitudes of the same algorithm without the event; nil if they are not comparable.
  init(_ estimates: [Quaternion?], _ run: Experiment.Run, clean: [Quaternion?]?) {
    let trial = run.trial
    var (inclinations, headings) = ([(Double, Double)](), [(Double, Double)]())
    inclinations = .init(repeating: (0, 0), count: Experiment.delays.count)
    headings = inclinations
    var all = (0.0, 0.0)
    for i in 0..<trial.count where trial.times[i] >= run.onset {
      if let clean, let a = estimates[i], let b = clean[i] {
        excess = max(excess, Score.Error(a, b).heading * 180 / .pi)
      }
      guard trial.times[i] >= run.end, let reference = trial.references[i] else { continue }
      let error = Score.Error(estimates[i] ?? .identity, reference.attitude)
      if reference.isMoving { all = (all.0 + error.total * error.total, all.1 + 1) }
      let after = trial.times[i] - run.end
      for (k, delay) in Experiment.delays.enumerated() where after > delay - 1 && after <= delay {
        inclinations[k] = (inclinations[k].0 + error.inclination * error.inclination, inclinations[k].1 + 1)
        headings[k] = (headings[k].0 + error.heading * error.heading, headings[k].1 + 1)
      }
    }
    func root(_ sum: (Double, Double)) -> Double? {
      sum.1 > 0 ? (sum.0 / sum.1).squareRoot() * 180 / .pi : nil
    }
    inclination = inclinations.map(root)
    heading = headings.map(root)
    total = root(all) ?? 0
  }
}

extension Aftermath {
  /// Prints one row per algorithm: means and worst values over all runs.
  static func report(_ name: String, _ all: [Aftermath]) {
    func column(_ path: (Aftermath) -> Double?) -> String {
      let values = all.compactMap(path).sorted()
      guard let worst = values.last else { return "-" }
      let mean = (values.reduce(0) { $0 + $1 * $1 } / Double(values.count)).squareRoot()
      return String(format: "%.2f %.2f", mean, worst)
    }
    let inclinations = Experiment.delays.indices.map { k in column { $0.inclination[k] } }
    let headings = Experiment.delays.indices.map { k in column { $0.heading[k] } }
    let inside = Double(all.count { $0.excess <= 3 }) / Double(max(1, all.count))
    print(
      "\(name) | \(inclinations.joined(separator: ", ")) | \(headings.joined(separator: ", ")) | "
        + "\(column { $0.excess }) | \(String(format: "%.3f", inside)) | \(column { $0.total })")
  }
}

extension Trial {
  /// Tilts the sensors relative to the device after a time, without a measured rotation.
  ///
  /// - Parameter direction: direction of the axis in the horizontal plane, rad.
  mutating func tilt(_ angle: Double, toward direction: Double, after time: Double) {
    let first = times.indices.first { times[$0] >= time && references[$0] != nil }
    guard let first, let before = references[first]?.attitude else { return }
    let axis = Vector3(cos(direction), sin(direction), 0)
    let turn = Quaternion(angle: angle, axis: before.conjugate.rotate(axis))
    for i in 0..<count where times[i] >= time {
      rates[i] = turn.conjugate.rotate(rates[i])
      forces[i] = turn.conjugate.rotate(forces[i])
      fields[i] = turn.conjugate.rotate(fields[i])
      references[i] = references[i]?.turned(by: turn)
    }
  }

  /// Inserts repetitions of the first second before the trial.
  mutating func prependRest(_ seconds: Double) {
    let (one, rounds) = (Int(rate), Int(seconds))
    func longer<T>(_ values: [T]) -> [T] {
      (0..<rounds).flatMap { _ in values[..<one] } + values
    }
    rates = longer(rates)
    forces = longer(forces)
    fields = longer(fields)
    hasField = longer(hasField)
    references = longer(references)
    times = rates.indices.map { Double($0) / rate }
  }

  /// Adds a rotation about a device axis, and clips the gyroscope at its range.
  mutating func spin(
    _ speed: Double, about axis: Vector3, from start: Double, for duration: Double, range: Double
  ) {
    var angle = 0.0
    for i in 0..<count {
      let t = times[i] - start
      let part = max(0, min(1, min(t, duration - t) / 0.1))
      angle += part * speed / rate
      let turn = Quaternion(angle: angle, axis: axis)
      rates[i] = turn.conjugate.rotate(rates[i]) + part * speed * axis
      for k in 0..<3 { rates[i][k] = max(-range, min(range, rates[i][k])) }
      forces[i] = turn.conjugate.rotate(forces[i])
      fields[i] = turn.conjugate.rotate(fields[i])
      references[i] = references[i]?.turned(by: turn)
    }
  }
}
