package import Motion
package import Spatial
package import Telemetry

/// The outcome of the command `level`.
package enum LevelOutcome: Hashable, Sendable {
  case measured(StatusMessage.Level)
  case failed(LevelFailure)
}

/// The reason why the tilt could not be measured, with a remedy.
package enum LevelFailure: Error, Hashable, Sendable, CustomStringConvertible {
  case noAccelerometer
  case moving
  case silent
  case undecided
  case moved(degrees: Double)
  case noisy(degrees: Double)

  package var description: String {
    switch self {
    case .noAccelerometer: "no accelerometer; attach one"
    case .moving: "the vehicle moves; stop on level ground and ask again"
    case .silent: "the accelerometer delivers no samples; see sources in status"
    case .undecided: "the vehicle did not come to rest in time; stop on level ground and ask again"
    case .moved(let degrees):
      "the device turned by \(Self.rounded(degrees))° during the measurement: the vehicle moved or swayed, or the device was touched; keep both still and try again"
    case .noisy(let degrees):
      "the accelerometer is too noisy, readings scatter by \(Self.rounded(degrees))°; switch the engine off or see to its mounting"
    }
  }

  private static func rounded(_ degrees: Double) -> Double { (degrees * 10).rounded() / 10 }
}

/// A tilt measurement started by the command `level`. It waits until the vehicle is at rest, and then
/// averages accelerometer readings.
package struct LevelMeasurement: Sendable {
  /// Time limit in s: detecting rest takes two seconds, and buffering in the kernel can delay readings by two
  /// more.
  package static let timeLimit = 20.0

  package let deadline: Timestamp
  private var calibrator = LevelCalibrator()
  private var hasHeard = false

  package init(at now: Timestamp) { deadline = now.advanced(bySeconds: Self.timeLimit) }

  /// Processes an accelerometer reading in g, device frame.
  /// - Parameter activity: rest or motion; nil if unknown.
  /// - Returns: the result of the measurement; nil while it continues.
  package mutating func process(
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

  /// The failure to report when the time limit is over.
  var failureAtDeadline: LevelFailure { hasHeard ? .undecided : .silent }
}

extension StatusMessage.Level {
  init(_ level: LevelCalibration) { self.init(tilt: level.tilt, gravity: level.gravity) }
}
