public import Sensors

/// Holds the sensors that a vehicle must have against those that are there.
public struct CapabilityCheck: Hashable, Sendable {
  /// Required but not there, in order: the agent must not start without them.
  public let missing: [SensorKind]
  /// What cannot be told with what is there, in order.
  public let unavailableOutputs: [MotionOutput]
  /// What can be told only with less certainty, with the reason.
  public let degradedOutputs: [MotionOutput: String]

  public init(required: Set<SensorKind>, present: Set<SensorKind>) {
    missing = required.subtracting(present).sorted()
    let unavailable = MotionOutput.allCases.filter { !$0.neededSensors.isSubset(of: present) }
    unavailableOutputs = unavailable.sorted()
    var degraded: [MotionOutput: String] = [:]
    if present.contains(.accelerometer), !present.contains(.gyroscope) {
      for output in [MotionOutput.gravity, .userAcceleration] {
        degraded[output] = "no gyroscope: a long, even acceleration is taken for a slope"
      }
    }
    if present.isSuperset(of: [.accelerometer, .gyroscope]), !present.contains(.magnetometer) {
      degraded[.attitude] = "no magnetometer: yaw drifts with the gyroscope"
    }
    degradedOutputs = degraded
  }

  /// Whether all required sensors are there.
  public var isSatisfied: Bool { missing.isEmpty }

  /// One sentence for the person on call; nil when nothing is missing.
  public var complaint: String? {
    guard !isSatisfied else { return nil }
    let names = missing.map(\.rawValue).joined(separator: ", ")
    return "required sensors are missing: \(names); attach them or take them out of the required sensors"
  }
}
