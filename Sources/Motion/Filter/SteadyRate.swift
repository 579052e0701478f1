internal import Spatial

/// Decides whether a steady rate far from the bias in use is the gyroscope's bias or a turn of the device.
///
/// In a steady turn about the vertical, gyroscope and accelerometer are as constant as at rest with a large
/// bias. The magnetometer separates the two: its field is constant at rest and rotates in a turn. A turn about
/// a horizontal axis rotates the specific force. Hard iron and the accelerometer's bias are constant in both
/// cases, so neither sensor must be calibrated.
struct SteadyRate: Sendable {
  enum Cause: Sendable { case bias, turn, unknown }

  /// Time in s since the rate has been steady and far from the bias in use.
  private(set) var duration = 0.0
  /// The same, but not reset by an apparent turn. A field that changes for other reasons, as of currents in the
  /// vehicle, looks like a turn again and again.
  private(set) var total = 0.0
  /// Integral of the difference between rate and bias in rad, device frame.
  private var angle = Vector3.zero
  /// Integral of the vertical part of the difference in rad since `field`.
  private var turned = 0.0
  /// Specific force in m/s² at the start, device frame.
  private var force: Vector3?
  /// Field in µT, device frame, from which `turned` is integrated; nil without samples.
  private var field: Vector3?

  /// Angle in rad (34°) by which a turn must have rotated the field, and the change of the field in µT that a
  /// turn causes at least. It is 9 µT for a horizontal field of 15 µT, which is among the weakest outside
  /// the polar regions. The noise of a block is below 2 µT.
  private static let leastTurn = 0.6
  private static let leastFieldChange = 4.0
  /// Horizontal angle in rad (6°) by which a turn must have rotated the specific force, which changes it by
  /// 1 m/s², and half of this change.
  private static let leastTilt = 0.1
  private static let leastForceChange = 0.5

  /// Observes that the device moves. Force and field before are no reference after the motion.
  mutating func observeMotion() {
    (angle, turned, force, field, total) = (.zero, 0, nil, nil, 0)
  }

  /// Processes a block of apparent rest.
  ///
  /// - Parameters:
  ///   - difference: mean rate minus bias in use in rad/s, device frame.
  ///   - up: vertical in the device frame.
  mutating func observe(_ difference: Vector3, _ block: FilterBlock, up: Vector3) -> Cause {
    let cause = cause(difference, block, up: up)
    if cause == .turn {
      (angle, turned, force, field) = (.zero, 0, nil, nil)
      duration = 0
    }
    return cause
  }

  private mutating func cause(_ difference: Vector3, _ block: FilterBlock, up: Vector3) -> Cause {
    guard let force else {
      (force, field) = (block.force.mean, block.measuredField)
      return .unknown
    }
    let interval = block.duration - block.gap
    duration += interval
    total += interval
    angle += interval * difference
    if (angle - angle.dot(up) * up).length > Self.leastTilt {
      return (block.force.mean - force).length < Self.leastForceChange ? .bias : .turn
    }
    guard let field else {
      field = block.measuredField
      return .unknown
    }
    turned += interval * difference.dot(up)
    guard let measured = block.measuredField, abs(turned) > Self.leastTurn else { return .unknown }
    return (measured - field).length < Self.leastFieldChange ? .bias : .turn
  }
}
