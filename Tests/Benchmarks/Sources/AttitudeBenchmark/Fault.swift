import Foundation
import Spatial

/// A fault that is applied to a trial before the algorithms process it.
///
/// All random values come from one generator seeded with the names of trial and fault and with `seed`, so that every run and every
/// algorithm processes the same samples.
enum Fault: String, CaseIterable {
  case none
  /// Random loss of 5 % of the samples.
  case drop1
  /// Loss of 5 % of the samples in bursts of 10.
  case drop10
  /// Loss of 1 % of the samples in bursts of 100.
  case drop100
  /// Timestamp errors of up to ±30 % of the period, uniformly distributed.
  case jitter
  /// A gyroscope bias of ±3 °/s on each axis.
  case bias
  /// Every 14th magnetometer sample only (20 Hz).
  case slowmag
  /// The recording starts with the first moving sample.
  case moving
  /// Timestamp intervals 2 % too long.
  case clock
  /// Measuring ranges of ±2 g and ±500 °/s.
  case clip
  /// Hard iron of 10 µT in a random direction; errors count from 30 s after the first movement.
  case iron
  /// A magnet of 3 to 30 µT in a random direction is attached within a second after a third of the movement, and removed after another
  /// third.
  case magnet
  /// Outliers of the gyroscope of 30 rad/s in a random direction, one in 10,000 samples.
  case glitch
  /// A single clock step of half a second backward, after a third of the movement.
  case stepback
  /// Groups of eight samples with the timestamp of the last.
  case batch
  /// Like clip, but values at the limit vary by 0.2 %.
  case plateau

  func apply(to trial: inout Trial, seed: String) {
    var random = SeededRandom(trial.name + "/" + rawValue + seed)
    switch self {
    case .none: break
    case .drop1: trial.filter((0..<trial.count).map { _ in Double.random(in: 0..<1, using: &random) >= 0.05 })
    case .drop10: Self.drop(0.05, inBurstsOf: 10, from: &trial, &random)
    case .drop100: Self.drop(0.01, inBurstsOf: 100, from: &trial, &random)
    case .jitter:
      for i in 0..<trial.count {
        trial.times[i] += Double.random(in: -0.3...0.3, using: &random) / trial.rate
      }
    case .bias:
      var bias = Vector3(repeating: 3 * Double.pi / 180)
      for k in 0..<3 where Bool.random(using: &random) { bias[k] = -bias[k] }
      for i in 0..<trial.count { trial.rates[i] += bias }
    case .slowmag:
      for i in 0..<trial.count { trial.hasField[i] = i % 14 == 0 }
    case .moving:
      let start = trial.movementStart
      trial.filter((0..<trial.count).map { $0 >= start })
    case .clock:
      for i in 0..<trial.count { trial.times[i] *= 1.02 }
    case .clip, .plateau:
      for i in 0..<trial.count {
        for k in 0..<3 {
          let width = self == .plateau ? Double.random(in: 0.999...1.001, using: &random) : 1
          let (rate, force) = (500 * Double.pi / 180 * width, 2 * 9.806_65 * width)
          trial.rates[i][k] = max(-rate, min(rate, trial.rates[i][k]))
          trial.forces[i][k] = max(-force, min(force, trial.forces[i][k]))
        }
      }
    case .glitch:
      for i in 0..<trial.count where Int.random(in: 0..<10_000, using: &random) == 0 {
        trial.rates[i] = 30 * Self.direction(&random)
      }
    case .stepback:
      let step = trial.movementStart + (trial.count - trial.movementStart) / 3
      for i in step..<trial.count { trial.times[i] -= 0.5 }
    case .batch:
      let times = trial.times
      for i in 0..<trial.count { trial.times[i] = times[min(trial.count - 1, i / 8 * 8 + 7)] }
    case .iron:
      let iron = 10 * Self.direction(&random)
      for i in 0..<trial.count { trial.fields[i] += iron }
      trial.scoredFrom = trial.movementStart + Int(30 * trial.rate)
    case .magnet:
      let magnet = 3 * pow(10, Double.random(in: 0...1, using: &random)) * Self.direction(&random)
      let start = trial.movementStart
      let third = (trial.count - start) / 3
      for i in (start + third)..<trial.count {
        let come = min(1, Double(i - start - third) / trial.rate)
        let gone = max(0, min(1, Double(i - start - 2 * third) / trial.rate))
        trial.fields[i] += (come - gone) * magnet
      }
    }
  }

  /// Removes bursts that start at random times after the first second and may overlap.
  private static func drop(
    _ fraction: Double, inBurstsOf length: Int, from trial: inout Trial, _ random: inout SeededRandom
  ) {
    var keep = [Bool](repeating: true, count: trial.count)
    let bursts = Int((fraction * Double(trial.count) / Double(length)).rounded())
    for _ in 0..<bursts {
      let start = Int.random(in: Int(trial.rate)..<(trial.count - length), using: &random)
      for i in start..<(start + length) { keep[i] = false }
    }
    trial.filter(keep)
  }

  /// A random direction, uniform on the sphere.
  static func direction(_ random: inout SeededRandom) -> Vector3 {
    while true {
      let v = Vector3(
        Double.random(in: -1...1, using: &random), Double.random(in: -1...1, using: &random),
        Double.random(in: -1...1, using: &random))
      if v.length <= 1, let unit = v.normalized { return unit }
    }
  }
}

/// SplitMix64 (G. Steele et al., 2014), seeded with a text.
struct SeededRandom: RandomNumberGenerator {
  private var state: UInt64

  init(_ seed: String) {
    // FNV-1a
    state = seed.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }
}
