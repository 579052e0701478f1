import Pipeline
import Positioning
import Sensors
import Simulation
import Spatial
import Telemetry
import TestSupport
import Testing

/// Orientation and heading for programs on the same machine, and the power of the sensors for them.
@Suite struct LocalMotionTests {
  private static let kinds: Set<SensorKind> = [.accelerometer, .gyroscope, .magnetometer]
  private static let orientation = LocalMotionDemand(orientation: true)
  private static let heading = LocalMotionDemand(heading: true)

  /// A pipeline that does not itself require an inertial sensor.
  private func pipeline(_ settings: Setting..., kinds: Set<SensorKind> = kinds) -> AgentPipeline {
    var pipeline = AgentPipeline(
      configuration: PipelineConfiguration(
        [
          { $0.location.isEnabled = false }, { $0.motion.events = [] }, { $0.heading.isEnabled = false },
          { $0.attitude.isEnabled = false }, { $0.navigation.isEnabled = false },
          { $0.events.kinds = [] },
        ] + settings, isVirtual: false), start: Timestamp(seconds: 100),
      time: UTCTime(nanoseconds: 1_795_248_000_000_000_000), version: "1")
    status(&pipeline, kinds, .idle)
    return pipeline
  }

  private func status(
    _ pipeline: inout AgentPipeline, _ kinds: Set<SensorKind>, _ state: SourceStatus.State
  ) {
    pipeline.process(
      .status(
        SourceStatus(timestamp: Timestamp(seconds: 100), source: "iio", kinds: kinds, state: state))
    ) { _ in }
  }

  private func rate(_ pipeline: AgentPipeline, _ kind: SensorKind) -> Double? {
    if case .rate(let hertz, _)? = pipeline.demands[kind] { hertz } else { nil }
  }

  /// Plays samples of a device rotated from its default position (face up, top to the north).
  private func play(
    _ pipeline: inout AgentPipeline, from start: Double, seconds: Double, turned: Quaternion,
    kinds: Set<SensorKind> = kinds
  ) {
    for index in 0..<Int(seconds * 50) {
      var scan = InertialScan(timestamp: Timestamp(seconds: start + Double(index) / 50))
      let noise = 0.001 * Double(index % 3)
      if kinds.contains(.accelerometer) {
        scan.specificForce = turned.conjugate.rotate(Vector3(noise, 0, 9.80665))
      }
      if kinds.contains(.gyroscope) { scan.rotationRate = Vector3(noise, 0, 0) }
      if kinds.contains(.magnetometer) {
        scan.magneticField = turned.conjugate.rotate(Vector3(noise, 20, -44))
      }
      pipeline.process(.inertial([scan])) { _ in }
    }
  }

  private static func upright(_ degrees: Double) -> Quaternion {
    // Top up, then rotated in the plane of the screen.
    Quaternion(angle: .pi / 2, axis: Vector3(1, 0, 0))
      * Quaternion(angle: degrees.radians, axis: Vector3(0, 0, 1))
  }

  // MARK: Power

