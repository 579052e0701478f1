internal import Glibc
public import Spatial

/// An event of the drive, the road, a theft, the power supply or the receiver.
public struct DrivingEvent: Hashable, Sendable {
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// Harsh braking.
    case braking = "harshBraking"
    /// Harsh acceleration.
    case acceleration = "harshAcceleration"
    /// A bend driven too fast.
    case cornering = "harshCornering"
    /// A lateral acceleration to one side and immediately back, such as around an obstacle.
    case swerve
    /// An impact of a kerb: an edge that one wheel has climbed, or an impact from the side.
    case kerb
    /// An impact of a pothole or a joint in the road.
    case pothole
    /// A speed above a limit.
    case overSpeed
    /// A running engine while the vehicle is at rest.
    case idling
    /// Motion while the ignition is off.
    case tow
    /// A tilt of a parked vehicle, which was lifted or lowered on one side.
    case tilt
    /// A disconnected external supply.
    case unplugged
    /// A low supply voltage.
    case lowSupply = "supplyLow"
    /// A receiver whose positions contradict inertial sensors or wheels: large errors, or spoofing.
    case positionContradicted
  }

  public enum Severity: String, Hashable, Sendable, CaseIterable, Comparable {
    case low, medium, high

    public static func < (a: Severity, b: Severity) -> Bool { a.rank < b.rank }
    private var rank: Int { self == .low ? 0 : self == .medium ? 1 : 2 }
  }

  /// The number of the event, from 1 since the detector was created. The start and the end of a lasting event
  /// have the same number.
  public var number: Int
  public var kind: Kind
  /// True while the event lasts. When it ends, the event is reported again with the same number.
  public var isOngoing = false
  public var start: Timestamp
  /// The duration in s; the duration so far if the event is ongoing.
  public var duration: Double
  /// The largest value in the kind's unit; the smallest for `lowSupply`.
  public var peak: Double
  /// The limit that was exceeded, in the unit of `peak`. Peak and limit of `unplugged` are 0.
  public var limit: Double
  public var severity: Severity
  /// The probability that the true value exceeded the limit, 0 ... 1, as far as the sources allow an
  /// estimate.
  public var confidence: Double
  /// The position at the start; nil if unknown.
  public var coordinate: Coordinate?
  /// The speed at the start in m/s; nil if unknown.
  public var speed: Double?
  /// The region whose speed limit was exceeded; nil if the exceeded limit belongs to no region.
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
  /// The unit of `peak` and `limit`: `m/s²`, `m/s`, `s`, `°`, `V` or `m`; empty for kinds without a value.
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

  /// True if the event is reported at its start and at its end.
  public var isLasting: Bool {
    switch self {
    case .braking, .acceleration, .cornering, .swerve, .kerb, .pothole: false
    case .overSpeed, .idling, .tow, .tilt, .unplugged, .lowSupply, .positionContradicted: true
    }
  }
}

extension DrivingEvent.Severity {
  /// Creates a severity from the ratio of peak to limit: medium from 1.25, high from 1.5. For a car with a
  /// limit of 3.5 m/s², medium starts at 4.4 and high at 5.3 m/s².
  init(ratio: Double) {
    self = ratio >= 1.5 ? .high : ratio >= 1.25 ? .medium : .low
  }
}

/// Returns the probability that the true value of a quantity is above zero, if it was measured as `value`
/// with a normal error.
func chance(_ value: Double, deviation: Double) -> Double {
  0.5 * erfc(-value / (max(deviation, 1e-9) * 2.0.squareRoot()))
}
