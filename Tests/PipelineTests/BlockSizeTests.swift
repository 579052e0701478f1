import Foundation
import Motion
import Pipeline
import Positioning
import Sensors
import Simulation
import Spatial
import Telemetry
import TestSupport
import Testing
import Traces

/// The messages of the pipeline do not depend on the size of the blocks in which samples arrive.
@Suite struct BlockSizeTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)
  /// Samples in a block at 100 Hz: up to one second.
  private static let sizes = [2, 3, 7, 10, 25, 50, 100]

  private func pipeline(_ settings: [Setting], at start: Double = 0) throws -> AgentPipeline {
    let configuration = PipelineConfiguration([{ $0.location.policy = .distance(nil) }] + settings)
    return AgentPipeline(
      configuration: configuration, start: Timestamp(seconds: start), time: Self.start,
      version: "1")
  }

  /// Motion of a handheld device: oscillation about an axis, with pulses of acceleration.
  private struct RandomMotion {
    let axis: Vector3
    let (amplitude, frequency, phase): (Double, Double, Double)
    /// Start (s), length (s) and peak (g) of half-sine pulses.
    let pulses: [(start: Double, length: Double, peak: Vector3)]

    init(_ generator: inout SeededGenerator) {
      axis = generator.nextNormalVector().normalized ?? Vector3(1, 0, 0)
      amplitude = 2.5 * generator.nextUniform()
      frequency = 0.2 + 2 * generator.nextUniform()
      phase = 2 * .pi * generator.nextUniform()
      let line = generator.nextNormalVector().normalized ?? Vector3(0, 1, 0)
      var time = 0.4
      var pulses: [(start: Double, length: Double, peak: Vector3)] = []
      while time < 1.4 {
        let length = 0.02 + 0.15 * generator.nextUniform()
        let sign: Double = pulses.count.isMultiple(of: 2) ? 1 : -1
        pulses.append((time, length, sign * 6 * generator.nextUniform() * line))
        time += length * (1 + 2 * generator.nextUniform())
      }
      self.pulses = pulses
    }

    private init(axis: Vector3) {
      (self.axis, amplitude, frequency, phase, pulses) = (axis, 0, 1, 0, [])
    }

    /// A device at rest.
    static let none = RandomMotion(axis: Vector3(0, 0, 1))

    func scan(_ index: Int) -> InertialScan {
      let time = Double(index) / 100
      let turn = 2 * Double.pi * frequency
      let attitude = Quaternion(angle: amplitude * sin(turn * time + phase), axis: axis)
      var user = Vector3.zero
      for pulse in pulses where (pulse.start..<pulse.start + pulse.length).contains(time) {
        user += sin(.pi * (time - pulse.start) / pulse.length) * pulse.peak
      }
      return InertialScan(
        timestamp: Timestamp(seconds: 100 + time),
        specificForce: (attitude.conjugate.rotate(Vector3(0, 0, 1)) - user) * standardGravity,
        rotationRate: amplitude * turn * cos(turn * time + phase) * axis)
    }
  }

  /// Plays the scans in blocks, as one chip or as a separate device for each sensor.
  private func play(_ pipeline: inout AgentPipeline, _ scans: [InertialScan], block: Int, asDevices: Bool)
    -> [VehicleMessage]
  {
    var messages: [VehicleMessage] = []
    let kinds = [SensorKind.accelerometer, .gyroscope, .magnetometer].filter { kind in
      scans.contains { $0.contains(kind) }
    }
    if asDevices { Self.announce(kinds, to: &pipeline) }
    for first in stride(from: 0, to: scans.count, by: block) {
      let part = scans[first..<min(first + block, scans.count)]
      for block in asDevices ? kinds.map({ Self.samples(of: $0, in: part) }) : [Array(part)]
      where !block.isEmpty {
        pipeline.process(.inertial(block)) { messages.append($0) }
      }
    }
    return messages.filter { $0.kind == .motion || $0.kind == .attitude || $0.kind == .heading }
  }

  /// Reports each sensor as a separate device.
  private static func announce(_ kinds: [SensorKind], to pipeline: inout AgentPipeline) {
    for kind in kinds {
      pipeline.process(
        .status(
          SourceStatus(
            timestamp: Timestamp(seconds: 100), source: kind.rawValue, kinds: [kind],
            state: .active(rates: [kind: 100])))
      ) { _ in }
    }
  }

  private static func samples(of kind: SensorKind, in scans: ArraySlice<InertialScan>) -> [InertialScan] {
    scans.compactMap { scan in
      var scan = scan
      for other in SensorKind.inertial where other != kind { scan.remove(other) }
      return scan.isEmpty ? nil : scan
    }
  }

  /// Accelerometer, gyroscope and a slower magnetometer are three devices. The messages do not depend on the
  /// block size, even if the magnetometer delivers single samples.
  @Test(arguments: [1, 5, 10]) func separateMagnetometerYieldsEqualMessagesInBlocks(spacing: Int) throws {
    var generator = SeededGenerator.announced()
    let settings: [Setting] = [
      { $0.attitude.interval = 0.01 }, { $0.attitude.filter = 0 },
      { $0.attitude.frame = .xMagneticNorthZVertical },
      { $0.heading.interval = 0.1 }, { $0.heading.filter = 0 }, { $0.location.activity = .other },
      { $0.motion.events = [.shake] },
    ]
    let fresh = try pipeline(settings, at: 100)
    let field = Vector3(0, 20, -43)
    var scans = (0..<1500).map { RandomMotion.none.scan($0) }
    for index in scans.indices {
      let angle = 0.5 * sin(0.01 * Double(index))
      let attitude = Quaternion(angle: angle, axis: Vector3(0, 0, 1))
      scans[index].rotationRate = Vector3(0, 0, 0.5 * cos(0.01 * Double(index)))
      if index.isMultiple(of: spacing) {
        scans[index].magneticField = attitude.conjugate.rotate(field) + 0.3 * generator.nextNormalVector()
      }
    }
    var single = fresh
    let expected = play(&single, scans, block: 1, asDevices: true)
    #expect(expected.count { $0.kind == .heading } > 50 && expected.count { $0.kind == .attitude } > 500)
    for block in Self.sizes {
      var pipeline = fresh
      let messages = play(&pipeline, scans, block: block, asDevices: true)
      // Samples that still wait for the rest of a block at the end are missing.
      let count = min(expected.count, messages.count)
      #expect(count > expected.count - 2 * block)
      let first = zip(expected, messages).first { $0 != $1 }
      #expect(first == nil, "blocks of \(block): \(String(describing: first))")
    }
  }

  /// The trace of an impact, and its direction in vehicle axes.
  @Test(arguments: [false, true]) func impactYieldsEqualTraceInBlocks(asDevices: Bool) throws {
    func trace(_ block: Int) throws -> (messages: [TraceMessage], samples: Set<TraceSample>) {
      var generator = SeededGenerator(seed: 8)
      var samples = SyntheticDrive(mounting: generator.nextRotation()).samples(&generator)
      var pipeline = try pipeline(
        [{ $0.traces = .init() }, { $0.traces?.before = 5 }, { $0.traces?.after = 5 }], at: 100)
      if asDevices { Self.announce([.accelerometer, .gyroscope], to: &pipeline) }
      // A crash of 10 g for 0.1 s, after the mounting was estimated.
      for index in samples.indices where (150..<150.1).contains(samples[index].truth.time) {
        samples[index].scan.specificForce? += Vector3(98, 0, 0)
      }
      samples.removeAll { $0.truth.time > 165 }
      var steps: [TraceStep] = []
      for first in stride(from: 0, to: samples.count, by: block) {
        let part = samples[first..<min(first + block, samples.count)]
        for sample in part {
          guard var fix = sample.fix, sample.truth.time == sample.truth.time.rounded() else { continue }
          fix.time = Self.start.advanced(bySeconds: sample.truth.time)
          pipeline.process(.position([fix])) { _ in }
        }
        let scans = part.map(\.scan)[...]
        for block in asDevices
          ? [SensorKind.accelerometer, .gyroscope].map({ Self.samples(of: $0, in: scans) }) : [Array(scans)]
        {
          pipeline.process(.inertial(block)) { _ in }
        }
        steps += pipeline.drainTraceSteps()
      }
      pipeline.finishTraces()
      steps += pipeline.drainTraceSteps()
      var (messages, blocks) = ([TraceMessage](), [[UInt8]]())
      for step in steps {
        switch step {
        case .begin(_, let message, _, let new): (messages, blocks) = (messages + [message], blocks + new)
        case .append(_, let new): blocks += new
        case .tell(_, let message), .end(_, let message, _): messages.append(message)
        default: break
        }
      }
      let span = Timestamp(seconds: 245.5)...Timestamp(seconds: 254.5)
      let all = blocks.flatMap { TraceBlock(bytes: $0)?.samples ?? [] }
      // Fixes arrive before the block of their time, so the position of rest depends on the block size: it is
      // that of the newest fix.
      for index in messages.indices {
        let rest = messages[index].impact?.rest
        messages[index].withholdPositions { $0 == rest }
      }
      return (
        messages,
        Set(all.filter { if case .fix = $0 { false } else { span.contains($0.timestamp) } })
      )
    }
    let expected = try trace(1)
    #expect(expected.messages.first?.impact?.isInVehicleFrame == true)
    #expect(expected.samples.count > 500)
    for block in [7, 50, 100] {
      let actual = try trace(block)
      #expect(actual.messages == expected.messages, "blocks of \(block)")
      #expect(actual.samples == expected.samples, "blocks of \(block)")
    }
  }

  private static let everything: [Setting] = [
    { $0.motion.events = [.shake, .impact, .orientation, .activity] },
    { $0.motion.shake.threshold = 1 },
    { $0.motion.impact.threshold = 1.5 }, { $0.motion.orientation.settlingTime = 0.1 },
    { $0.attitude.isEnabled = true },
    { $0.attitude.interval = 0.01 }, { $0.attitude.filter = 0 },
    { $0.attitude.frame = .xArbitraryZVertical },
    { $0.heading.isEnabled = false },
  ]

  @Test func randomMotionsYieldEqualMessagesForAnyBlockSize() throws {
    var generator = SeededGenerator.announced()
    let fresh = try pipeline(Self.everything, at: 100)
    var (events, attitudes, different) = ([String: Int](), 0, 0)
    for number in 0..<1000 {
      let motion = RandomMotion(&generator)
      let scans = (0..<150).map(motion.scan)
      let block = Self.sizes[number % Self.sizes.count]
      let isSplit = number.isMultiple(of: 2)
      var (single, blocks) = (fresh, fresh)
      let expected = play(&single, scans, block: 1, asDevices: isSplit)
      let messages = play(&blocks, scans, block: block, asDevices: isSplit)
      if expected != messages {
        different += 1
        if different <= 5 {
          let first = zip(expected, messages).first { $0 != $1 }
          Issue.record(
            "motion \(number), blocks of \(block), split \(isSplit): \(expected.count) and \(messages.count) messages; \(String(describing: first))"
          )
        }
      }
      for message in messages {
        switch message {
        case .motion(let message):
          events["\(message.event)".prefix { $0 != "(" }.description, default: 0] += 1
        default: attitudes += 1
        }
      }
    }
    print("\(events), \(attitudes) attitudes; \(different) motions differ")
    #expect(different == 0)
    // Checks that enough messages were compared.
    #expect(
      (events["shake"] ?? 0) > 100 && (events["impact"] ?? 0) > 100 && (events["orientation"] ?? 0) > 100)
    #expect(attitudes > 100_000)
  }

  /// Oscillation of ±80° at 0.9 Hz, in blocks of 0.5 s.
  @Test(arguments: [1, 50]) func rotationIsNoShake(block: Int) throws {
    var pipeline = try pipeline(
      [
        { $0.motion.events = [.shake, .impact] }, { $0.motion.impact.threshold = 1 },
        { $0.heading.isEnabled = false },
        { $0.attitude.isEnabled = false },
      ], at: 100)
    let turn = 2 * Double.pi * 0.9
    let scans = (0..<2000).map { index in
      let time = Double(index) / 100
      let angle = 80.0.radians * sin(turn * time)
      return InertialScan(
        timestamp: Timestamp(seconds: 100 + time),
        specificForce: Quaternion(angle: angle, axis: Vector3(1, 0, 0)).conjugate.rotate(
          Vector3(0, 0, standardGravity)),
        rotationRate: Vector3(80.0.radians * turn * cos(turn * time), 0, 0))
    }
    #expect(play(&pipeline, scans, block: block, asDevices: false).isEmpty)
  }

  /// Half a turn within 0.5 s.
  @Test(arguments: [1, 50]) func halfTurnIsNoImpact(block: Int) throws {
    var pipeline = try pipeline(
      [
        { $0.motion.events = [.shake, .impact] }, { $0.motion.impact.threshold = 1 },
        { $0.heading.isEnabled = false },
        { $0.attitude.isEnabled = false },
      ], at: 100)
    let scans = (0..<600).map { index in
      let time = Double(index) / 100
      let angle = min(1, max(0, (time - 3.2) / 0.5)) * .pi
      let isTurning = (3.2..<3.7).contains(time)
      return InertialScan(
        timestamp: Timestamp(seconds: 100 + time),
        specificForce: Quaternion(angle: angle, axis: Vector3(0, 1, 0)).conjugate.rotate(
          Vector3(0, 0, standardGravity)),
        rotationRate: Vector3(0, isTurning ? .pi / 0.5 : 0, 0))
    }
    #expect(play(&pipeline, scans, block: block, asDevices: false).isEmpty)
  }

  /// Each sample of a block yields a message with its own time, at any interval that the sensors allow.
  @Test(arguments: [(10, 0.01, 100), (50, 0.01, 100), (10, 0.02, 50), (50, 0.1, 10), (1, 0.01, 100)])
  func attitudeIntervalIsIndependentOfBlocks(block: Int, interval: Double, perSecond: Int) throws {
    var pipeline = try pipeline(
      [
        { $0.attitude.interval = interval }, { $0.attitude.filter = 0 },
        { $0.attitude.frame = .xArbitraryZVertical },
        { $0.heading.isEnabled = false }, { $0.motion.events = [] },
      ], at: 100)
    var generator = SeededGenerator.announced()
    let scans = (0..<500).map { index in
      InertialScan(
        // Jitter of up to 0.25 ms.
        timestamp: Timestamp(seconds: 100 + (Double(index) + 0.05 * (generator.nextUniform() - 0.5)) / 100),
        specificForce: Vector3(0, 0, standardGravity) + 0.01 * generator.nextNormalVector(),
        rotationRate: 0.001 * generator.nextNormalVector())
    }
    let messages = play(&pipeline, scans, block: block, asDevices: false)
    let times = messages.compactMap { if case .attitude(let message) = $0 { message.time } else { nil } }
    let inAll = times.filter { $0.seconds(since: Self.start) >= 1 }
    #expect(abs(inAll.count - 4 * perSecond) <= 1, "\(inAll.count)")
    #expect(zip(times, times.dropFirst()).allSatisfy { abs($1.seconds(since: $0) - interval) < 0.001 })
  }

  /// Messages of a drive through a tunnel, except `status`, which depends only on time.
  @Test(arguments: [5, 25, 50]) func driveYieldsEqualMessagesForAnyBlockSize(block: Int) throws {
    func messages(_ block: Int) throws -> [MessageKind: [VehicleMessage]] {
      var generator = SeededGenerator(seed: 8)
      let samples = SyntheticDrive(mounting: generator.nextRotation()).samples(&generator)
      var pipeline = try pipeline(
        [
          { $0.attitude.interval = 0.02 }, { $0.attitude.filter = 0 },
          { $0.heading.interval = 0.1 }, { $0.heading.filter = 0 },
          { $0.motion.events = [.shake, .impact, .orientation, .activity] },
        ], at: 100)
      var messages: [VehicleMessage] = []
      for first in stride(from: 0, to: samples.count, by: block) {
        let part = samples[first..<min(first + block, samples.count)]
        // Receiver reports within a block arrive before the block.
        for sample in part {
          guard var fix = sample.fix, sample.truth.time == sample.truth.time.rounded() else { continue }
          fix.time = Self.start.advanced(bySeconds: sample.truth.time)
          if (200..<240).contains(sample.truth.time) {
            fix = PositionFix(timestamp: fix.timestamp, time: fix.time, mode: .noFix)
          }
          pipeline.process(.position([fix])) { messages.append($0) }
        }
        pipeline.process(.inertial(part.map(\.scan))) { messages.append($0) }
      }
      return Dictionary(grouping: messages) { $0.kind ?? .status }
    }
    let (expected, actual) = (try messages(1), try messages(block))
    for kind in Set(expected.keys).union(actual.keys) where kind != .status {
      let (a, b) = (expected[kind] ?? [], actual[kind] ?? [])
      let same = zip(a, b).count { $0 == $1 }
      print("blocks of \(block): \(kind): \(a.count) and \(b.count) messages, \(same) equal in order")
      if a != b, let first = zip(a, b).first(where: { $0 != $1 }) { print("  first: \(first)") }
      #expect(a == b, "\(kind)")
    }
  }
}
