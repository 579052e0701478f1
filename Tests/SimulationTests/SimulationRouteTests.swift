import Spatial
import Testing

@testable import Simulation

@Suite struct SimulationRouteTests {
  private static let frame = LocalFrame(origin: Coordinate(latitude: -33.9, longitude: 18.4))

  private static func waypoint(
    _ east: Double, _ north: Double, limit: Double? = nil, stop: Double? = nil
  ) -> Route.Waypoint {
    Route.Waypoint(frame.coordinate(at: SIMD2(east, north)), speedLimit: limit, stopDuration: stop)
  }

  /// Closed loops, also across the equator and the antimeridian.
  private static let loops: [Route] = [
    .demo,
    Route(waypoints: [waypoint(0, 0), waypoint(300, 0), waypoint(300, 200), waypoint(0, 200)]),
    Route(waypoints: [waypoint(0, 0, limit: 20), waypoint(500, 0), waypoint(250, 400)]),
    // A stop on a straight street, away from any turn.
    Route(waypoints: [waypoint(0, 0), waypoint(200, 0, stop: 7), waypoint(400, 0), waypoint(200, 300)]),
    Route(waypoints: [
      Route.Waypoint(Coordinate(latitude: 0.002, longitude: 179.998)),
      Route.Waypoint(Coordinate(latitude: 0.002, longitude: -179.998)),
      Route.Waypoint(Coordinate(latitude: -0.002, longitude: -179.998)),
      Route.Waypoint(Coordinate(latitude: -0.002, longitude: 179.998)),
    ]),
  ]

  /// Position, heading and curvature are continuous along the whole loop, and each is the integral of the next.
  @Test(arguments: loops) func pathIsSmoothAndClosed(route: Route) throws {
    let path = try RoutePath(route)
    let step = 0.05
    var before = path.direction(at: path.length - step)
    var place = path.position(at: path.length - step)
    for distance in stride(from: 0.0, to: path.length - step, by: step) {
      let (here, position) = (path.direction(at: distance), path.position(at: distance))
      let turned = signedDegrees(from: before.heading.degrees, to: here.heading.degrees).radians
      let moved = position - place
      #expect(abs((moved.x * moved.x + moved.y * moved.y).squareRoot() - step) < 1e-4)
      #expect(abs(turned - (before.curvature + here.curvature) / 2 * step) < 1e-5)
      let bent = (before.curvatureChange + here.curvatureChange) / 2 * step
      #expect(abs(here.curvature - before.curvature - bent) < 2e-4)
      (before, place) = (here, position)
    }
  }

  @Test(arguments: loops) func waypointsArePassedNearby(route: Route) throws {
    let path = try RoutePath(route)
    for waypoint in route.waypoints {
      let corner = path.frame.offset(of: waypoint.coordinate)
      let nearest = stride(from: 0.0, to: path.length, by: 0.5).map { distance in
        let away = path.position(at: distance) - corner
        return (away.x * away.x + away.y * away.y).squareRoot()
      }.min()
      #expect(nearest ?? .infinity < 25)
    }
  }

  @Test func aCornerBlendTurnsByItsAngle() {
    for degrees in [-150.0, -90, -20, -0.5, 0.5, 33, 90, 150] {
      let blend = CornerBlend(turn: degrees.radians, radius: 12, reach: 1000)
      #expect(abs(blend.shape(at: blend.length).heading - degrees.radians) < 1e-12)
      #expect(abs(blend.radius - 12) < 1e-9)
      #expect(blend.shape(at: 0).curvature == 0)
      let squeezed = CornerBlend(turn: degrees.radians, radius: 1e6, reach: 30)
      #expect(abs(squeezed.tangentLength - 30) < 1e-9)
    }
  }

  @Test func impossibleRoutesAreRefusedByName() {
    let turnsBack = Route(waypoints: [Self.waypoint(0, 0), Self.waypoint(500, 0), Self.waypoint(100, 5)])
    let tooClose = Route(waypoints: [
      Self.waypoint(0, 0), Self.waypoint(3, 0), Self.waypoint(300, 5), Self.waypoint(300, 300),
    ])
    let cases: [(Route, String)] = [
      (Route(waypoints: []), "simulated route: 0 waypoints"),
      (Route(waypoints: [Self.waypoint(0, 0), Self.waypoint(9, 0)]), "simulated route: 2 waypoints"),
      (turnsBack, "simulated route, waypoint 0: turns by"),
      (tooClose, "simulated route, waypoint 0: only 3.0 m to the next"),
      (Route(waypoints: Route.demo.waypoints + [Self.waypoint(.nan, 0)]), "waypoint 16: Coordinate"),
      (Route(waypoints: Route.demo.waypoints + [Self.waypoint(0, 0, limit: -3)]), "limit of -3.0 m/s"),
      (Route(waypoints: Route.demo.waypoints + [Self.waypoint(0, 0, stop: .infinity)]), "a stop of inf s"),
    ]
    for (route, text) in cases {
      let error = #expect(throws: SimulationError.self) {
        var configuration = SimulatedDrive.Configuration()
        configuration.route = route
        _ = try SimulatedDrive(configuration)
      }
      #expect(error?.description.contains(text) == true, "\(error.debugDescription)")
    }
  }

  @Test func settingsOutOfRangeAreRefusedByName() {
    let cases: [(WritableKeyPath<SimulatedDrive.Configuration, Double>, Double, String)] = [
      (\.rates.accelerometer, .nan, "rates.accelerometer"), (\.rates.barometer, -1, "rates.barometer"),
      (\.rates.positioning, 1e-12, "rates.positioning"),
      (\.style.braking, 9, "style.braking"), (\.altitude, .infinity, "altitude"),
      (\.inertialErrors.gyroscopeBias, -1, "inertialErrors.gyroscopeBias"),
      (\.environment.hardIron.x, .nan, "environment.hardIron"),
      (\.receiver.errorCorrelationTime, 0, "receiver.errorCorrelationTime"),
    ]
    for (path, value, field) in cases {
      var configuration = SimulatedDrive.Configuration()
      configuration[keyPath: path] = value
      let error = #expect(throws: SimulationError.self) { _ = try SimulatedDrive(configuration) }
      #expect(error?.description.contains("setting \(field)") == true, "\(error.debugDescription)")
    }
  }

  @Test func stopsAtWaypointsForTheConfiguredTime() throws {
    let profile = SpeedProfile(SpeedPlan(try RoutePath(.demo), style: SimulatedDrive.DrivingStyle()))
    let wanted = Route.demo.waypoints.compactMap(\.stopDuration)
    let stops = profile.standstills.prefix(wanted.count)
    for (stop, duration) in zip(stops, wanted) {
      #expect(stop.upperBound - stop.lowerBound >= duration)
      #expect(stop.upperBound - stop.lowerBound <= duration + 3)
      #expect(profile.motion(at: stop.lowerBound + 0.1).speed == 0)
      #expect(profile.motion(at: stop.upperBound - 0.1).acceleration == 0)
    }
    let path = try RoutePath(.demo)
    let places = path.segments.filter { $0.stopDuration != nil }.map(\.start)
    #expect(places.count == wanted.count)
    for (stop, place) in zip(stops, places) {
      #expect(abs(profile.motion(at: stop.lowerBound + 0.1).distance - place) < 1e-6)
    }
    #expect(abs(profile.motion(at: profile.duration).distance - path.length) < 1e-6)
  }
}
