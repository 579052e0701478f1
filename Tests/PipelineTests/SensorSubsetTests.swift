import JSON
import Motion
import Pipeline
import Positioning
import Sensors
import Simulation
import Spatial
import Telemetry
import Testing

/// Default settings with every possible set of sensors, at rates from 10 to 1000 Hz: published messages, their
/// frame, and the limitations in `status`.
@Suite struct SensorSubsetTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)
  private static let blow = 4.5
  private static let kinds: [SensorKind] = [
    .accelerometer, .gyroscope, .magnetometer, .barometer, .positioning,
  ]

  static let subsets = (0..<32).map { bits in
    Set(kinds.indices.filter { bits >> $0 & 1 == 1 }.map { kinds[$0] })
  }

  /// Expected outputs of a set of sensors, defined independently of the code.
  private struct Expectation {
    var frame: AttitudeReferenceFrame?
    var hasAttitudeMessage: Bool
    var hasHeading: Bool
    var hasTrueHeading: Bool
    var hasImpact: Bool
    var degraded: Set<String>

    init(_ sensors: Set<SensorKind>) {
      let (a, g, m) = (
        sensors.contains(.accelerometer), sensors.contains(.gyroscope), sensors.contains(.magnetometer)
      )
      hasAttitudeMessage = a || g
      frame = !a ? nil : m ? .xMagneticNorthZVertical : g ? .xArbitraryZVertical : nil
      hasHeading = a && m
      hasTrueHeading = a && m && sensors.contains(.positioning)
      hasImpact = a
      switch (a, g, m) {
      case (true, true, true): degraded = []
      case (true, true, false): degraded = ["attitude"]
      case (true, false, true):
        degraded = ["attitude", "gravity", "heading", "impact"]
      case (true, false, false): degraded = ["gravity", "impact"]
      default: degraded = []
      }
      if hasTrueHeading, !g { degraded.insert("trueHeading") }
    }
  }

  /// Plays a device that lies flat, facing north-east, and is struck on the left after `blow` seconds.
  private func drive(_ sensors: Set<SensorKind>, rate: Double) throws -> [VehicleMessage] {
    let configuration = PipelineConfiguration(
      [
        { $0.statusInterval = 1 }, { $0.heading.interval = 1 }, { $0.attitude.filter = 0 },
      ], isVirtual: false)
    var pipeline = AgentPipeline(
      configuration: configuration, start: Timestamp(nanoseconds: 0), time: Self.start, version: "1")
    var messages: [VehicleMessage] = []
    func send(_ message: VehicleMessage) { messages.append(message) }
    for kind in sensors.sorted() {
      pipeline.process(
        .status(
          SourceStatus(
            timestamp: Timestamp(nanoseconds: 0), source: kind.rawValue, kinds: [kind],
            state: .active(rates: [:]))),
        into: send)
    }
    let inertial = sensors.intersection([.accelerometer, .gyroscope, .magnetometer])
    // The device is turned 45° to the right: north is ahead to the left.
    let field = Vector3(-17, 17, -41.6)
    let seconds = Self.blow + 1.1
    var generator = SeededGenerator(seed: 7)
    for step in 0..<Int(seconds * rate) {
      let time = Timestamp(seconds: Double(step + 1) / rate)
      let isStruck = abs(time.seconds - Self.blow - 0.06) < 0.06
      var scan = InertialScan(timestamp: time)
      if inertial.contains(.accelerometer) {
        // An impact on the left pushes to the right.
        scan.specificForce = Vector3(isStruck ? 40 : 0, 0, 9.80665) + 0.01 * generator.nextNormalVector()
      }
      if inertial.contains(.gyroscope) { scan.rotationRate = 0.001 * generator.nextNormalVector() }
      if inertial.contains(.magnetometer) { scan.magneticField = field + 0.1 * generator.nextNormalVector() }
      if !scan.isEmpty { pipeline.process(.inertial([scan]), into: send) }
      if sensors.contains(.barometer), step % 10 == 0 {
        pipeline.process(.barometer([PressureData(timestamp: time, pressure: 101_325)]), into: send)
      }
      if sensors.contains(.positioning), (step + 1) % Int(rate) == 0 {
        var fix = PositionFix(
          timestamp: time, time: Self.start.advanced(bySeconds: Double(step) / rate), mode: .threeDimensional,
          coordinate: Coordinate(latitude: 48, longitude: 11))
        (fix.speed, fix.course, fix.horizontalError) = (0, 0, 8)
        pipeline.process(.position([fix]), into: send)
      }
      pipeline.advance(to: time, into: send)
    }
    return messages
  }

  @Test(arguments: [10.0, 100, 1000], subsets)
  func everySensorSetYieldsItsBestOutputs(rate: Double, sensors: Set<SensorKind>) throws {
    let expected = Expectation(sensors)
    let messages = try drive(sensors, rate: rate)
    var attitudes: [AttitudeMessage] = []
    var headings: [HeadingMessage] = []
    var impacts: [Impact.Side] = []
    var status: StatusMessage?
    for message in messages {
      switch message {
      case .attitude(let attitude): attitudes.append(attitude)
      case .heading(let heading): headings.append(heading)
      case .motion(let motion): if case .impact(let side, _, _) = motion.event { impacts.append(side) }
      case .status(let new): status = new
      default: break
      }
    }
    #expect(attitudes.isEmpty != expected.hasAttitudeMessage)
    #expect(attitudes.last?.frame == expected.frame)
    if expected.hasAttitudeMessage {
      // A gyroscope alone gives only the rotation rate. The time after the impact is excluded: a device without
      // a gyroscope mistakes the impact for a slope.
      let last = try #require(attitudes.last { $0.time < Self.start.advanced(bySeconds: Self.blow) })
      if sensors.contains(.accelerometer) {
        #expect(try #require(last.gravity).z < -0.99 && last.userAcceleration != nil)
      } else {
        #expect(try #require(last.rotationRate).length < 0.1 && last.attitude == nil)
      }
      #expect((last.degradation != nil) == !sensors.isSuperset(of: [.accelerometer, .gyroscope]))
      let json = try JSONValue(parsing: last.payload)
      let back = try AttitudeMessage(json: json)
      #expect((back.gravity != nil) == (last.gravity != nil))
      #expect((back.rotationRate != nil) == (last.rotationRate != nil))
    }
    #expect(headings.isEmpty != expected.hasHeading)
    if expected.hasHeading {
      let heading = try #require(
        headings.last { $0.time < Self.start.advanced(bySeconds: Self.blow) })
      #expect(abs(signedDegrees(from: heading.magneticHeading, to: 45)) < 3, "\(heading.magneticHeading)")
      #expect((heading.trueHeading != nil) == expected.hasTrueHeading)
    }
    #expect(impacts.isEmpty != expected.hasImpact)
    if expected.hasImpact { #expect(impacts.first == .left) }
    let last = try #require(status)
    #expect(Set(last.degradations.keys) == expected.degraded, "\(last.degradations)")
    let available = Set(last.services.filter { $0.value == "available" }.keys)
    // Exactly the available services are published.
    #expect(available.contains("attitude") == (attitudes.last?.attitude != nil))
    #expect(available.contains("gravity") == (attitudes.last?.gravity != nil))
    #expect(available.contains("rotationRate") == (attitudes.last?.rotationRate != nil))
    #expect(available.contains("magneticField") == (last.compass?.magneticField != nil))
    // A device that was never turned is not calibrated. Without a heading, calibration is not requested.
    #expect(
      (last.compass?.isCalibrationWanted ?? false) == expected.hasHeading,
      "\(String(describing: last.compass))")
    #expect(available.contains("heading") == expected.hasHeading)
    #expect(available.contains("trueHeading") == expected.hasTrueHeading)
    #expect(available.contains("impact") == expected.hasImpact)
    #expect(available.contains("location") == sensors.contains(.positioning))
    #expect(last.frames.contains { $0 == expected.frame?.rawValue } == (expected.frame != nil))
    for (service, reason) in last.services where reason != "available" {
      #expect(
        reason.contains(";") || reason.contains("no source has it"), "\(service): \(reason) has no remedy")
    }
  }

  /// Disabled attitudes explain missing gravity and rotation rate. With locations disabled, the reason does not
  /// mention a fix.
  @Test func disabledServicesNameTheirKeys() throws {
    let configuration = PipelineConfiguration(
      [
        { $0.attitude.isEnabled = false }, { $0.location.isEnabled = false },
        { $0.heading.isEnabled = true },
      ], isVirtual: false)
    let capabilities = MotionCapabilities(
      configuration, sensors: [.accelerometer, .gyroscope, .magnetometer], ServiceAvailability())
    for service in ["attitude", "gravity", "rotationRate"] {
      #expect(capabilities.services[service] == "switched off; set attitude.enabled = true")
    }
    let trueHeading = try #require(capabilities.services["trueHeading"] ?? nil)
    #expect(trueHeading.contains("location.enabled = true") && !trueHeading.contains("fix"))
    #expect(capabilities.services["heading"] == .some(nil))
  }

  /// Hardware that is slower than the interval is reported.
  @Test func intervalShorterThanTheSensorsAllowIsReported() throws {
    let configuration = PipelineConfiguration(
      [
        { $0.attitude.isEnabled = true }, { $0.attitude.interval = 0.01 },
        { $0.attitude.frame = .xArbitraryZVertical }, { $0.heading.interval = 1 },
      ], isVirtual: false)
    func degradations(_ rate: Double) -> [String: String] {
      MotionCapabilities(
        configuration, sensors: [.accelerometer, .gyroscope, .magnetometer], ServiceAvailability(),
        effectiveInterval: 1 / rate
      ).degradations
    }
    #expect(degradations(25)["attitude"]?.hasPrefix("effective interval 40.0 ms") == true)
    #expect(degradations(100).isEmpty && degradations(25).count == 1, "\(degradations(25))")
  }

  /// Exactly the requested outputs that are unavailable are listed.
  @Test func missingSensorNamesAffectedOutputs() throws {
    let configuration = PipelineConfiguration(
      [
        { $0.traces = .init() }, { $0.isRecording = true }, { $0.altitude.interval = 10 },
      ], isVirtual: false)
    func outputs(_ sensors: Set<SensorKind>) -> [String] {
      MotionCapabilities.limitations(configuration, sensors: sensors, ServiceAvailability()).map(\.output)
    }
    let none = MotionCapabilities.limitations(configuration, sensors: [], ServiceAvailability())
    for key in [
      "attitude", "heading", "impact", "navigation.enabled", "events.kinds", "trace.enabled",
      "recorder.enabled",
      "altitude.interval",
    ] {
      let found = none.first { $0.output.contains(key) }
      #expect(found?.isUnavailable == true && found?.reason.contains("attach") == true, "\(key): \(none)")
    }
    #expect(!none.contains { $0.output == "shake" }, "\(none)")
    // Limitations with the same cause are combined: no inertial sensor, and no barometer.
    let causes = none.combined(sensors: [])
    #expect(
      causes.count == 2
        && causes.map(\.output).joined(separator: ", ").split(separator: ",").count
          == none.map(\.output).joined(separator: ", ").split(separator: ",").count,
      "\(causes)")
    #expect(causes.map(\.reason) == ["no inertial sensor; attach one", "no barometer; attach one"])
    let still: Set<SensorKind> = [.magnetometer, .barometer]
    let without = MotionCapabilities.limitations(configuration, sensors: still, ServiceAvailability())
      .combined(sensors: still)
    #expect(Set(without.map(\.reason)).count == without.count && without.count < none.count, "\(without)")
    #expect(outputs(Set(Self.kinds)).isEmpty)
    #expect(
      outputs(Set(Self.kinds).subtracting([.barometer])) == ["altitude (altitude.interval)"],
      "\(outputs(Set(Self.kinds).subtracting([.barometer])))")

    // Without a source status, all sensors are missing. A pending first fix is no limitation.
    var pipeline = AgentPipeline(
      configuration: configuration, start: Timestamp(nanoseconds: 0), time: Self.start, version: "1")
    #expect(pipeline.limitations.contains { $0.output == "impact" && $0.isUnavailable })
    for kind in [SensorKind.accelerometer, .gyroscope, .magnetometer, .barometer] {
      pipeline.process(
        .status(
          SourceStatus(
            timestamp: Timestamp(nanoseconds: 0), source: kind.rawValue, kinds: [kind], state: .idle))
      ) { _ in }
    }
    #expect(pipeline.limitations.isEmpty, "\(pipeline.limitations)")
  }
}
