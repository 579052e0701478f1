import Foundation
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

/// Errors and outages of simulated sensors, compared with their configuration.
@Suite struct SimulationErrorTests {
  private static func drive(
    _ duration: Double, _ change: (inout SimulatedDrive.Configuration) -> Void = { _ in }
  ) throws -> SimulatedDrive {
    var configuration = SimulatedDrive.Configuration()
    configuration.duration = duration
    change(&configuration)
    return try SimulatedDrive(configuration)
  }

  private static func fixes(of drive: SimulatedDrive) -> [PositionFix] {
    var (drive, fixes) = (drive, [PositionFix]())
    for kind in SensorKind.allCases where kind != .positioning { drive.setDemand(.off, for: kind) }
    while let event = drive.next() {
      if case .position(let block) = event { fixes += block }
    }
    return fixes
  }

  private static func rootMeanSquare(_ values: [Double]) -> Double {
    (values.reduce(0) { $0 + $1 * $1 } / Double(max(1, values.count))).squareRoot()
  }

  @Test func positionErrorsMatchTheReportedOnes() throws {
    let drive = try Self.drive(20 * 3600) { $0.seed = 3 }
    var (within, east, up, speed, course, count) = (0, [Double](), [Double](), [Double](), [Double](), 0)
    for fix in Self.fixes(of: drive) {
      guard let coordinate = fix.coordinate, let bound = fix.horizontalError else { continue }
      let truth = drive.truth(at: fix.timestamp)
      let offset = LocalFrame(origin: truth.coordinate).offset(of: coordinate)
      count += 1
      if (offset.x * offset.x + offset.y * offset.y).squareRoot() <= bound { within += 1 }
      east.append(offset.x)
      up.append(try #require(fix.altitudeMeanSeaLevel) - truth.altitudeMeanSeaLevel)
      speed.append(try #require(fix.speed) - truth.speed)
      if let reported = fix.course, let direction = truth.course, truth.speed > 8 {
        course.append(signedDegrees(from: direction, to: reported))
      }
      #expect(fix.mode == .threeDimensional)
      #expect((fix.speed ?? -1) >= 0)
      #expect(fix.course.map { (0..<360).contains($0) } ?? true)
      if truth.speed == 0 { #expect(fix.course == nil) }
      if truth.speed > 1 { #expect(fix.course != nil) }
      #expect(try #require(fix.altitudeEllipsoidal) > truth.altitudeMeanSeaLevel + 20)
    }
    let share = Double(within) / Double(count)
    let figures = (
      Self.rootMeanSquare(east), Self.rootMeanSquare(up), Self.rootMeanSquare(speed),
      Self.rootMeanSquare(course)
    )
    print(
      "\(count) fixes, \(share) within their bound; rms east \(figures.0) m, up \(figures.1) m, ",
      terminator: "")
    print("speed \(figures.2) m/s, course \(figures.3)°")
    #expect((0.92...0.98).contains(share))
    #expect((1.3...1.8).contains(figures.0))
    #expect((2.5...3.7).contains(figures.1))
    #expect((0.06...0.1).contains(figures.2))
    #expect(figures.3 < 1)
  }

  /// Position errors change slowly: consecutive fixes have similar errors.
  @Test func positionErrorsDrift() throws {
    let drive = try Self.drive(3600) {
      $0.scenario = .parked
      $0.receiver.meanTimeBetweenOutages = nil
    }
    let fixes = Self.fixes(of: drive).compactMap(\.coordinate)
    let steps = zip(fixes, fixes.dropFirst()).map { $0.distance(to: $1) }
    let apart = zip(fixes, fixes.dropFirst(600)).map { $0.distance(to: $1) }
    #expect(Self.rootMeanSquare(steps) < 0.7)
    #expect(Self.rootMeanSquare(apart) > 1.5)
  }

  @Test func tunnelsAndColdStartHaveNoFix() throws {
    let drive = try Self.drive(1000) {
      $0.receiver.meanTimeBetweenOutages = nil
      $0.startTime = UTCTime(secondsSince1970: 1_800_000_000)
    }
    let fixes = Self.fixes(of: drive)
    #expect(fixes.count == 1001)
    var sinceTunnel = 0
    for (index, fix) in fixes.enumerated() {
      let truth = drive.truth(at: fix.timestamp)
      #expect(fix.timestamp == Timestamp(seconds: Double(index)))
      sinceTunnel = truth.isInTunnel ? 0 : sinceTunnel + 1
      let hidden = index < 12 || sinceTunnel == 0
      #expect((fix.mode == .noFix) == hidden, "at \(index) s")
      #expect((fix.coordinate == nil) == hidden)
      #expect((fix.speed == nil) == hidden)
      // A receiver has no time before its first fix.
      let time = UTCTime(secondsSince1970: 1_800_000_000 + Double(index))
      #expect(fix.time == (index < 12 ? nil : time))
    }
    let inTunnel = fixes.filter { drive.truth(at: $0.timestamp).isInTunnel }
    print("\(inTunnel.count) s in the tunnel")
    #expect((15...60).contains(inTunnel.count))
    #expect(inTunnel.allSatisfy { $0.satellitesVisible == 0 })
  }

  @Test func randomOutagesMatchTheConfiguration() throws {
    let drive = try Self.drive(200_000) {
      $0.scenario = .parked
      $0.receiver.meanTimeBetweenOutages = 400
      $0.receiver.outageDuration = 10...30
    }
    let modes = Self.fixes(of: drive).dropFirst(12).map { $0.mode == .noFix }
    let begins = zip(modes, modes.dropFirst()).filter { !$0 && $1 }.count
    let share = Double(modes.filter { $0 }.count) / Double(modes.count)
    // 200,000 s in cycles of 400 + 20 s. Each cycle costs 20 s and about half a second of reacquisition.
    #expect((400...550).contains(begins), "\(begins)")
    #expect((0.043...0.055).contains(share), "\(share)")
  }

  @Test func noLocationHasAllSensorsButNoFix() throws {
    var drive = try Self.drive(60) { $0.scenario = .noLocation }
    var kinds: Set<SensorKind> = []
    while let event = drive.next() {
      for kind in SensorKind.allCases where event.count(of: kind) > 0 { kinds.insert(kind) }
      guard case .position(let block) = event else { continue }
      for fix in block { #expect(fix.mode == .noFix && fix.coordinate == nil && fix.time == nil) }
    }
    #expect(kinds == Set(SensorKind.allCases).subtracting([.wifi, .cellular]))
    #expect(drive.truth(at: Timestamp(seconds: 40)).speed > 5)
  }

  /// Noise densities of a parked vehicle's inertial sensors at two rates, compared with their configuration.
  @Test(arguments: [100.0, 25]) func inertialNoiseHasItsDensity(rate: Double) throws {
    let drive = try Self.drive(400) {
      $0.scenario = .parked
      $0.inertialErrors.accelerometerBiasWander = 0
      $0.inertialErrors.gyroscopeBiasWander = 0
    }
    var source = drive
    source.setDemand(.rate(hertz: rate, latency: .seconds(1)), for: .accelerometer)
    source.setDemand(.rate(hertz: rate, latency: .seconds(1)), for: .gyroscope)
    var (forces, rotations) = ([Vector3](), [Vector3]())
    while let event = source.next() {
      forces += event.scans.compactMap(\.specificForce)
      rotations += event.scans.compactMap(\.rotationRate)
    }
    #expect(forces.count == Int(400 * rate) + 1 && rotations.count == forces.count)
    func statistics(_ values: [Vector3]) -> (mean: Vector3, deviation: Double) {
      let mean = values.reduce(Vector3.zero, +) / Double(values.count)
      let square = values.reduce(0) { $0 + ($1 - mean).dot($1 - mean) } / Double(3 * values.count)
      return (mean, square.squareRoot())
    }
    let (force, rotation) = (statistics(forces), statistics(rotations))
    let errors = drive.configuration.inertialErrors
    #expect(abs(force.deviation / (errors.accelerometerNoiseDensity * rate.squareRoot()) - 1) < 0.03)
    #expect(abs(rotation.deviation / (errors.gyroscopeNoiseDensity * rate.squareRoot()) - 1) < 0.03)
    let bias = force.mean - drive.truth(at: Timestamp(seconds: 0)).motion.specificForce
    #expect((0.005...0.2).contains(bias.length))
    #expect((0.0005...0.02).contains(rotation.mean.length))
  }

  /// A moving vehicle and a running engine add vibration. Its mean is zero.
  @Test func vibrationHasNoMean() throws {
    let drive = try Self.drive(790) {
      $0.inertialErrors = .ideal
      $0.inertialErrors.roadVibration = 0.35
      $0.inertialErrors.idleVibration = 0.05
    }
    var source = drive
    var (moving, idling, parked, velocity) = ([Double](), [Double](), [Double](), 0.0)
    while let event = source.next() {
      for sample in event.scans {
        guard let force = sample.specificForce else { continue }
        let motion = drive.truth(at: sample.timestamp).motion
        let error = force - motion.specificForce
        velocity += error.z * 0.01
        #expect(abs(velocity) < 0.05)
        if motion.speed > 12 { moving.append(error.z) }
        if sample.timestamp.seconds < 8 { idling.append(error.z) }
        if motion.speed == 0, error == .zero { parked.append(error.z) }
      }
    }
    #expect((0.25...0.45).contains(Self.rootMeanSquare(moving)))
    #expect(abs(Self.rootMeanSquare(idling) - 0.05 / 2.0.squareRoot()) < 0.002)
    // The parking stop lasts 90 s, with the engine off.
    #expect((8500...9500).contains(parked.count), "\(parked.count)")
  }
}
