import Bytes
import Compression
import Foundation
import Logging
import Sensors
import Simulation
import Spatial
import Telemetry
import TestSupport
import Testing
import Traces

@testable import AgentCore
@testable import Pipeline

/// Traces from the sensors to what the broker is told, through kills and losses of power.
@Suite struct TraceStoreTests {
  private static let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)
  /// Seconds of the first scan and of the last, and of the blow.
  private static let (first, last, blow) = (40.0, 95.0, 60.0)
  private static let rate = 100.0

  /// A drive at 15 m/s that a wall takes 10 m/s of within 0.1 s; a block of scans comes each tenth of a second, a fix each second.
  private static func drive(seed: UInt64) -> [(at: Double, event: SensorEvent)] {
    var random = SeededGenerator(seed: seed)
    let step = standardGravity / 2048
    func quantized(_ value: Double) -> Double {
      ((value + 0.02 * random.nextNormal()) / step).rounded() * step
    }
    var events: [(Double, SensorEvent)] = []
    var (scans, way): ([InertialScan], Double) = ([], 0)
    for number in 0...Int((last - first) * rate) {
      let time = first + Double(number) / rate
      let isBlow = time >= blow && time < blow + 0.1
      let force = Vector3(quantized(0), quantized(isBlow ? -100 : 0), quantized(standardGravity))
      let turn = Vector3(
        0.001 * random.nextNormal(), 0.001 * random.nextNormal(), 0.001 * random.nextNormal())
      scans.append(
        InertialScan(
          timestamp: Timestamp(nanoseconds: Int64((time * 1000).rounded()) * 1_000_000), specificForce: force,
          rotationRate: turn))
      if scans.count == 10 {
        events.append((time, .inertial(scans)))
        scans = []
      }
      guard number % Int(rate) == 50 else { continue }
      let speed = time < blow ? 15.0 : 5
      way += speed
      var fix = PositionFix(
        timestamp: Timestamp(seconds: time), time: start.advanced(bySeconds: time), mode: .threeDimensional,
        coordinate: Coordinate(latitude: 48, longitude: 11).destination(distance: way, bearing: 0))
      (fix.speed, fix.course, fix.horizontalError) = (speed, 0, 2)
      events.append((time, .position([fix])))
    }
    return events
  }

  /// What the pipeline decides about traces, each with its time.
  private static func steps(_ events: [(at: Double, event: SensorEvent)], _ settings: [String] = []) throws
    -> [(at: Double, steps: [TraceStep])]
  {
    let configuration = try AgentConfiguration(
      layers: [
        ConfigurationLayer(
          assignments: ["vehicle.id=v", "input.mode=simulation", "trace.enabled=true"] + settings)
      ],
      file: nil)
    var pipeline = AgentPipeline(
      configuration: configuration.pipeline, start: Timestamp(seconds: first),
      time: start.advanced(bySeconds: first), version: "1")
    return events.map { at, event in
      pipeline.process(event) { _ in }
      return (at, pipeline.drainTraceSteps())
    }
  }

  private func withFolder(_ body: (String) throws -> Void) throws {
    let folder = "/dev/shm/odograph-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try body(folder)
  }

  private func store(_ folder: String, count: Int = 8, bytes: Int = 4 << 20) -> TraceStore {
    TraceStore(.init(path: folder, count: count, bytes: bytes), log: Self.log)
  }

  /// The messages of all traces, the newest of each, and its bytes.
  private struct Told {
    var messages: [TraceMessage] = []
    var pieces: [JournalNumber: [Int: TracePieceMessage]] = [:]

    mutating func receive(_ told: [VehicleMessage]) {
      for message in told {
        switch message {
        case .trace(let message):
          // Said twice, it is the same.
          if let same = messages.first(where: {
            $0.trace == message.trace && $0.revision == message.revision
          }) {
            #expect(same == message)
          }
          messages.append(message)
        case .tracePiece(let piece):
          if let same = pieces[piece.trace]?[piece.piece] { #expect(same == piece) }
          #expect(piece.bytes.count <= TracePieceMessage.largestSize)
          pieces[piece.trace, default: [:]][piece.piece] = piece
        default: Issue.record("\(message.path) is none of a trace")
        }
      }
    }

    func newest(_ trace: JournalNumber) -> TraceMessage? {
      messages.filter { $0.trace == trace }.max { $0.revision < $1.revision }
    }

    /// As a reader puts it together.
    func file(_ trace: JournalNumber) throws -> TraceFile {
      let message = try #require(newest(trace))
      let count = try #require(message.pieces)
      let bytes = try (1...count).flatMap { try #require(pieces[trace]?[$0]).bytes }
      #expect(bytes.count == message.size && CRC32.checksum(bytes) == message.checksum)
      let file = try #require(TraceFile(bytes: try Deflate.unpacked(bytes, limit: 4 << 20)))
      #expect(file.lostBytes == 0)
      return file
    }
  }

  private func scans(_ file: TraceFile) -> [InertialScan] {
    file.samples.compactMap { if case .inertial(let scan) = $0 { scan } else { nil } }
  }

  private func fed(_ events: [(at: Double, event: SensorEvent)], from: Double, to: Double) -> [InertialScan] {
    let span = Timestamp(seconds: from)...Timestamp(seconds: to)
    return events.flatMap { _, event -> [InertialScan] in
      guard case .inertial(let scans) = event else { return [] }
      return scans.filter { span.contains($0.timestamp) }
    }
  }

  private func expectAll(_ wanted: [InertialScan], in found: [InertialScan], _ what: String) {
    let byTime = Dictionary(found.map { ($0.timestamp, $0) }) { a, _ in a }
    #expect(found.count == byTime.count, "\(what): a sample is there twice")
    let missing = wanted.filter { scan in
      guard let kept = byTime[scan.timestamp], let a = kept.specificForce, let b = scan.specificForce else {
        return true
      }
      return (a - b).length > 1e-6
    }
    #expect(missing.count == 0, "\(what): \(missing.count) of \(wanted.count) missing or changed")
  }

  @Test func anImpactLeavesAWholeTraceAndItsSummaryAtOnce() throws {
    let events = Self.drive(seed: 5)
    try withFolder { folder in
      var (store, told) = (store(folder), Told())
      var summaryAt: Double?
      for (at, steps) in try Self.steps(events) {
        let messages = store.process(steps)
        if summaryAt == nil, !messages.isEmpty {
          summaryAt = at
          // It is on the disk before it is told.
          let bytes = try Data(contentsOf: URL(filePath: folder + "/0000000001.trace"))
          let file = try #require(TraceFile(bytes: Array(bytes)))
          expectAll(
            fed(events, from: Self.blow - 15, to: Self.blow + 0.11), in: scans(file), "at the end of the blow"
          )
        }
        told.receive(messages)
        store.confirm()
      }
      let trace = try #require(told.messages.first?.trace)
      #expect(Set(told.messages.map(\.trace)).count == 1 && trace.number == 1)
      // The end of the blow is found within 30 ms, and told with the block that has it.
      #expect(try #require(summaryAt) <= Self.blow + 0.1 + 0.03 + 0.1)
      let summary = told.messages[0]
      #expect(summary.revision == 1 && summary.state == .recording && summary.cause == .impact)
      let impact = try #require(summary.impact)
      #expect(abs(impact.changeOfVelocity.y + 10) < 0.5 && impact.severity == .moderate)
      #expect(impact.speedBefore.map { abs($0 - 15) < 1 } == true && summary.coordinate != nil)
      #expect(abs(summary.time.seconds(since: Self.start.advanced(bySeconds: Self.blow))) < 0.1)

      let last = try #require(told.newest(trace))
      #expect(last.state == .complete && abs(last.before - 15) < 0.1 && last.after == 15)
      let file = try told.file(trace)
      expectAll(fed(events, from: Self.blow - 15, to: Self.blow + 14.9), in: scans(file), "whole")
      let fixes = file.samples.filter { if case .fix(let fix) = $0 { fix.coordinate != nil } else { false } }
      #expect(fixes.count >= 29)
      // Half a minute after the blow, what has become of it.
      #expect(told.messages.count >= 3 && last.impact?.hasRolledOver == false)
      #expect(!FileManager.default.fileExists(atPath: folder + "/0000000001.trace"))
      #expect(FileManager.default.fileExists(atPath: folder + "/0000000001.sent"))
    }
  }

  /// A kill or a loss of power at a hundred moments around an impact, before or after the outbox has what was told: there is one trace or
  /// none, none without a message, and no more is missing of it than its last second.
  @Test(arguments: [UInt64(1), 2]) func aHundredKillsLoseNothing(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let events = Self.drive(seed: seed)
    let steps = try Self.steps(events)
    for number in 0..<100 {
      let kill =
        number < 40 ? Double.random(in: 59.9...60.6, using: &random) : .random(in: 60...77, using: &random)
      // What was handed over last is not in the outbox; or it is, but the store has not heard of it.
      let (isLost, isUnconfirmed) = (Bool.random(using: &random), Bool.random(using: &random))
      let tear = Int.random(in: 0..<40, using: &random)
      let what = "seed \(seed), killed at \(kill), lost \(isLost), unconfirmed \(isUnconfirmed), torn \(tear)"
      try withFolder { folder in
        var (store, told) = (store(folder), Told())
        var began = false
        let until = steps.prefix { $0.at <= kill }
        for (index, (_, due)) in until.enumerated() {
          let messages = store.process(due)
          began = began || !messages.isEmpty
          let isLast = index == until.count - 1
          if isLast, isLost { break }
          told.receive(messages)
          if isLast, isUnconfirmed { break }
          store.confirm()
        }
        // What was under way when the power failed.
        let path = folder + "/0000000001.trace"
        if tear > 0, let handle = FileHandle(forWritingAtPath: path) {
          try handle.seekToEnd()
          try handle.write(contentsOf: Array(repeating: UInt8(7), count: tear))
          try handle.close()
        }
        var second = self.store(folder)
        told.receive(second.resume())
        second.confirm()
        var third = self.store(folder)
        #expect(third.resume().isEmpty, "\(what)")
        guard began else {
          #expect(told.messages.isEmpty, "\(what)")
          return
        }
        #expect(Set(told.messages.map(\.trace)).count == 1, "\(what)")
        let trace = try #require(told.messages.first?.trace, "\(what)")
        let end = min(kill - 1.2, Self.blow + 14.9)
        expectAll(
          fed(events, from: Self.blow - 15, to: max(end, Self.blow + 0.1)), in: scans(try told.file(trace)),
          what)
        let newest = try #require(told.newest(trace))
        #expect(newest.state == (kill < Self.blow + 15 ? .interrupted : newest.state), "\(what)")
        #expect(newest.impact?.severity == .moderate, "\(what)")
      }
    }
  }

  @Test func noNumberComesTwiceAndTheOldestMakeRoom() throws {
    let steps = try Self.steps(Self.drive(seed: 9)).flatMap(\.steps)
    try withFolder { folder in
      var told = Told()
      for _ in 0..<4 {
        var store = store(folder, count: 2)
        told.receive(store.process(steps))
        store.confirm()
      }
      #expect(Set(told.messages.map(\.trace.series)).count == 1)
      #expect(Set(told.messages.map(\.trace.number)) == [1, 2, 3, 4])
      let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
      #expect(
        names == ["0000000003.json", "0000000003.sent", "0000000004.json", "0000000004.sent", "counter"])
      // All deleted, the numbers go on.
      for name in names where name != "counter" {
        try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
      }
      var store = store(folder, bytes: 0)
      told.receive(store.process(steps))
      store.confirm()
      #expect(told.messages.map(\.trace.number).max() == 5)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["counter"])
    }
  }

  /// A disk that takes nothing costs what a restart would find, and not the trace.
  @Test func withoutADiskTheTraceIsToldAllTheSame() throws {
    let events = Self.drive(seed: 3)
    var (store, told) = (store("/proc/nothing/traces"), Told())
    for (_, steps) in try Self.steps(events) {
      told.receive(store.process(steps))
      store.confirm()
    }
    let trace = try #require(told.messages.first?.trace)
    expectAll(
      fed(events, from: Self.blow - 15, to: Self.blow + 14.9), in: scans(try told.file(trace)), "no disk")
  }

  @Test func whatNobodyMayKnowIsNotInATrace() throws {
    let steps = try Self.steps(Self.drive(seed: 4), ["location.desired_accuracy=reduced"]).flatMap(\.steps)
    var blocks: [[UInt8]] = []
    for step in steps {
      switch step {
      case .begin(let message, _, let new):
        #expect(message.coordinate == nil && message.impact != nil && message.impact?.speedBefore == nil)
        blocks += new
      case .append(let new): blocks += new
      case .tell(let message), .end(let message, _): #expect(message.impact?.rest == nil)
      }
    }
    let fixes = blocks.flatMap { TraceBlock(bytes: $0)?.samples ?? [] }.compactMap {
      if case .fix(let fix) = $0 { fix } else { nil }
    }
    #expect(!fixes.isEmpty && fixes.allSatisfy { $0.coordinate == nil && $0.speed == nil })
  }

  @Test func nothingIsKeptUnlessItIsWanted() throws {
    let steps = try Self.steps(Self.drive(seed: 4), ["trace.severity=severe"]).flatMap(\.steps)
    #expect(steps.isEmpty)
    let off = try Self.steps(Self.drive(seed: 4), ["trace.enabled=false"]).flatMap(\.steps)
    #expect(off.isEmpty)
  }
}
