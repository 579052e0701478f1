import Foundation
import Positioning
import Sensors
import Simulation
import Spatial
import Telemetry
import TestSupport
import Testing

@testable import AgentCore
@testable import Pipeline

/// What navigation spares the receiver: drives over sensors that do what is demanded of them, with and without it.
@Suite struct CarriedPowerTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)

  /// A drive with a receiver that obeys demands: what was told, how long the receiver was on, and at what cost.
  private struct Run {
    var told: [LocationMessage] = []
    var tracks = 0
    var receiverSeconds = 0.0
    var joules = 0.0
    var wakings = 0
  }

  /// - Parameter search: s from waking to the first fix.
  private func run(
    _ samples: [SyntheticDrive.Sample], search: Double = 2, _ settings: [String]
  ) throws -> Run {
    let configuration = try AgentConfiguration(
      layers: [
        ConfigurationLayer(
          assignments: [
            "vehicle.id=v", "input.mode=simulation", "heading.enabled=false",
            "attitude.enabled=false",
          ] + settings)
      ], file: nil)
    var pipeline = AgentPipeline(
      configuration: configuration.pipeline, start: Timestamp(seconds: 100), time: Self.start, version: "1")
    var run = Run()
    var onSince: Timestamp?
    func take(_ message: VehicleMessage) {
      if case .location(let location) = message { run.told.append(location) }
      if case .track = message { run.tracks += 1 }
    }
    for sample in samples {
      let now = sample.scan.timestamp
      while let deadline = pipeline.nextDeadline, deadline < now { pipeline.advance(to: deadline, into: take) }
      let isOn = pipeline.demands[.positioning]?.isOn ?? false
      if isOn, onSince == nil { run.wakings += 1 }
      onSince = isOn ? onSince ?? now : nil
      if isOn { run.receiverSeconds += 0.02 }
      let time = sample.truth.time
      if var fix = sample.fix, time == time.rounded(), let onSince, now.seconds(since: onSince) >= search {
        fix.time = Self.start.advanced(bySeconds: time)
        pipeline.process(.position([fix]), into: take)
      }
      pipeline.process(.inertial([sample.scan]), into: take)
    }
    let end = samples[samples.count - 1].scan.timestamp
    run.joules = pipeline.energy(at: end).values.reduce(0) { $0 + $1.joules }
    return run
  }

  private func error(_ message: LocationMessage, _ samples: [SyntheticDrive.Sample]) -> Double {
    let frame = LocalFrame(origin: SyntheticDrive.origin, altitude: SyntheticDrive.altitude)
    let index = Int((message.time.seconds(since: Self.start) * 50).rounded())
    let truth = samples[min(max(0, index), samples.count - 1)].truth.position
    let offset = frame.offset(of: message.location.coordinate)
    return hypot(offset.x - truth.x, offset.y - truth.y)
  }

  /// With room for an error the receiver sleeps while navigation carries the position on; what is told stays as exact as was asked
  /// for, says what it comes from, and is not told again afterwards.
  @Test(arguments: [("nearestTenMeters", 10.0), ("hundredMeters", 100.0)])
  func theReceiverSleepsOnTheWay(_ accuracy: String, _ meters: Double) throws {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive(length: 420, mounting: generator.nextRotation()).samples(&generator)
    let settings = [
      "location.desired_accuracy=\(accuracy)", "location.reporting=distance", "location.distance_filter=20",
    ]
    let with = try run(samples, settings)
    let without = try run(samples, settings + ["navigation.enabled=false"])
    print(
      "\(accuracy): receiver \(without.receiverSeconds) s → \(with.receiverSeconds) s,",
      "\(without.joules) J → \(with.joules) J, \(with.wakings) wakings, \(with.told.count) told")
    #expect(with.receiverSeconds < 0.7 * without.receiverSeconds)
    #expect(with.joules < without.joules)
    #expect(with.tracks == 0)
    #expect(with.told.contains { $0.location.positionSource == .inertial })
    #expect(Double(with.told.count) > 0.8 * Double(without.told.count))
    let errors = with.told.map { error($0, samples) }.sorted()
    #expect(errors[errors.count * 19 / 20] < meters, "\(errors[errors.count * 19 / 20]) m")
    let isHonest = with.told.filter { error($0, samples) <= 2.5 * ($0.location.horizontalAccuracy ?? 0) }
    #expect(isHonest.count * 10 >= with.told.count * 9, "\(isHonest.count) of \(with.told.count)")
  }

  /// A promised bound is watched over by navigation as well as by the receiver.
  @Test(arguments: [20]) func aBoundIsKeptWhileTheReceiverSleeps(_ bound: Int) throws {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive(length: 420, mounting: generator.nextRotation()).samples(&generator)
    let settings = [
      "location.reporting=bounded", "location.error_bound=\(bound)", "location.delay_bound=2",
      "location.desired_accuracy=hundredMeters",
    ]
    let with = try run(samples, settings)
    let without = try run(samples, settings + ["navigation.enabled=false"])
    print(
      "bound \(bound): receiver \(without.receiverSeconds) s → \(with.receiverSeconds) s,",
      "\(without.joules) J → \(with.joules) J")
    #expect(with.receiverSeconds < 0.9 * without.receiverSeconds)
    var follower = ReportFollower()
    var (next, promised, broken) = (0, 0, 0)
    for second in 60..<417 {
      while next < with.told.count, with.told[next].time.seconds(since: Self.start) <= Double(second) + 2 {
        if let report = with.told[next].predictor { follower.receive(report) }
        next += 1
      }
      let moment = Timestamp(nanoseconds: Self.start.advanced(bySeconds: Double(second)).nanoseconds)
      guard let position = follower.position(now: moment.advanced(bySeconds: 2)), position.isPromised else {
        continue
      }
      promised += 1
      let frame = LocalFrame(origin: SyntheticDrive.origin, altitude: SyntheticDrive.altitude)
      let offset = frame.offset(of: position.coordinate)
      let truth = samples[second * 50].truth.position
      if hypot(offset.x - truth.x, offset.y - truth.y) > position.bound + 5 { broken += 1 }
    }
    #expect(promised > 200, "\(promised) s")
    // A 95 % radius is a promise of so much.
    #expect(broken * 20 <= promised, "\(broken) of \(promised)")
  }
}
