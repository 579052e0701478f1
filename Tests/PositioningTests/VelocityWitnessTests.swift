import Glibc
import Positioning
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

/// Position drifts that contradict the receiver's own velocity, and harmless errors that resemble them.
@Suite struct VelocityWitnessTests {
  /// A drive on streets: speeds up to `fastest`, stops, and right-angled turns within five seconds.
  private struct Drive {
    struct State {
      var place = SIMD2(0.0, 0)
      var velocity = SIMD2(0.0, 0)
    }

    private(set) var states: [State] = []

    init(states: [State]) { self.states = states }

    init(seconds: Int, fastest: Double, _ random: inout SeededGenerator) {
      var (state, speed, heading, wanted, turn) = (State(), 0.0, 0.0, fastest, 0.0)
      for second in 0..<seconds {
        if second % 25 == 0 {
          wanted = random.nextUniform() < 0.2 ? 0 : fastest * (0.3 + 0.7 * random.nextUniform())
        }
        if second % 5 == 0 {
          turn = random.nextUniform() < 0.2 ? (random.nextUniform() < 0.5 ? 0.314 : -0.314) : 0
        }
        states.append(state)
        speed += max(-3, min(2, wanted - speed))
        heading += speed > 2 && speed < 15 ? turn : 0
        let next = speed * SIMD2(sin(heading), cos(heading))
        state.place += (state.velocity + next) / 2
        state.velocity = next
      }
    }
  }

  /// A receiver with one fix per second.
  struct Receiver: Sendable, CustomTestStringConvertible {
    var testDescription = ""
    /// Slowly changing and white noise in m per axis, and noise of the speed in m/s.
    var wander = 1.5
    var noise = 0.4
    var speedNoise = 0.1
    /// Delay of the velocity in s.
    var lag = 0
    var speedFactor: Double? = 1
    /// Duration in s of a tunnel in every 200 s, and whether the receiver extrapolates in it: then the error in m at its end, and the
    /// seconds in which it is corrected.
    var tunnel: (length: Int, coasts: Bool, error: Double, correction: Int)?
    var accuracy = 4.0
    var fastest = 14.0
  }

  private static let receivers = [
    Receiver(testDescription: "usual"),
    Receiver(testDescription: "fast road", fastest: 45),
    Receiver(testDescription: "without velocity", speedFactor: nil),
    Receiver(testDescription: "speed is always zero", speedFactor: 0),
    Receiver(testDescription: "speed 4 % too high", speedFactor: 1.04),
    Receiver(testDescription: "speed in the wrong unit", speedFactor: 1.94),
    Receiver(testDescription: "velocity a second late", lag: 1),
    Receiver(testDescription: "velocity two seconds late", lag: 2),
    Receiver(testDescription: "low cost", wander: 6, noise: 1, speedNoise: 0.3, accuracy: 5),
    Receiver(testDescription: "tunnels without fixes", tunnel: (40, false, 0, 0)),
    Receiver(testDescription: "tunnels with a step of 150 m", tunnel: (40, true, 150, 1)),
    Receiver(testDescription: "tunnels with a correction over 10 s", tunnel: (40, true, 120, 10)),
    Receiver(testDescription: "tunnels with a correction over 25 s", tunnel: (40, true, 200, 25)),
  ]

  private func fixes(
    of drive: Drive, by receiver: Receiver, drift: SIMD2<Double> = .zero, from start: Int = .max,
    _ random: inout SeededGenerator
  ) -> [PositionFix] {
    var slow = SIMD2(0.0, 0)
    var fixes: [PositionFix] = []
    for (second, state) in drive.states.enumerated() {
      // A Gauss-Markov process with a correlation time of 100 s.
      slow = 0.99 * slow + 0.14 * receiver.wander * SIMD2(random.nextNormal(), random.nextNormal())
      var place = state.place + slow + receiver.noise * SIMD2(random.nextNormal(), random.nextNormal())
      if second >= start { place += drift * Double(second - start) }
      if let tunnel = receiver.tunnel {
        let (phase, open) = (second % 200, 200 - tunnel.length - tunnel.correction)
        if phase >= open, phase < open + tunnel.length {
          guard tunnel.coasts else { continue }
          place.x += tunnel.error * Double(phase - open) / Double(tunnel.length)
        } else if phase >= open + tunnel.length {
          place.x += tunnel.error * (1 - Double(phase - open - tunnel.length) / Double(tunnel.correction))
        }
      }
      var fix = Place.fix(Double(second), place.x, place.y)
      fix.horizontalError = receiver.accuracy
      if let factor = receiver.speedFactor {
        var velocity = drive.states[max(0, second - receiver.lag)].velocity
        if let tunnel = receiver.tunnel, tunnel.coasts,
          second % 200 >= 200 - tunnel.length - tunnel.correction,
          second % 200 < 200 - tunnel.correction
        {
          // While extrapolating, the velocity is that of the extrapolated position.
          velocity.x += tunnel.error / Double(tunnel.length)
        }
        velocity = factor * velocity + receiver.speedNoise * SIMD2(random.nextNormal(), random.nextNormal())
        if factor == 0 { velocity = .zero }
        fix.speed = (velocity * velocity).sum().squareRoot()
        fix.course = normalizedDegrees(atan2(velocity.x, velocity.y).degrees)
      }
      fixes.append(fix)
    }
    return fixes
  }

