import Glibc
import Pipeline
import Positioning
import Sensors
import Simulation
import Spatial
import Telemetry
import TestSupport
import Testing

/// Speed of the CAN bus in navigation: a tunnel with and without it. Scans arrive in blocks as from IIO, after
/// the speeds of the same time.
@Suite struct WheelSpeedPipelineTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)
  private static let frame = LocalFrame(origin: SyntheticDrive.origin, altitude: SyntheticDrive.altitude)

  private enum Bus { case none, wheels, diagnostics }

  private func pipeline() throws -> AgentPipeline {
    let configuration = PipelineConfiguration([
      { $0.location.policy = .distance(nil) }, { $0.vehicle = .init() },
    ])
    return AgentPipeline(
      configuration: configuration, start: Timestamp(seconds: 100), time: Self.start, version: "1")
  }

  private func reading(_ sample: SyntheticDrive.Sample, _ bus: Bus) -> VehicleReading {
    let speed = sample.truth.speed * 3.6
    switch bus {
    case .none, .wheels:
      return VehicleReading(
        timestamp: sample.scan.timestamp, path: "Vehicle.Speed", value: .number(speed), resolution: 1.0 / 256)
    case .diagnostics:
      // Whole km/h, 3 % too high, 0.3 s late.
      return VehicleReading(
        timestamp: sample.scan.timestamp.advanced(bySeconds: 0.3), path: "Vehicle.Speed",
        value: .number((speed * 1.03).rounded(.down)), origin: .diagnostic, resolution: 1)
    }
  }

  /// Returns the error in m of the last location in a tunnel of two minutes.
  private func error(_ samples: [SyntheticDrive.Sample], _ bus: Bus) throws -> Double {
    var pipeline = try pipeline()
    var messages: [VehicleMessage] = []
    var block: [InertialScan] = []
    for (index, sample) in samples.enumerated() where sample.truth.time < 320 {
      let time = sample.truth.time
      if bus != .none, index % 5 == 0 {
        pipeline.process(.vehicle([reading(sample, bus)])) { messages.append($0) }
      }
      if var fix = sample.fix, time == time.rounded() {
        fix.time = Self.start.advanced(bySeconds: time)
        if time >= 200 { fix = PositionFix(timestamp: fix.timestamp, time: fix.time, mode: .noFix) }
        pipeline.process(.position([fix])) { messages.append($0) }
      }
      block.append(sample.scan)
      guard block.count == 25 else { continue }
      pipeline.process(.inertial(block)) { messages.append($0) }
      block = []
    }
    let last = messages.compactMap { if case .location(let message) = $0 { message } else { nil } }.last
    let message = try #require(last)
    #expect(message.location.positionSource == .inertial)
    let index = Int((message.time.seconds(since: Self.start) * 50).rounded())
    let truth = samples[min(max(0, index), samples.count - 1)].truth.position
    let offset = Self.frame.offset(of: message.location.coordinate)
    return hypot(offset.x - truth.x, offset.y - truth.y)
  }

  @Test func wheelSpeedImprovesTunnels() throws {
    var generator = SeededGenerator.announced()
    var (without, wheels, diagnostics) = (0.0, 0.0, 0.0)
    for _ in 0..<6 {
      let samples = SyntheticDrive(mounting: generator.nextRotation()).samples(&generator)
      without += try error(samples, .none) / 6
      wheels += try error(samples, .wheels) / 6
      diagnostics += try error(samples, .diagnostics) / 6
    }
    print("after 120 s: \(without) m without, \(wheels) m with wheels, \(diagnostics) m with OBD-II")
    // The scatter of single drives is as large as the gain. Late values in whole km/h improve little.
    #expect(wheels < without)
    #expect(diagnostics < 1.2 * without + 0.5)
  }
}