  @Test func sensorsArePoweredOnlyWhileClaimed() {
    var pipeline = pipeline()
    for kind in Self.kinds { #expect(pipeline.demands[kind]?.isOn != true, "\(kind)") }
    let idle = pipeline.nextDeadline
    pipeline.observe(Self.orientation)
    #expect(rate(pipeline, .accelerometer) == PowerPlanner.watchRate)
    #expect(pipeline.demands[.gyroscope]?.isOn == false && pipeline.demands[.magnetometer]?.isOn == false)
    pipeline.observe(LocalMotionDemand(orientation: true, heading: true))
    for kind in Self.kinds { #expect(rate(pipeline, kind) == 100, "\(kind)") }
    pipeline.observe(LocalMotionDemand())
    for kind in Self.kinds { #expect(pipeline.demands[kind]?.isOn == false, "\(kind)") }
    #expect(pipeline.nextDeadline == idle)
    #expect(pipeline.demands[.positioning]?.isOn != true)
  }

  /// Claims do not lower the rate that the agent itself requires.
  @Test func claimsDoNotLowerOtherRates() {
    var pipeline = pipeline({ $0.attitude.isEnabled = true })
    #expect(rate(pipeline, .accelerometer) == 100)
    pipeline.observe(Self.orientation)
    #expect(rate(pipeline, .accelerometer) == 100)
  }

  // MARK: Values

  @Test func orientationsAreReportedWhileClaimed() throws {
    var pipeline = pipeline()
    let first = pipeline.drainLocalMotion()
    let initial = try #require(first)
    #expect(initial.hasAccelerometer && initial.hasCompass && initial.orientation == nil)
    play(&pipeline, from: 101, seconds: 3, turned: Self.upright(0), kinds: [.accelerometer])
    let unclaimed = pipeline.drainLocalMotion()
    #expect(unclaimed == nil)
    pipeline.observe(Self.orientation)
    for (index, (degrees, orientation)) in [
      (0.0, DeviceOrientation.portrait), (90, .landscapeLeft), (180, .portraitUpsideDown),
      (270, .landscapeRight),
    ].enumerated() {
      play(
        &pipeline, from: 110 + 5 * Double(index), seconds: 4, turned: Self.upright(degrees),
        kinds: [.accelerometer])
      let new = pipeline.drainLocalMotion()
      #expect(new?.orientation == orientation, "\(degrees)")
    }
    pipeline.observe(LocalMotionDemand())
    let last = pipeline.drainLocalMotion()
    let released = try #require(last)
    #expect(released.orientation == nil && released.hasAccelerometer)
    status(&pipeline, Self.kinds, .unavailable(reason: "unplugged"))
    let without = pipeline.drainLocalMotion()
    let gone = try #require(without)
    #expect(!gone.hasAccelerometer && !gone.hasCompass)
  }

  /// Without locations the declination is unknown, and the heading is magnetic. A privacy zone does not withhold it.
  @Test func headingIsReportedWhileClaimed() throws {
    let kinds: Set<SensorKind> = [.accelerometer, .magnetometer]
    var pipeline = pipeline({ $0.privacy.addZone(48, 11, radius: 300) }, kinds: kinds)
    pipeline.observe(Self.heading)
    var state: LocalMotionState?
    var count = 0
    for (index, degrees) in [0.0, 90, 200].enumerated() {
      // Clockwise from north, seen from above.
      let turned = Quaternion(angle: -degrees.radians, axis: Vector3(0, 0, 1))
      for second in 0..<20 {
        play(
          &pipeline, from: 101 + 20 * Double(index) + Double(second), seconds: 1, turned: turned,
          kinds: kinds)
        if let new = pipeline.drainLocalMotion() { (state, count) = (new, count + 1) }
      }
      let heading = try #require(state?.heading)
      #expect(abs(signedDegrees(from: degrees, to: heading)) < 5, "\(degrees): \(heading)")
    }
    // Changes below one degree are not reported.
    #expect(count < 30, "\(count)")
    pipeline.observe(LocalMotionDemand())
    let released = pipeline.drainLocalMotion()
    #expect(released != nil && released?.heading == nil)
  }

  /// A vehicle without a magnetometer has the heading of its navigation.
  @Test func navigationProvidesTheHeading() throws {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive(length: 200, mounting: generator.nextRotation()).samples(&generator)
    var pipeline = AgentPipeline(
      configuration: PipelineConfiguration([{ $0.location.policy = .distance(nil) }], isVirtual: true),
      start: Timestamp(seconds: 0), time: UTCTime(nanoseconds: 1_795_248_000_000_000_000), version: "1")
    pipeline.observe(Self.heading)
    var state: LocalMotionState?
    for sample in samples {
      let time = sample.truth.time
      if var fix = sample.fix, time == time.rounded() {
        fix.time = UTCTime(nanoseconds: 1_795_248_000_000_000_000).advanced(bySeconds: time)
        pipeline.process(.position([fix])) { _ in }
      }
      pipeline.process(.inertial([sample.scan])) { _ in }
      if let new = pipeline.drainLocalMotion() { state = new }
    }
    let truth = try #require(samples.last).truth
    let heading = try #require(state?.heading)
    #expect(state?.hasCompass == true)
    #expect(
      abs(signedDegrees(from: truth.heading.degrees, to: heading)) < 10, "\(truth.heading.degrees) \(heading)"
    )
  }
}
