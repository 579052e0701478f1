import Foundation
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

/// Consistency of a simulated drive: each quantity is compared with the integral or derivative of another one.
@Suite struct SimulationMotionTests {
  private static func ideal(
    _ change: (inout SimulatedDrive.Configuration) -> Void = { _ in }
  ) throws -> SimulatedDrive {
    var configuration = SimulatedDrive.Configuration.ideal
    change(&configuration)
    return try SimulatedDrive(configuration)
  }

  @Test func drivesWithinLimitsOfComfort() throws {
    let drive = try Self.ideal()
    var (braking, acceleration, lateral, jerk, top, yaw, tilt, grade) = (
      0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    )
    var (standing, last) = (0.0, 0.0)
    let step = 0.02
    for time in stride(from: 0.0, to: drive.lapDuration, by: step) {
      let motion = drive.truth(at: Timestamp(seconds: time)).motion
      guard motion.speed > 0.001 else {
        standing += step
        last = 0
        continue
      }
      let ahead = Vector3(motion.velocity.x, motion.velocity.y, 0) / motion.speed
      let along = motion.acceleration.dot(ahead)
      braking = min(braking, along)
      acceleration = max(acceleration, along)
      lateral = max(lateral, abs(motion.acceleration.dot(Vector3(-ahead.y, ahead.x, 0))))
      jerk = max(jerk, abs(along - last) / step)
      top = max(top, motion.speed)
      yaw = max(yaw, abs(motion.rotationRate.z))
      tilt = max(tilt, acos(min(1, motion.quaternion.rotate(Vector3(0, 0, 1)).z)))
      grade = max(grade, abs(motion.velocity.z / motion.speed))
      last = along
    }
    print(
      "lap \(drive.lapLength) m, \(drive.lapDuration) s, standing \(standing) s; m/s²: \(braking) ... "
        + "\(acceleration), lateral \(lateral), jerk \(jerk) m/s³; top \(top) m/s, yaw \(yaw) rad/s, "
        + "tilt \(tilt.degrees)°, grade \(grade)")
    #expect((6500...7500).contains(drive.lapLength))
    #expect((170...220).contains(standing))
    #expect(braking >= -3.5 && braking < -2)
    #expect(acceleration <= 2.5 && acceleration > 1.5)
    #expect(lateral < 3.5 && lateral > 2)
    #expect(jerk < 5)
    #expect(top < 70 / 3.6 + 0.01 && top > 19)
    #expect((0.3..<0.7).contains(yaw))
    #expect(tilt.degrees < 4)
    #expect(grade < 0.036 && grade > 0.01)
  }

  @Test func velocityIsTheChangeOfPositionAndAccelerationThatOfVelocity() throws {
    let drive = try Self.ideal()
    let half = 0.005
    for time in stride(from: 0.25, to: drive.lapDuration, by: 0.37) {
      let before = drive.truth(at: Timestamp(seconds: time - half))
      let here = drive.truth(at: Timestamp(seconds: time))
      let after = drive.truth(at: Timestamp(seconds: time + half))
      #expect(((after.position - before.position) / (2 * half) - here.motion.velocity).length < 1e-4)
      let acceleration = (after.motion.velocity - before.motion.velocity) / (2 * half)
      #expect((acceleration - here.motion.acceleration).length < 1e-3)
      let horizontal = Vector3(here.motion.velocity.x, here.motion.velocity.y, 0)
      #expect(abs(horizontal.length - here.speed) < 1e-12)
    }
  }

