internal import Glibc
public import Spatial

/// What a blow did to the vehicle, from its first moment to its last.
public struct CrashPulse: Hashable, Sendable {
  /// How hard it was, by the change of velocity in the plane.
  public enum Severity: String, Hashable, Sendable, CaseIterable {
    /// From 8 km/h within 150 ms on: what event data recorders must record (49 CFR 563.5).
    case light
    /// From 16 km/h on: where airbags begin to fire for those who wear no belt (IIHS: 10 to 12 mph against a rigid wall).
    case moderate
    /// From 40 km/h on: the hardest test that those without a belt must survive (FMVSS 208 S5.1.2: 25 mph).
    case severe

    /// - Parameter changeOfVelocity: m/s.
    public init(changeOfVelocity: Double) {
      self = changeOfVelocity >= 40 / 3.6 ? .severe : changeOfVelocity >= 16 / 3.6 ? .moderate : .light
    }
  }

  /// Time zero of 49 CFR 563.5: where the velocity began to change by 0.8 km/h within 20 ms.
  public var start: Timestamp
  /// Where it changed by less again, or 300 ms after the start.
  public var end: Timestamp
  /// m/s: the change of velocity from the start to where it was the largest, right, forward, up of the vehicle; of the device where the
  /// mounting is not known.
  public var changeOfVelocity: Vector3
  /// m/s: the largest change in the plane within 150 ms.
  public var trigger: Double
  /// m/s²: the largest mean over 10 ms of the acceleration in the plane.
  public var peak: Double
  /// Whether the sensor was at its limit: the change of velocity was more then.
  public var isClipped: Bool
  /// Whether `changeOfVelocity` is in the frame of the vehicle.
  public var isInVehicleFrame: Bool

  /// m/s in the plane of the earth, whatever the mounting.
  public var speedChange: Double

  public var severity: Severity { Severity(changeOfVelocity: speedChange) }

  /// Where the force came from, degrees clockwise from the front, 0 ..< 360 (the principal direction of force): a vehicle that is
  /// stopped by a wall in front of it has 0, one that is struck from the right 90.
  public var direction: Double {
    normalizedDegrees(atan2(-changeOfVelocity.x, -changeOfVelocity.y).degrees)
  }
}
