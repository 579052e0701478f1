import Platform
import Sensors
import SensorsIIO
import Spatial
import TestSupport
import Testing

@Suite struct AccelerometerRangesTests {
  static let demand = IIOConfiguration.RangeDemand(required: 3.5 * standardGravity)

  @Test(
    arguments: [
      // 16 bits, 2 to 16 g; with 32 g; with rounded scales, as of mpu6050; an offset is in the largest value.
      ("0.000598 0.001197 0.002394 0.004788", 32767.0, "0.004788"),
      ("0.009576 0.004788 0.002394", 32767, "0.004788"),
      ("0.000598 0.001196 0.002392 0.004785", 32767, "0.004785"),
      // 12 bits of lis3dh: 8 and 16 g are too coarse.
      ("0.009806 0.019613 0.039226 0.117678", 2047, "0.019613"),
      ("0.000598", 32767, "0.000598"),
      // Too coarse, unknown, or not a list.
      ("0.0392 0.0784", 127, nil), ("", 32767, nil), ("nan -1 0 x", 32767, nil),
      ("[0.000598 0.000001 0.004788]", 32767, nil),
    ] as [(String, Double, String?)])
  func choosesTheSmallestSufficientRange(text: String, largest: Double, expected: String?) {
    #expect(AccelerometerRanges(parsing: text, largest: largest).best(for: Self.demand)?.text == expected)
  }
}

/// The range of an accelerometer on the real libiio's local backend.
@Suite(.needs(.mounting)) struct IIORangeTests {
  struct Outcome: Sendable {
    var steps: [Bool] = []
    var statuses: [SourceStatus] = []
    var samples: [InertialScan] = []
    var scale = ""
    var problems: [String?] = []
  }

  private static let offered = "0.000598550 0.001197101 0.002394202 0.004788403"

  /// Captures five samples of 1000 raw steps along x.
  private static func capture(
    isBuffered: Bool = true, _ prepare: @escaping @Sendable (IIOFixture) throws -> Void
  ) async throws -> Outcome {
    try await IIOFixture.run { fixture -> Outcome in
      try IIOChips.addIMU(fixture)
      try prepare(fixture)
      var outcome = Outcome()
      var configuration = IIOConfiguration()
      configuration.accelerometerRange = AccelerometerRangesTests.demand
      func problem() throws -> String? {
        try IIOProbe.inventory(configuration).devices.first?.sensor(.accelerometer)?.rangeProblem
      }
      outcome.problems.append(try problem())
      let recorder = EventRecorder()
      let source = try IIOSource(configuration)
      source.setDemand(.rate(hertz: isBuffered ? 100 : 20, latency: .zero), for: .accelerometer)
      if isBuffered {
        let pipe = try fixture.openPipe(of: 0)
        try source.start { recorder.receive($0) }
        outcome.steps.append(fixture.wait(for: "buffer/enable", of: 0, toBe: "1"))
        for _ in 0..<5 {
          outcome.steps.append(
            pipe.push(IIOChips.accelerometerScan(1000, 0, 0, stamp: Timestamp.now.nanoseconds)))
        }
        outcome.steps.append(waitUntil { recorder.accelerometer.count == 5 })
      } else {
        fixture.removeNode(0)
        try source.start { recorder.receive($0) }
        outcome.steps.append(waitUntil { recorder.accelerometer.count > 2 })
      }
      source.setDemand(.off, for: .accelerometer)
      outcome.steps.append(waitUntil { recorder.statuses.last?.state == .idle })
      source.stop()
      outcome.scale = fixture.read("in_accel_scale", of: 0)
      (outcome.statuses, outcome.samples) = (recorder.statuses, recorder.accelerometer)
      outcome.problems.append(try problem())
      return outcome
    }
  }

  /// The chip's mount matrix turns x into -y.
  private static func force(_ outcome: Outcome) -> Double? { outcome.samples.first?.specificForce?.y }

  @Test(arguments: [true, false]) func theRangeIsSetAndUsed(isBuffered: Bool) async throws {
    let result = try await Self.capture(isBuffered: isBuffered) {
      try $0.write("in_accel_scale_available", of: 0, Self.offered)
      try $0.write("in_accel_scale", of: 0, "0.000598550")
    }
    #expect(result.steps.allSatisfy { $0 }, "\(result)")
    #expect(result.scale == "0.004788403" && result.problems == [nil, nil])
    // Raw values have an offset of 5.
    #expect(abs((Self.force(result) ?? 0) + 1005 * 0.004788403) < 1e-9)
    for status in result.statuses {
      #expect(abs((status.ranges[.accelerometer] ?? 0) - 32772 * 0.004788403) < 1e-6)
      #expect(status.restriction == nil)
    }
  }

  /// The range is as requested, so that nothing is written: a file that cannot be written does not matter.
  @Test func aSufficientRangeIsNotWritten() async throws {
    let result = try await Self.capture {
      try $0.write("in_accel_scale_available", of: 0, Self.offered)
      try $0.write("in_accel_scale", of: 0, "0.004788403")
      try $0.makeReadOnly("in_accel_scale", of: 0)
    }
    #expect(result.steps.allSatisfy { $0 } && result.problems == [nil, nil], "\(result)")
    #expect(result.statuses.allSatisfy { $0.restriction == nil })
  }

  @Test func aRefusedRangeIsReported() async throws {
    let result = try await Self.capture {
      try $0.write("in_accel_scale_available", of: 0, Self.offered)
      try $0.write("in_accel_scale", of: 0, "0.000598550")
      try $0.makeReadOnly("in_accel_scale", of: 0)
    }
    #expect(result.steps.allSatisfy { $0 }, "\(result)")
    #expect(abs((Self.force(result) ?? 0) + 1005 * 0.000598550) < 1e-9)
    let reason =
      "cannot set to 0.004788403 local: iio:device0 (testimu) accel_x scale: Read-only file system"
      + "; accelerations above 2 g are not measured, and impacts require 3.5 g"
    #expect(result.problems == [reason, reason])
    let active = result.statuses.filter { if case .active = $0.state { true } else { false } }
    #expect(active.map(\.restriction) == [reason])
    #expect(abs((active.first?.ranges[.accelerometer] ?? 0) - 32772 * 0.000598550) < 1e-6)
  }

  /// A chip without a choice: 2 g are insufficient, 4 g are not.
  @Test(arguments: [("0.000598550", false), ("0.001197101", true)])
  func aFixedRangeIsComparedWithTheThreshold(scale: String, isSufficient: Bool) async throws {
    let result = try await Self.capture { try $0.write("in_accel_scale", of: 0, scale) }
    #expect(result.steps.allSatisfy { $0 }, "\(result)")
    let reason =
      "cannot set the range of local: iio:device0 (testimu): its driver offers no larger one with this resolution"
      + "; use another accelerometer; accelerations above 2 g are not measured, and impacts require 3.5 g"
    #expect(result.problems == Array(repeating: isSufficient ? nil : reason, count: 2))
    let active = result.statuses.filter { if case .active = $0.state { true } else { false } }
    #expect(active.map(\.restriction) == [isSufficient ? nil : reason])
  }
}
