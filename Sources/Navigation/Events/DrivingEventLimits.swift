/// The thresholds of driving events. `init(_:)` gives the defaults of a vehicle class; each threshold can be
/// changed.
public struct DrivingEventLimits: Hashable, Sendable {
  public enum VehicleClass: String, Hashable, Sendable, CaseIterable {
    case car, van, truck, bus, motorcycle
  }

  // MARK: Manoeuvres

  // Horizontal accelerations in m/s², as means over one second. Brakes reach much higher values (UN R13-H and
  // R13). Nine of ten drivers who are surprised by an obstacle brake with 3.4 or more, the design value of
  // roads (AASHTO, stopping sight distance). Published limits with the same averaging time, a change of speed in a
  // second: 3.1 for hard braking (7 mph, Progressive Snapshot, and "moderate" in Verizon Connect, "How harsh driving
  // events are analyzed for drivers"; there 2.2 is "normal" and 4.0 "severe"), and 3.6 for both directions (Bouncie,
  // "Light, Moderate, and Excessive Settings"). With shorter averaging times, in braking, acceleration and curves:
  // 2.5, 2.0 and 2.9 (PosiTrace, "How are acceleration, deceleration and harsh turns detected?"); 3.9, 2.5 and 4.4
  // (Scope Technology, "Android SBeacon Framework Driving Behavior"); 3.7, 3.6 and 3.7 up to 2.7 t, and 3.5, 3.4 and 3.4
  // up to 4.5 t (GPS Insight, "Defining Thresholds for Your Fleet"); braking and curves 3.4 for cars, 2.9 for trucks and
  // buses (Topflytech, "Acceleration Driver Behavior"). Since the mean of a second is lower than the peak, the limits of a
  // car are the lowest third of these values.
  /// The minimum deceleration, m/s².
  public var braking: Double
  /// The minimum forward acceleration, m/s².
  public var acceleration: Double
  /// The minimum lateral acceleration, m/s². Of 17 laden tank trucks 7 roll over below 3.4 m/s², and 14 below
  /// 3.9 (J. R. Billing and J. D. Patten, "An assessment of tank truck roll stability"). Studies of standing
  /// passengers differ widely; the limit for buses is an assumption of this project.
  public var cornering: Double
  /// The minimum lateral acceleration of a swerve in m/s², reached on both sides in succession, as a mean
  /// over half a second.
  public var swerve: Double

  // MARK: The road

  /// The minimum vertical acceleration of an impact in m/s², which applies up to 10 m/s and grows at higher
  /// speeds. Speed humps and holes reach 0.4 to 2 g at the body (J. Eriksson et al., "The Pothole Patrol",
  /// 2008; A. Mednis et al., "Real time pothole detection", 2011: 0.4 g). Stiff trucks reach more.
  public var pothole: Double
  /// The minimum acceleration in m/s² of a kerb impact. A kerb is detected at speeds from walking to 30 km/h,
  /// if the impact lifts the vehicle on one side or comes from the side.
  public var kerb: Double

  // MARK: Speed

  /// The vehicle's speed limit in m/s; nil if only the limits of regions apply.
  public var speed: Double?
  /// The tolerated excess in m/s: 5 km/h. A speedometer never shows less than the true speed (UN R39).
  public var speedMargin = 1.4
  /// The minimum duration of an excess in s. Shorter excesses, for example while overtaking, are not
  /// reported.
  public var speedTime = 5.0

  // MARK: At rest

  /// The minimum duration in s of a running engine at rest: the five minutes that most anti-idling laws allow
  /// (13 CCR § 2485).
  public var idling = 300.0
  /// The minimum tilt of a parked vehicle in degrees.
  public var tilt = 2.0
  /// The minimum displacement of a parked vehicle in m.
  public var tow = 50.0

  // MARK: Supply and receiver

  /// The minimum voltage in V. A lead-acid battery of six cells at rest has a quarter of its charge left at
  /// 12.0 V and cannot start an engine from 11.8 V on. Trucks and buses have two such batteries in series.
  public var supply: Double
  /// The minimum distance in m between a fix and the estimate of navigation, in excess of the stated errors
  /// of both.
  public var contradiction = 30.0

  public init(_ vehicle: VehicleClass = .car) {
    switch vehicle {
    case .car: (braking, acceleration, cornering, swerve) = (3.1, 2.5, 2.9, 4.0)
    case .van: (braking, acceleration, cornering, swerve) = (3.0, 2.4, 2.7, 3.6)
    case .truck: (braking, acceleration, cornering, swerve) = (2.7, 1.8, 2.5, 2.5)
    case .bus: (braking, acceleration, cornering, swerve) = (2.5, 1.5, 2.0, 2.5)
    // A rider leans with the motorcycle, so it neither rolls over nor slides at low accelerations. Full
    // braking lifts a wheel at 8 to 9 m/s².
    case .motorcycle: (braking, acceleration, cornering, swerve) = (4.0, 4.0, 5.0, 5.0)
    }
    switch vehicle {
    case .car, .van, .motorcycle: (pothole, kerb, supply) = (7, 6, 11.8)
    case .truck, .bus: (pothole, kerb, supply) = (9, 8, 23.6)
    }
  }
}
