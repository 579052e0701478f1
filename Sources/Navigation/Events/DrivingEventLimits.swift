/// From where on something is an event. `init(_:)` gives what suits a class of vehicles; each number can be set apart.
public struct DrivingEventLimits: Hashable, Sendable {
  public enum VehicleClass: String, Hashable, Sendable, CaseIterable {
    case car, van, truck, bus, motorcycle
  }

  // MARK: Manoeuvres

  // m/s² in the plane of the earth, means over one second. Brakes can do much more (UN R13-H and R13); nine of ten drivers who
  // meet something on the road brake with 3.4 or more, by which roads are designed (AASHTO, stopping sight distance). What fleets take for harsh, all at shorter means:
  // 3.6 to 3.7 up to 2.7 t and 3.4 to 3.5 up to 4.5 t (GPS Insight), 3.0 to 4.4 and 3.5 to 5.5 in curves (Digital Matter).
  /// Least deceleration.
  public var braking: Double
  /// Least acceleration along the way.
  public var acceleration: Double
  /// Least acceleration across the way. Of 17 laden tank trucks 7 tip over below 3.4 m/s², and 14 below 3.9 (J. R.
  /// Billing and J. D. Patten, "An assessment of tank truck roll stability"). Of what passengers who stand can hold, studies differ widely;
  /// the bus's is ours.
  public var cornering: Double
  /// The same of a swerve, to both sides one after the other, mean over half a second.
  public var swerve: Double

  // MARK: The road

  /// m/s² of a blow up or down, up to 10 m/s; more is needed at more speed. Speed humps and holes reach 0.4 to 2 g at the body
  /// (J. Eriksson et al., "The Pothole Patrol", 2008; A. Mednis et al., "Real time pothole detection", 2011: 0.4 g), stiff
  /// trucks more.
  public var pothole: Double
  /// m/s² of a blow at walking to town speed that lifts the vehicle or comes from the side.
  public var kerb: Double

  // MARK: Speed

  /// m/s; nil for none but regions'.
  public var speed: Double?
  /// m/s above a limit that are still in order: 5 km/h, as a speedometer never shows too little (UN R39).
  public var speedMargin = 1.4
  /// s that the limit must be passed: overtaking is no offence of a driver's that a fleet wants to hear of.
  public var speedTime = 5.0

  // MARK: At rest

  /// s of a running engine at rest: the five minutes that most laws against idling allow (13 CCR § 2485).
  public var idling = 300.0
  /// Degrees by which a parked vehicle's vertical must have moved.
  public var tilt = 2.0
  /// m by which a parked vehicle must have moved.
  public var tow = 50.0

  // MARK: Supply and receiver

  /// V: a lead-acid battery of six cells at rest has a quarter of its charge left at 12.0 V and cannot start from 11.8 V on;
  /// two of them in trucks and buses.
  public var supply: Double
  /// m from where all else says that the vehicle is, beyond what both state as their error.
  public var contradiction = 30.0

  public init(_ vehicle: VehicleClass = .car) {
    switch vehicle {
    case .car: (braking, acceleration, cornering, swerve) = (3.5, 3.0, 3.5, 4.0)
    case .van: (braking, acceleration, cornering, swerve) = (3.3, 2.8, 3.2, 3.6)
    case .truck: (braking, acceleration, cornering, swerve) = (2.7, 1.8, 2.5, 2.5)
    case .bus: (braking, acceleration, cornering, swerve) = (2.5, 1.5, 2.0, 2.5)
    // A rider leans, so neither tips over nor slides out early; full brakes lift a wheel at 8 to 9 m/s².
    case .motorcycle: (braking, acceleration, cornering, swerve) = (4.0, 4.0, 5.0, 5.0)
    }
    switch vehicle {
    case .car, .van, .motorcycle: (pothole, kerb, supply) = (7, 6, 11.8)
    case .truck, .bus: (pothole, kerb, supply) = (9, 8, 23.6)
    }
  }
}
