import Motion
import Sensors
import Spatial
import Testing

@Suite struct ConsumerTests {
  private func status(_ state: SourceStatus.State) -> SourceStatus {
    SourceStatus(
      timestamp: Timestamp(nanoseconds: 0), source: "iio", kinds: [.accelerometer, .gyroscope], state: state)
  }

  @Test func unusedSensorIsOff() {
    var manager = MotionManager(frame: .xArbitraryZVertical)
    #expect(manager.demands.values.allSatisfy { !$0.isOn })
    let first = manager.startUpdates(MotionRequest(.accelerometer, interval: 0.02, latency: 1))
    let second = manager.startUpdates(MotionRequest(.accelerometer, interval: 0.1, latency: 0.2))
    #expect(manager.demands[.accelerometer] == .rate(hertz: 50, latency: .seconds(0.2)))
    #expect(manager.demands[.gyroscope] == .off && !manager.isGyroActive)
    manager.stopUpdates(for: first)
    #expect(manager.demands[.accelerometer] == .rate(hertz: 10, latency: .seconds(0.2)))
    manager.stopUpdates(for: first)
    #expect(manager.isAccelerometerActive)
    manager.stopUpdates(for: second)
    #expect(!manager.isAccelerometerActive)
  }

  @Test(arguments: [
    (AttitudeReferenceFrame.xArbitraryZVertical, false), (.xArbitraryCorrectedZVertical, true),
    (.xMagneticNorthZVertical, true), (.xTrueNorthZVertical, true),
  ])
  func deviceMotionDemandsTheSensorsOfItsFrame(frame: AttitudeReferenceFrame, magnetometer: Bool) {
    var manager = MotionManager(frame: frame)
    _ = manager.startUpdates(MotionRequest(.deviceMotion, interval: 1))
    #expect(manager.demands[.gyroscope] == .rate(hertz: 100, latency: .seconds(0.1)))
    #expect(manager.isActive(.magnetometer) == magnetometer)
    #expect(manager.isDeviceMotionActive)
  }

  @Test func intervalsAreClampedToTheHardware() {
    var manager = MotionManager(frame: .xArbitraryZVertical)
    let quick = manager.startUpdates(MotionRequest(.accelerometer, interval: 0.001))
    let slow = manager.startUpdates(MotionRequest(.accelerometer, interval: 0.5))
    #expect(manager.effectiveInterval(for: quick) == nil)
    #expect(!manager.isAccelerometerAvailable)
    manager.observe(status(.active(rates: [.accelerometer: 100, .gyroscope: .nan])))
    #expect(manager.isAccelerometerAvailable && manager.isDeviceMotionAvailable)
    #expect(!manager.isMagnetometerAvailable)
    #expect(manager.effectiveInterval(for: quick) == 0.01)
    #expect(manager.effectiveInterval(for: slow) == 0.5)
    #expect(manager.effectiveInterval(of: .gyroscope) == nil)
    manager.observe(status(.unavailable(reason: "unplugged")))
    #expect(!manager.isAccelerometerAvailable && manager.effectiveInterval(for: quick) == nil)
  }

  private static let capabilityTable: [(Set<SensorKind>, Set<SensorKind>, [String])] = [
    ([.accelerometer, .gyroscope], [.accelerometer], ["gyroscope"]),
    ([.positioning], [.positioning, .accelerometer], []),
    ([.magnetometer, .barometer], [], ["barometer", "magnetometer"]),
  ]

  @Test(arguments: capabilityTable)
  func requiredCapabilities(required: Set<SensorKind>, present: Set<SensorKind>, missing: [String]) {
    let check = CapabilityCheck(required: required, present: present)
    #expect(check.missing.map(\.rawValue) == missing)
    #expect(check.isSatisfied == missing.isEmpty)
    for name in missing { #expect(check.complaint?.contains(name) ?? false) }
  }

  @Test func unavailableAndDegradedOutputsAreListed() {
    func outputs(_ present: Set<SensorKind>) -> (unavailable: Set<MotionOutput>, degraded: Set<MotionOutput>)
    {
      let limitations = CapabilityCheck(required: [], present: present).limitations
      func which(_ isSelected: (MotionLimitation) -> Bool) -> Set<MotionOutput> {
        Set(limitations.filter { isSelected($0.value) }.keys)
      }
      return (
        which { if case .unavailable = $0 { true } else { false } },
        which { if case .degraded = $0 { true } else { false } }
      )
    }
    let poor = outputs([.accelerometer, .positioning])
    #expect(poor.unavailable == [.attitude, .magneticField, .magneticHeading, .rotationRate, .trueHeading])
    #expect(poor.degraded == [.gravity, .userAcceleration])
    let compass = outputs([.accelerometer, .magnetometer, .positioning])
    #expect(compass.unavailable == [.rotationRate])
    #expect(compass.degraded == [.gravity, .userAcceleration, .attitude, .magneticHeading, .trueHeading])
    #expect(outputs([.accelerometer, .gyroscope, .positioning]).degraded == [.attitude])
    #expect(CapabilityCheck(required: [], present: Set(SensorKind.allCases)).limitations.isEmpty)
  }
}
