import Foundation
import Sensors
import SensorsIIO
import Spatial
import TestSupport
import Testing

/// Real kernel IIO devices in the sensor rig: the source on its own, and the agent as a user runs it.
@Suite(.serialized, .needs(.sensorRig)) struct SensorRigTests {
  /// One machine for all, because it takes seconds to boot; it watches this process and ends with it.
  static let shared = Result { try RigFixture() }

  /// The machine as after its start, with its sensors at rest and reporting.
  static func rig() throws -> RigFixture {
    let rig = try shared.get()
    try rig.command("idle on")
    return rig
  }

  @Test(.timeLimit(.minutes(4))) func everySampleWithTheHardwaresTimeAndThenPowerOff() async throws {
    let rig = try Self.rig()
    let seconds = Shared.isFullRun ? 30 : 8
    let ramp = RampRecording(rows: seconds * 100)
    let recorder = EventRecorder()
    let source = try IIOSource(IIOConfiguration(uri: rig.uri))
    let kinds: [SensorKind] = [.accelerometer, .gyroscope, .magnetometer]
    for kind in kinds { source.setDemand(.rate(hertz: 100, latency: .milliseconds(100)), for: kind) }
    try source.start { recorder.receive($0) }
    defer { source.stop() }
    // Samples at rest come first, until the difference to the other machine's clock is known.
    try await eventually {
      [recorder.accelerometer, recorder.gyroscope, recorder.magnetometer].allSatisfy { samples in
        let latest = samples.suffix(100).map(\.timestamp)
        return latest.count == 100 && latest[99].nanoseconds - latest[0].nanoseconds == 990_000_000
      }
    }
    try rig.play(ramp.csv)
    // At rest again, the last block fills.
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

/// The kernel gave each sensor power to sample at 100 Hz, and in the end took it away.
func expectPowerCycle(_ rig: RigFixture) throws {
  let log = try rig.powerLog
  for sensor in ["accel", "gyro", "magn"] {
    let lines = log.filter { $0.contains(" \(sensor) ") }
    #expect(lines.contains { $0.contains("power=full interval=10 reporting=all") }, "\(sensor): \(lines)")
    #expect(lines.last?.contains("power=off") == true, "\(sensor): \(lines)")
  }
}
