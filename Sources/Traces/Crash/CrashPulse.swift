internal import Glibc
package import Spatial

/// The effect of one impact on the vehicle, from its start to its end.
package struct CrashPulse: Hashable, Sendable {
  /// The severity of a crash by the horizontal change of velocity.
  package enum Severity: String, Hashable, Sendable, CaseIterable {
    /// A change of at least 8 km/h within 150 ms, which event data recorders must record (49 CFR 563.5).
    case light
    /// A change of at least 16 km/h, from which airbags deploy for unbelted occupants (IIHS: 10 to 12 mph
    /// against a rigid wall).
    case moderate
    /// A change of at least 40 km/h, as in the hardest test for unbelted occupants (FMVSS 208 S5.1.2: 25
    /// mph).
    case severe

    /// Classifies a change of velocity.
    ///
    /// - Parameter changeOfVelocity: the horizontal change in m/s.
    package init(changeOfVelocity: Double) {
      self = changeOfVelocity >= 40 / 3.6 ? .severe : changeOfVelocity >= 16 / 3.6 ? .moderate : .light
    }
  }

  /// Time zero of 49 CFR 563.5: the first time at which the velocity changes by 0.8 km/h within 20 ms.
  package var start: Timestamp
  /// The time at which the velocity changes by less than 0.8 km/h within 20 ms again, or 300 ms after the
  /// start.
  package var end: Timestamp
  /// The change of velocity in m/s from the start to the time of the largest change. Its axes are right,
  /// forward, up of the vehicle, or the device's axes if the mounting is unknown.
  package var changeOfVelocity: Vector3
  /// The largest horizontal change of velocity within 150 ms, m/s.
  package var trigger: Double
  /// The largest mean over 10 ms of the horizontal acceleration, m/s².
  package var peak: Double
  /// True if the sensor was saturated; the real change of velocity is then larger.
  package var isClipped: Bool
  /// True if `changeOfVelocity` is in the vehicle frame.
  package var isInVehicleFrame: Bool

  /// The horizontal change of velocity in m/s, which does not depend on the mounting.
  package var speedChange: Double

  package var severity: Severity { Severity(changeOfVelocity: speedChange) }

  /// The principal direction of force: the direction from which the force came, in degrees clockwise from the
  /// front, 0 ..< 360. The direction of a frontal impact with a wall is 0, that of an impact from the right
  /// is 90.
  package var direction: Double {
    normalizedDegrees(atan2(-changeOfVelocity.x, -changeOfVelocity.y).degrees)
  }
}
