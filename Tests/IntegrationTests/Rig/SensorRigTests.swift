import Foundation
import Sensors
import SensorsIIO
import Spatial
import TestSupport
import Testing

/// Real kernel IIO devices in the sensor rig: the source alone, and the complete agent.
@Suite(.serialized, .needs(.sensorRig)) struct SensorRigTests {
  /// A single guest for all tests, because it needs seconds to boot; it stops with this process.
  static let shared = Result { try RigFixture() }

  /// Returns the guest with its sensors at rest and reporting.
  static func rig() throws -> RigFixture {
    let rig = try shared.get()
    try rig.command("idle on")
    return rig
  }

  @Test(.timeLimit(.minutes(4))) func samplesHaveHardwareTimeAndPowerGoesOff() async throws {
    let rig = try Self.rig()
    let seconds = Shared.isFullRun ? 30 : 8
    let ramp = RampRecording(rows: seconds * 100)
    let recorder = EventRecorder()
    let source = try IIOSource(IIOConfiguration(uri: rig.uri))
    let kinds: [SensorKind] = [.accelerometer, .gyroscope, .magnetometer]
    for kind in kinds { source.setDemand(.rate(hertz: 100, latency: .milliseconds(100)), for: kind) }
    try source.start { recorder.receive($0) }
    defer { source.stop() }
    // Samples at rest, until the clock difference to the guest is known.
    try await eventually {
      [recorder.accelerometer, recorder.gyroscope, recorder.magnetometer].allSatisfy { samples in
        let latest = samples.suffix(100).map(\.timestamp)
        return latest.count == 100 && latest[99].nanoseconds - latest[0].nanoseconds == 990_000_000
      }
    }
    try rig.play(ramp.csv)
    // Samples at rest fill the last block.
    try await eventually { try !rig.isPlaying }
    let counts = [recorder.accelerometer.count, recorder.gyroscope.count, recorder.magnetometer.count]
    try await eventually {
      zip([recorder.accelerometer.count, recorder.gyroscope.count, recorder.magnetometer.count], counts)
        .allSatisfy { $0 > $1 + 20 }
    }
    source.stop()
    try await eventually { try rig.power.values.allSatisfy { $0 == "off" } }

    ramp.expect(
      recorder.accelerometer.map { .init(time: $0.timestamp, value: $0.specificForce ?? .zero) },
      RampRecording.force)
    ramp.expect(
      recorder.gyroscope.map { .init(time: $0.timestamp, value: $0.rotationRate ?? .zero) },
      RampRecording.rotation)
    ramp.expect(
      recorder.magnetometer.map { .init(time: $0.timestamp, value: $0.magneticField ?? .zero) },
      RampRecording.field)
    let rates = recorder.statuses.compactMap { status -> [SensorKind: Double]? in
      if case .active(let rates) = status.state { rates } else { nil }
    }
    #expect(
      rates.count == 3 && rates.allSatisfy { $0.values.allSatisfy { $0 == 100 } }, "\(recorder.statuses)")
    try expectPowerCycle(rig)
  }
}

/// Expects that the kernel powered each sensor to sample at 100 Hz and finally switched it off.
func expectPowerCycle(_ rig: RigFixture) throws {
  let log = try rig.powerLog
  for sensor in ["accel", "gyro", "magn"] {
    let lines = log.filter { $0.contains(" \(sensor) ") }
    #expect(lines.contains { $0.contains("power=full interval=10 reporting=all") }, "\(sensor): \(lines)")
    #expect(lines.last?.contains("power=off") == true, "\(sensor): \(lines)")
  }
}
