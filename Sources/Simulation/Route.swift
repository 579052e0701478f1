public import Spatial

/// The route of a simulated vehicle: a closed loop of straight streets between waypoints in order; the last
/// one leads back to the first.
public struct Route: Hashable, Sendable {
  /// A point where streets meet. The vehicle rounds the corner, so it passes beside the point.
  public struct Waypoint: Hashable, Sendable {
    public var coordinate: Coordinate
    /// Speed limit in m/s of the street that leaves this waypoint; nil for that of the previous street.
    public var speedLimit: Double?
    /// Duration of a stop here in s, at a stop line where the turn starts; nil for none.
    public var stopDuration: Double?
    /// Tightest radius of the turn in m, limited by the length of the streets. Nil for a radius that suits
    /// the angle: 10 m at a street corner, wide curves for slight bends.
    public var turnRadius: Double?
    /// True if the street that leaves this waypoint is a tunnel without satellite reception.
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

  /// Creates a loop through waypoints; `SimulatedDrive` checks whether it can be driven.
  public init(waypoints: [Waypoint]) {
    self.waypoints = waypoints
  }

  /// A loop of seven kilometres of invented streets in the middle of Munich. It has a ring road with traffic
  /// lights, a tunnel, a fast avenue, a parking stop, and narrow side streets with turns in both directions.
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