  /// Over 10 km, the flat local frame and the ellipsoid differ by less than one part in a thousand.
  @Test func speedAndCourseAreThoseOfTheCoordinates() throws {
    let drive = try Self.ideal()
    for time in stride(from: 1.25, to: drive.lapDuration - 1, by: 2.3) {
      let here = drive.truth(at: Timestamp(seconds: time))
      guard let course = here.course, here.speed > 1 else { continue }
      let before = drive.truth(at: Timestamp(seconds: time - 0.1))
      let after = drive.truth(at: Timestamp(seconds: time + 0.1))
      let (distance, bearing) = before.coordinate.geodesic(to: after.coordinate)
      #expect(abs(distance / 0.2 - here.speed) < 0.002 * here.speed + 0.02)
      #expect(abs(signedDegrees(from: bearing, to: course)) < 0.3)
      // The device's y axis points in the direction of travel.
      let ahead = here.motion.quaternion.rotate(Vector3(0, 1, 0))
      #expect(abs(signedDegrees(from: atan2(ahead.x, ahead.y).degrees, to: course)) < 0.1)
    }
  }

  @Test func rotationRateIsTheChangeOfAttitude() throws {
    let drive = try Self.ideal()
    let half = 0.002
    for time in stride(from: 0.25, to: drive.lapDuration, by: 0.41) {
      let before = drive.truth(at: Timestamp(seconds: time - half)).motion.quaternion
      let here = drive.truth(at: Timestamp(seconds: time)).motion
      let after = drive.truth(at: Timestamp(seconds: time + half)).motion.quaternion
      let turn = before.conjugate * after
      let rate = (turn.w < 0 ? -1 : 1) * Vector3(turn.x, turn.y, turn.z) / half
      #expect((rate - here.rotationRate).length < 2e-4, "at \(time) s")
    }
  }

  /// Strapdown navigation with ideal samples: after a minute, a kilometre and several turns, position and attitude
  /// agree with the truth and with the fix.
  @Test(arguments: [0.0, 60, 240, 600, 770]) func inertialSamplesLeadToTheFix(start: Double) throws {
    let drive = try Self.ideal {
      $0.rates.positioning = 1
      $0.duration = start + 61
    }
    var scans: [(timestamp: Timestamp, force: Vector3, rate: Vector3)] = []
    var fixes: [PositionFix] = []
    var source = drive
    while let event = source.next() {
      switch event {
      case .inertial(let block):
        scans += block.compactMap { scan in
          guard scan.timestamp.seconds > start - 0.001, let force = scan.specificForce else { return nil }
          return scan.rotationRate.map { (scan.timestamp, force, $0) }
        }
      case .position(let block): fixes += block
      default: break
      }
    }
    let origin = drive.truth(at: Timestamp(seconds: start))
    var (attitude, velocity, position) = (origin.motion.quaternion, origin.motion.velocity, origin.position)
    func acceleration(_ index: Int, _ attitude: Quaternion) -> Vector3 {
      attitude.rotate(scans[index].force) - Vector3(0, 0, standardGravity)
    }
    var before = acceleration(0, attitude)
    for index in 1...6000 {
      let step = scans[index].timestamp.seconds(since: scans[index - 1].timestamp)
      let (w0, w1) = (scans[index - 1].rate, scans[index].rate)
      // The mean rate and the coning term of the trapezoid.
      let turn = (w0 + w1) * (step / 2) + w0.cross(w1) * (step * step / 12)
      attitude = (attitude * Quaternion(rotationVector: turn)).normalized
      let after = acceleration(index, attitude)
      position += velocity * step + (2 * before + after) * (step * step / 6)
      velocity += (before + after) * (step / 2)
      before = after
    }
    let end = drive.truth(at: scans[6000].timestamp)
    let (away, turned) = (
      (position - end.position).length, (attitude.conjugate * end.motion.quaternion).angle.degrees
    )
    print("from \(start) s: \(end.distance - origin.distance) m driven, \(away) m and \(turned)° off")
    #expect(away < 0.02)
    #expect(turned < 0.001)
    let fix = try #require(fixes.last { $0.timestamp <= end.timestamp })
    #expect(fix.timestamp == end.timestamp)
    if !end.isInTunnel {
      #expect(try #require(fix.coordinate).distance(to: end.coordinate) < 0.001)
      let frame = LocalFrame(origin: end.coordinate)
      let reached = frame.coordinate(at: SIMD2(position.x - end.position.x, position.y - end.position.y))
      #expect(try #require(fix.coordinate).distance(to: reached) < 0.02)
    }
  }

