internal import Glibc
internal import Spatial

extension AttitudeFilter {
  /// Finds an attitude where there is none to correct: at the start, possibly in motion, and after a gap.
  struct Alignment: Sendable {
    enum Phase: Sendable {
      /// Finding the vertical as the mean specific force.
      case leveling
      /// Finding the angle about the magnetic field, the rest being known.
      case searching
      case done
    }

    private(set) var phase = Phase.leveling
    /// Integral of the specific force in the almost inertial frame, m/s, and of its square.
    private(set) var force = Vector3.zero
    private var square = 0.0
    private(set) var duration = 0.0
    /// For devices without a gyroscope: low-passed force and field, device frame.
    private var steadyForce: Vector3?
    private var steadyField: Vector3?
    private var forceTime = 0.0
    private var fieldTime = 0.0

    mutating func startLeveling() { start(.leveling) }
    mutating func startSearch() { start(.searching) }
    mutating func finish() { phase = .done }

    private mutating func start(_ phase: Phase) {
      self.phase = phase
      force = .zero
      square = 0
      duration = 0
    }

    /// Adds a block: its mean specific force and mean square of it.
    mutating func add(_ mean: Vector3, square meanSquare: Double, interval: Double) {
      force += interval * mean
      square += interval * meanSquare
      duration += interval
    }

    /// Mean specific force, m/s².
    var mean: Vector3 { duration > 0 ? force / duration : .zero }

    /// Variance per axis about the mean, (m/s²)².
    var variance: Double {
      guard duration > 0 else { return 0 }
      let m = mean
      return max(0, square / duration - m.dot(m)) / 3
    }

    mutating func turn(by rotation: Quaternion) { force = rotation.rotate(force) }

    // MARK: Without a gyroscope

    mutating func observe(force: Vector3, at time: Double) {
      Self.smooth(&steadyForce, force, &forceTime, time)
    }

    mutating func observe(field: Vector3, at time: Double) {
      Self.smooth(&steadyField, field, &fieldTime, time)
    }

    private static func smooth(_ mean: inout Vector3?, _ value: Vector3, _ last: inout Double, _ time: Double)
    {
      let gain = mean == nil ? 1 : 1 - exp(-max(0, time - last) / 0.5)
      mean = (mean ?? value) + gain * (value - (mean ?? value))
      last = time
    }

    /// Attitude from accelerometer and magnetometer alone (TRIAD, H. D. Black, 1964); nil where they do not say.
    func withoutGyroscope(field needsField: Bool) -> Quaternion? {
      guard let force = steadyForce, let leveled = Quaternion.shortest(from: force, to: Vector3(0, 0, 1))
      else { return nil }
      guard needsField else { return leveled }
      guard let steadyField else { return nil }
      let field = leveled.rotate(steadyField)
      guard field.x != 0 || field.y != 0 else { return nil }
      let half = 0.5 * atan2(field.x, field.y)
      return (Quaternion(w: cos(half), x: 0, y: 0, z: sin(half)) * leveled).normalized
    }
  }
}
