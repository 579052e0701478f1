import AgentCore
import Logging
import TestSupport
import Testing

/// The findings of `check` about accelerometers and mountings, on the real libiio's local backend.
@Suite(.needs(.mounting)) struct SensorCheckTests {
  private static let entry = "= 1, 0, 0; 0, -1, 0; 0, 0, -1"

  private func findings(
    scale: String, _ settings: String..., logged log: Logger? = nil
  ) async throws -> [String] {
    try await IIOFixture.run { fixture -> [String] in
      try IIOChips.addIMU(fixture)
      try fixture.write("in_accel_scale", of: 0, scale)
      let configuration = try AgentConfiguration(
        settings: ["vehicle.id=v", "gpsd.enabled=false"] + settings)
      if let log { MountingCheck(configuration.iio).report(to: log) }
      return EnvironmentCheck(configuration).sources().filter { $0.severity != .ok }.map(\.line)
    }
  }

  @Test func aSmallRangeIsReported() async throws {
    let lines = try await findings(scale: "0.000598550")
    #expect(
      lines.contains {
        $0.contains("accelerations above 2 g are not measured, and impacts require 3.5 g; see")
      }, "\(lines)")
    let others = try await findings(scale: "0.001197101")
    #expect(!others.contains { $0.contains("accelerations") }, "\(others)")
  }

  @Test func aMountingOfAnUnknownDeviceIsReported() async throws {
    let recorder = LogRecorder()
    let log = Logger(label: "test") { _ in RecordingLogHandler(recorder) }
    let matrices = "iio.mount_matrix=[\"testimu \(Self.entry)\", \"testimo \(Self.entry)\"]"
    let lines = try await findings(scale: "0.001197101", matrices, logged: log)
    let problem = "no device testimo among iio:device0 (testimu)"
    #expect(
      lines.filter { $0.contains("mount_matrix") } == [
        "warning  iio.mount_matrix: \(problem); use the name, label or id of a device (odographd sensors)"
      ], "\(lines)")
    #expect(recorder.lines.filter { $0.contains(problem) }.count == 1, "\(recorder.lines)")
    // A context that does not answer may have the device.
    let unreachable = try await findings(
      scale: "0.001197101", matrices, "iio.contexts=[\"local:\", \"ip:127.0.0.1:1\"]")
    #expect(!unreachable.contains { $0.contains("no device") }, "\(unreachable)")
  }
}