  @Test func magnetometerPointsNorthThroughTheAttitude() throws {
    let configuration = SimulatedDrive.Configuration.ideal
    var drive = try Self.ideal { $0.duration = 300 }
    let truth = drive
    var count = 0
    while let event = drive.next() {
      for sample in event.scans {
        guard let measured = sample.magneticField else { continue }
        let field = truth.truth(at: sample.timestamp).motion.quaternion.rotate(measured)
        #expect((field - configuration.environment.magneticField).length < 1e-9)
        count += 1
      }
    }
    #expect(count == 15_001)
    let field = configuration.environment.magneticField
    #expect(abs(field.length - 48.8) < 1e-9)
    #expect(abs(atan2(field.x, field.y).degrees - 4.4) < 1e-9 && field.z < 0)
  }

  @Test func standardAtmosphere() {
    let environment = SimulatedDrive.Environment()
    #expect(abs(environment.pressure(altitude: 0) - 101_325) < 1e-9)
    // ICAO Doc 7488, 1000 m: 898.746 hPa.
    #expect(abs(environment.pressure(altitude: 1000) - 89_874.6) < 2)
  }

  /// A parked device, face up, measures 1 g upwards and no rotation, apart from the slope of the street.
  @Test func parkedVehicleRestsOnItsSlope() throws {
    var drive = try Self.ideal {
      $0.scenario = .parked
      $0.steepestGrade = 0
      $0.duration = 5
    }
    var (forces, rates, fixes) = (0, 0, 0)
    while let event = drive.next() {
      for scan in event.scans {
        if let force = scan.specificForce {
          forces += 1
          #expect((force - Vector3(0, 0, standardGravity)).length < 1e-11)
        }
        if let rate = scan.rotationRate {
          rates += 1
          #expect(rate == .zero)
        }
      }
      if case .position(let block) = event {
        fixes += block.count
        for fix in block { #expect(fix.course == nil && fix.speed == 0 && fix.mode == .threeDimensional) }
      }
    }
    #expect(forces > 0 && rates > 0 && fixes > 0)
    #expect(drive.truth(at: Timestamp(seconds: 1e6)).speed == 0)
  }

  @Test func theTruthIsAvailableAtAnyTime() throws {
    let drive = try Self.ideal { $0.startTimestamp = Timestamp(seconds: 100) }
    let start = drive.truth(at: Timestamp(seconds: 100))
    #expect(drive.truth(at: Timestamp(nanoseconds: .min)) == start)
    #expect(drive.truth(at: Timestamp(nanoseconds: .max)).position.isFinite)
    #expect(drive.truth(at: Timestamp(seconds: 140)).speed > 5)
  }

  @Test func lapsJoinWithoutASeam() throws {
    let drive = try Self.ideal()
    for lap in [1.0, 2, 100] {
      let end = drive.truth(at: Timestamp(seconds: lap * drive.lapDuration - 0.001))
      let start = drive.truth(at: Timestamp(seconds: lap * drive.lapDuration))
      #expect((end.position - start.position).length < 1e-6)
      #expect((end.motion.quaternion.conjugate * start.motion.quaternion).angle < 1e-9)
      #expect(end.speed == 0 && start.speed == 0)
    }
  }

  /// Random streets: a route is either rejected with a reason or driven within the limits of comfort.
  @Test func randomRoutesAreDrivenComfortably() throws {
    let seed = UInt64.random(in: 0 ... .max)
    print("seed \(seed)")
    var random = SeededGenerator(seed: seed)
    var (driven, refused, lateral, hardest, jerk) = (0, 0, 0.0, 0.0, 0.0)
    for _ in 0..<60 {
      let frame = LocalFrame(origin: Coordinate(latitude: 60 * random.nextUniform(), longitude: 179.99))
      let count = Int.random(in: 3...40, using: &random)
      let size = Double.random(in: 60...3000, using: &random)
      let route = Route(
        waypoints: (0..<count).map { index in
          let angle = 2 * Double.pi * (Double(index) + 0.8 * random.nextUniform()) / Double(count)
          let radius = size * (0.6 + 0.4 * random.nextUniform())
          return Route.Waypoint(
            frame.coordinate(at: radius * SIMD2(cos(angle), sin(angle))),
            speedLimit: index % 3 == 0 ? Double.random(in: 5...40, using: &random) : nil,
            stopDuration: index % 5 == 2 ? Double.random(in: 0...40, using: &random) : nil)
        })
      let drive: SimulatedDrive
      do {
        drive = try Self.ideal { $0.route = route }
      } catch is SimulationError {
        refused += 1
        continue
      }
      driven += 1
      var last: SimulatedState?
      for time in stride(from: 0.0, through: drive.lapDuration, by: 0.1) {
        let state = drive.truth(at: Timestamp(seconds: time))
        defer { last = state }
        #expect(state.speed >= 0 && state.speed < 40.1)
        guard state.speed > 0.01 else { continue }
        let motion = state.motion
        let ahead = Vector3(motion.velocity.x, motion.velocity.y, 0) / motion.speed
        lateral = max(lateral, abs(motion.acceleration.dot(Vector3(-ahead.y, ahead.x, 0))))
        hardest = max(hardest, abs(motion.acceleration.dot(ahead)))
        guard let last else { continue }
        jerk = max(jerk, (motion.acceleration - last.motion.acceleration).length / 0.1)
        let mean = (motion.velocity + last.motion.velocity) / 2
        #expect((state.position - last.position - 0.1 * mean).length < 0.02)
      }
    }
    print("\(driven) driven, \(refused) refused; lateral \(lateral), along \(hardest), change \(jerk) m/s³")
    #expect(driven >= 20)
    #expect(lateral < 3.5)
    #expect(hardest < 2.5)
    #expect(jerk < 12)
  }

  /// Small bends of a fast street, as between the points of a recorded track, cause no jolt.
  @Test(arguments: [0.01, 0.1, 0.5, 2]) func slightBendsAreDrivenSmoothly(degrees: Double) throws {
    let frame = LocalFrame(origin: Coordinate(latitude: 50, longitude: 8))
    let end = SIMD2(1000 + 1000 * cos(degrees.radians), 1000 * sin(degrees.radians))
    let places = [SIMD2(0, 0), SIMD2(1000, 0), end, SIMD2(1000, 900)]
    let drive = try Self.ideal {
      $0.steepestGrade = 0
      $0.route = Route(waypoints: places.map { Route.Waypoint(frame.coordinate(at: $0), speedLimit: 40) })
    }
    var (before, change, top) = (Vector3.zero, 0.0, 0.0)
    for time in stride(from: 0.0, to: drive.lapDuration, by: 0.02) {
      let motion = drive.truth(at: Timestamp(seconds: time)).motion
      change = max(change, (motion.acceleration - before).length / 0.02)
      top = max(top, motion.speed)
      before = motion.acceleration
    }
    #expect(change < 8)
    #expect(top > 30)
  }

  @Test func leansOutOfTurnsAndLiftsItsNoseWhenAccelerating() throws {
    let drive = try Self.ideal { $0.steepestGrade = 0 }
    var (left, right, harder) = (0, 0, 0)
    for time in stride(from: 0.0, to: drive.lapDuration, by: 0.1) {
      let motion = drive.truth(at: Timestamp(seconds: time)).motion
      let attitude = Attitude(quaternion: motion.quaternion)
      let acceleration = motion.quaternion.conjugate.rotate(motion.acceleration)
      if acceleration.x < -1 {
        left += 1
        #expect(attitude.roll > 0.004 && motion.rotationRate.z > 0)
      }
      if acceleration.x > 1 {
        right += 1
        #expect(attitude.roll < -0.004 && motion.rotationRate.z < 0)
      }
      if acceleration.y > 1 {
        harder += 1
        #expect(attitude.pitch > 0.002)
      }
    }
    #expect(left > 50 && right > 10 && harder > 50)
  }
}
