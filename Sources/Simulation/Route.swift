public import Spatial

/// Where a simulated vehicle drives: a closed loop of straight streets between waypoints, driven in order; the
/// last waypoint leads back to the first.
public struct Route: Hashable, Sendable {
  /// A point where streets meet. The vehicle rounds it, so it passes beside the point rather than over it.
  public struct Waypoint: Hashable, Sendable {
    public var coordinate: Coordinate
    /// Speed limit of the street that leaves this waypoint, m/s; nil keeps that of the street before.
    public var speedLimit: Double?
    /// How long the vehicle stands still here, s: at a stop line, where the turn begins. Nil for passing
    /// through.
    public var stopDuration: Double?
    /// Tightest radius of the turn, m, as far as the streets are long enough for it. Nil chooses one that
    /// suits the angle: 10 m round a street corner, wide curves for slight bends.
    public var turnRadius: Double?
    /// Whether the street that leaves this waypoint runs in a tunnel, where no satellite is heard.
    public var beginsTunnel: Bool

    public init(
      _ coordinate: Coordinate, speedLimit: Double? = nil, stopDuration: Double? = nil,
      turnRadius: Double? = nil, beginsTunnel: Bool = false
    ) {
      self.coordinate = coordinate
      self.speedLimit = speedLimit
      self.stopDuration = stopDuration
      self.turnRadius = turnRadius
      self.beginsTunnel = beginsTunnel
    }
  }

  public var waypoints: [Waypoint]

  /// A loop through waypoints; whether it can be driven is checked when a `SimulatedDrive` is made of it.
  public init(waypoints: [Waypoint]) {
    self.waypoints = waypoints
  }

  /// Seven kilometres of invented streets in the middle of Munich: a ring road with traffic lights, a tunnel,
  /// a fast avenue, a parking stop and narrow side streets with turns both ways.
  public static let demo: Route = {
    let frame = LocalFrame(origin: Coordinate(latitude: 48.1381, longitude: 11.5812))
    func waypoint(
      _ east: Double, _ north: Double, kilometresPerHour limit: Double, stop: Double? = nil,
      tunnel: Bool = false
    ) -> Waypoint {
      Waypoint(
        frame.coordinate(at: SIMD2(east, north)), speedLimit: limit / 3.6, stopDuration: stop,
        beginsTunnel: tunnel)
    }
    return Route(waypoints: [
      waypoint(-620, -480, kilometresPerHour: 50, stop: 8),
      waypoint(-180, -520, kilometresPerHour: 50, stop: 18),
      waypoint(420, -430, kilometresPerHour: 50),
      waypoint(700, -250, kilometresPerHour: 50),
      waypoint(860, 120, kilometresPerHour: 60, stop: 25),
      waypoint(830, 620, kilometresPerHour: 60, tunnel: true),
      waypoint(560, 960, kilometresPerHour: 60),
      waypoint(40, 1080, kilometresPerHour: 50, stop: 15),
      waypoint(-420, 960, kilometresPerHour: 70),
      waypoint(-1500, 1010, kilometresPerHour: 50, stop: 12),
      waypoint(-1620, 640, kilometresPerHour: 50),
      waypoint(-1560, 200, kilometresPerHour: 30, stop: 90),
      waypoint(-1180, 150, kilometresPerHour: 30),
      waypoint(-1150, -160, kilometresPerHour: 30, stop: 4),
      waypoint(-900, -200, kilometresPerHour: 30),
      waypoint(-880, -470, kilometresPerHour: 30),
    ])
  }()
}