  /// Drives with consistent positions and velocities are never suspect. They stay within some kilometres of `Place`, where metres east and
  /// north are exact.
  @Test(arguments: receivers) func consistentDrivesRaiseNoAlarm(receiver: Receiver) {
    var random = SeededGenerator.announced()
    var alarms = 0
    for _ in 0..<4 {
      let drive = Drive(seconds: 1200, fastest: receiver.fastest, &random)
      var screen = FixScreen()
      for fix in fixes(of: drive, by: receiver, &random) {
        alarms += screen.process(fix).count { $0.suspicion != nil }
      }
    }
    #expect(alarms == 0)
  }

  /// The position of a parked vehicle drifts by many metres within minutes, after a drive that confirmed its velocity.
  @Test(arguments: [3.0, 8, 12]) func wanderAtRestIsNoDrift(wander: Double) {
    var random = SeededGenerator.announced()
    var screen = FixScreen()
    var slow = SIMD2(0.0, 0)
    for second in 0..<7200 {
      let way = 10 * Double(min(second, 60))
      if second > 60 { slow = 0.99 * slow + 0.14 * wander * SIMD2(random.nextNormal(), random.nextNormal()) }
      var fix = Place.fix(Double(second), way + slow.x, slow.y, speed: second < 60 ? 10 : 0, course: 90)
      fix.horizontalError = max(6, wander)
      #expect(screen.process(fix).allSatisfy { $0.suspicion == nil })
    }
  }

  /// Seconds until a lateral drift is flagged.
  @Test(arguments: [2.0, 3, 5, 10], [0.0, 14, 30])
  func driftIsFlaggedWithinAMinute(drift: Double, fastest: Double) throws {
    var random = SeededGenerator.announced()
    var worst = 0.0
    for _ in 0..<10 {
      let proof = (0..<60).map { Drive.State(place: SIMD2(0, 10 * Double($0)), velocity: SIMD2(0, 10)) }
      let drive = Drive(seconds: 240, fastest: fastest, &random)
      let end = try #require(proof.last)
      let all = proof + drive.states.map { .init(place: $0.place + end.place, velocity: $0.velocity) }
      let angle = 2 * Double.pi * random.nextUniform()
      let start = 120
      let given = fixes(
        of: Drive(states: all), by: Receiver(),
        drift: drift * SIMD2(sin(angle), cos(angle)), from: start, &random)
      var screen = FixScreen()
      var flagged: Double?
      for fix in given where flagged == nil {
        for location in screen.process(fix) where location.suspicion != nil {
          #expect(location.suspicion?.reason == .velocity && fix.timestamp.seconds >= Double(start))
          flagged = fix.timestamp.seconds - Double(start)
        }
      }
      worst = max(worst, flagged ?? .infinity)
    }
    print("drift of \(drift) m/s at up to \(fastest) m/s: flagged after at most \(worst) s")
    #expect(worst <= 60)
  }

  /// The suspicion starts 30 to 60 s after the start of a drift and ends at most 130 s after its end.
  @Test func suspicionEndsAfterTheDrift() {
    var screen = FixScreen()
    var suspect: [Int] = []
    for second in 0..<400 {
      let aside = 3 * Double(min(max(0, second - 60), 100))
      let passed = screen.process(
        Place.fix(Double(second), 10 * Double(second), aside, speed: 10, course: 90))
      if passed.contains(where: { $0.suspicion?.reason == .velocity }) { suspect.append(second) }
    }
    let (first, last) = (suspect.first ?? 0, suspect.last ?? 0)
    #expect((90...120).contains(first) && (200...290).contains(last))
    #expect(suspect == Array(first...max(first, last)))
  }

  /// The public recordings, at their own rate and at lower ones.
  @Test(.needs(.recordings("tracks")), arguments: Place.tracks.prefix(2), [1, 2, 5])
  func recordedDrivesAreNeverSuspect(track: String, every: Int) throws {
    var screen = FixScreen()
    var told = 0
    for (index, fix) in try Place.recordedFixes(track).enumerated() where index % every == 0 {
      for location in screen.process(fix) {
        told += 1
        #expect(location.suspicion == nil)
      }
    }
    #expect(told > 200)
  }

  /// Two recorded drives with inertial sensors, whose receivers have no NMEA output.
  @Test(.needs(.recordings("gnss-imu-drive")), arguments: ["gnss-imu-drive", "kingston-2008"])
  func drivesWithStatedVelocitiesAreNeverSuspect(drive: String) throws {
    var screen = FixScreen()
    var told = 0
    for fix in try Self.fixes(drive) {
      for location in screen.process(fix) {
        told += 1
        #expect(location.suspicion == nil)
      }
    }
    #expect(told > 500)
  }

  /// Columns: t, lat, lon, height, fix, sats, sdn, sde, sdu, vn, ve, vu.
  private static func fixes(_ drive: String) throws -> [PositionFix] {
    let text = try Shared.text("data/\(drive)/gnss.csv")
    return text.split(separator: "\n").dropFirst().compactMap { line in
      let row = line.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) ?? .nan }
      guard row.count >= 12, row[1].isFinite else { return nil }
      var fix = PositionFix(
        timestamp: Timestamp(seconds: 100 + row[0]), time: Place.start.advanced(bySeconds: row[0]),
        mode: .threeDimensional, coordinate: Coordinate(latitude: row[1], longitude: row[2]))
      if row[6].isFinite { fix.horizontalError = 2.448 * max(row[6], row[7]) }
      if row[9].isFinite, row[10].isFinite {
        fix.speed = hypot(row[9], row[10])
        fix.course = normalizedDegrees(atan2(row[10], row[9]).degrees)
      }
      return fix
    }
  }
}
