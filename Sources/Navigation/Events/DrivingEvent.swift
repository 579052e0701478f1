internal import Glibc
public import Spatial

/// Something that a driver, a road or a thief did to the vehicle, or that befell its supply or its receiver.
public struct DrivingEvent: Hashable, Sendable {
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// Harsh slowing down.
    case braking = "harshBraking"
    /// Harsh speeding up.
    case acceleration = "harshAcceleration"
    /// Taken through a curve too fast.
    case cornering = "harshCornering"
    /// Pulled to one side and back, as around an obstacle.
    case swerve
    /// Over an edge that lifted a wheel for good, or against one from the side.
    case kerb
    /// A blow from a hole or a joint in the road.
    case pothole
    /// Faster than a limit.
    case overSpeed
    /// The engine runs while the vehicle stands.
    case idling
    /// Moved while the ignition is off.
    case tow
    /// Lifted or lowered on one side while parked.
    case tilt
    /// The external supply was taken away.
    case unplugged
    /// The supply's voltage is low.
    case lowSupply = "supplyLow"
    /// The receiver says what inertial sensors or wheels contradict: it wanders, or somebody deceives it.
    case positionContradicted
  }

  public enum Severity: String, Hashable, Sendable, CaseIterable, Comparable {
    case low, medium, high

    public static func < (a: Severity, b: Severity) -> Bool { a.rank < b.rank }
    private var rank: Int { self == .low ? 0 : self == .medium ? 1 : 2 }
  }

  /// Counts from 1 since the detector was made. One that is told when it begins has the same number when it ends.
  public var number: Int
  public var kind: Kind
  /// Whether it goes on: it will be told again, with the same number, when it is over.
  public var isOngoing = false
  public var start: Timestamp
  /// s: until its end; so far while it is ongoing.
  public var duration: Double
  /// The greatest value, in the kind's unit. Of `lowSupply` it is the least.
  public var peak: Double
  /// What the peak passed, in the same unit. Of `unplugged` both are 0.
  public var limit: Double
  public var severity: Severity
  /// How certain it is, 0 ... 1: a chance that the true value passed the limit, as far as the sources tell.
  public var confidence: Double
  /// Where it began; nil where the place is not known.
  public var coordinate: Coordinate?
  /// m/s when it began; nil where it is not known.
  public var speed: Double?
  /// The region whose limit was passed; nil for any other limit.
  public var region: String?

  init(
    _ kind: Kind, start: Timestamp, duration: Double, peak: Double, limit: Double, severity: Severity,
    confidence: Double, coordinate: Coordinate? = nil, speed: Double? = nil, region: String? = nil,
    isOngoing: Bool = false
  ) {
    (number, self.kind, self.start, self.duration) = (0, kind, start, duration)
    (self.peak, self.limit, self.severity) = (peak, limit, severity)
    self.confidence = min(1, max(0, confidence))
    (self.coordinate, self.speed, self.region, self.isOngoing) = (coordinate, speed, region, isOngoing)
  }
}

extension DrivingEvent {
  /// The unit of `peak` and `limit`: `m/s²`, `m/s`, `s`, `°`, `V` or `m`; empty where there is nothing to measure.
  public var unit: String { kind.unit }
}

extension DrivingEvent.Kind {
  public var unit: String {
    switch self {
    case .braking, .acceleration, .cornering, .swerve, .kerb, .pothole: "m/s²"
    case .overSpeed: "m/s"
    case .idling: "s"
    case .tow, .positionContradicted: "m"
    case .tilt: "°"
    case .lowSupply: "V"
    case .unplugged: ""
    }
  }

  /// Whether it is told when it begins, and again when it is over.
  public var isLasting: Bool {
    switch self {
    case .braking, .acceleration, .cornering, .swerve, .kerb, .pothole: false
    case .overSpeed, .idling, .tow, .tilt, .unplugged, .lowSupply, .positionContradicted: true
    }
  }
}

extension DrivingEvent.Severity {
  /// By how many times the limit was passed: from 1.25 on medium, from 1.5 on high. Of a car's 3.5 m/s² that
  /// is 4.4, and 5.3.
  init(ratio: Double) {
    self = ratio >= 1.5 ? .high : ratio >= 1.25 ? .medium : .low
  }
}

/// The chance that a normal number with one deviation is above zero when it was measured as `value`.
func chance(_ value: Double, deviation: Double) -> Double {
  0.5 * erfc(-value / (max(deviation, 1e-9) * 2.0.squareRoot()))
}
