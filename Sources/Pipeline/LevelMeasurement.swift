internal import Motion
internal import Spatial
package import Telemetry

/// What became of the command `level`.
package enum LevelOutcome: Hashable, Sendable {
  case measured(StatusMessage.Level)
  case failed(LevelFailure)
}

/// Why the device's tilt could not be measured, and what would help.
package enum LevelFailure: Error, Hashable, Sendable, CustomStringConvertible {
  case noAccelerometer
  case moving
  case silent
  case undecided
  case moved(degrees: Double)
  case noisy(degrees: Double)

  package var description: String {
    switch self {
    case .noAccelerometer: "there is no accelerometer; attach one"
    case .moving: "the vehicle moves; stop on level ground and ask again"
    case .silent: "the accelerometer says nothing; see sources in status"
    case .undecided: "the vehicle did not come to rest in time; stop on level ground and ask again"
    case .moved(let degrees):
      "the device turned by \(Self.rounded(degrees))° meanwhile: the vehicle drove off or swayed, or the device was touched; let both stand still and ask again"
    case .noisy(let degrees):
      "the accelerometer is too noisy, readings scatter by \(Self.rounded(degrees))°; switch the engine off or see to its mounting"
    }
  }

  private static func rounded(_ degrees: Double) -> Double { (degrees * 10).rounded() / 10 }
}

/// The measurement that the command `level` has started: it waits for the vehicle to be known at rest, and averages then.
struct LevelMeasurement: Sendable {
  /// Seconds that it may take: rest is known after some two, readings wait up to two more in the hardware.
  static let timeLimit = 20.0

  let deadline: Timestamp
  private var calibrator = LevelCalibrator()
  private var hasHeard = false

  init(at now: Timestamp) { deadline = now.advanced(bySeconds: Self.timeLimit) }

  /// Takes a reading of the accelerometer, g, device frame.
  /// - Parameter activity: nil while it is not known whether the vehicle rests.
  /// - Returns: how the measurement ended; nil while it goes on.
  mutating func process(
    _ sample: AccelerometerData, _ activity: StationaryDetector.State?
  ) -> Result<LevelCalibration, LevelFailure>? {
    hasHeard = true
    switch activity {
    case .moving: return .failure(.moving)
    case nil: return nil
    case .stationary:
      switch calibrator.process(acceleration: sample.acceleration, at: sample.timestamp) {
      case .measuring: return nil
      case .done(let level): return .success(level)
      case .moved(let degrees): return .failure(.moved(degrees: degrees))
      case .noisy(let degrees): return .failure(.noisy(degrees: degrees))
      }
    }
  }

  /// Why it ends at its deadline.
  var failureAtDeadline: LevelFailure { hasHeard ? .undecided : .silent }
}

extension StatusMessage.Level {
  init(_ level: LevelCalibration) { self.init(tilt: level.tilt, gravity: level.gravity) }
}
