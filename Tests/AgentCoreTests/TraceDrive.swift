import Bytes
import Compression
import Foundation
import Logging
import Pipeline
import Sensors
import Simulation
import Spatial
import Telemetry
import TestSupport
import Testing
import Traces

@testable import AgentCore

/// A drive that ends in a collision with a wall, the trace decisions of the pipeline, and stores for the traces.
enum TraceDrive {
  private static let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
  static let start = UTCTime(nanoseconds: 1_795_248_000_000_456_789)
  /// Seconds of the first scan, of the last scan, and of the impact.
  static let (first, last, blow) = (40.0, 95.0, 60.0)
  static let rate = 100.0

  /// Events of a drive at 15 m/s that is slowed down by 10 m/s within 0.1 s by a wall: a block of scans every
  /// 0.1 s, a fix every second.
  static func drive(seed: UInt64) -> [(at: Double, event: SensorEvent)] {
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

  /// Returns the trace decisions of the pipeline, each with its time.
  static func steps(_ events: [(at: Double, event: SensorEvent)], _ settings: [String] = []) throws
    -> [(at: Double, steps: [TraceStep])]
  {
    var pipeline = AgentPipeline(
      configuration: try configuration(settings).pipeline, start: Timestamp(seconds: first),
      time: start.advanced(bySeconds: first), version: "1")
    return events.map { at, event in
      pipeline.process(event) { _ in }
      return (at, pipeline.drainTraceSteps())
    }
  }

  static func configuration(_ settings: [String] = []) throws -> AgentConfiguration {
    try AgentConfiguration(
      settings: ["vehicle.id=v", "input.mode=simulation", "trace.enabled=true"] + settings)
  }

  /// Positions that may be published.
  static func places(_ settings: [String] = []) throws -> ExactPositions {
    ExactPositions(try configuration(settings).pipeline)
  }

  static func withFolder(_ body: (String) throws -> Void) throws {
    let folder = "/dev/shm/odograph-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try body(folder)
  }

  static func store(_ folder: String?, count: Int = 8, bytes: Int = 4 << 20, settlingTime: Double = 0)
    -> TraceStore
  {
    TraceStore(
      .init(path: folder, count: count, bytes: bytes, settlingTime: settlingTime), log: log)
  }

  static func scans(_ file: TraceFile) -> [InertialScan] {
    file.samples.compactMap { if case .inertial(let scan) = $0 { scan } else { nil } }
  }

  static func fed(_ events: [(at: Double, event: SensorEvent)], from: Double, to: Double) -> [InertialScan] {
    let span = Timestamp(seconds: from)...Timestamp(seconds: to)
    return events.flatMap { _, event -> [InertialScan] in
      guard case .inertial(let scans) = event else { return [] }
      return scans.filter { span.contains($0.timestamp) }
    }
  }

  static func expectAll(_ wanted: [InertialScan], in found: [InertialScan], _ what: String) {
    let byTime = Dictionary(found.map { ($0.timestamp, $0) }) { a, _ in a }
    #expect(found.count == byTime.count, "\(what): a sample occurs twice")
    let missing = wanted.filter { scan in
      guard let kept = byTime[scan.timestamp], let a = kept.specificForce, let b = scan.specificForce else {
        return true
      }
      return (a - b).length > 1e-6
    }
    #expect(missing.count == 0, "\(what): \(missing.count) of \(wanted.count) missing or changed")
  }
}

/// Messages of all traces, with the newest message and the bytes of each.
struct ToldTraces {
  var messages: [TraceMessage] = []
  var pieces: [JournalNumber: [Int: TracePieceMessage]] = [:]

  mutating func receive(_ told: [VehicleMessage]) {
    for message in told {
      switch message {
      case .trace(let message):
        // A repeated message is identical.
        if let same = messages.first(where: {
          $0.trace == message.trace && $0.revision == message.revision
        }) {
          #expect(same.payload == message.payload)
        }
        messages.append(message)
      case .tracePiece(let piece):
        if let same = pieces[piece.trace]?[piece.piece] { #expect(same == piece) }
        #expect(piece.bytes.count <= TracePieceMessage.largestSize)
        pieces[piece.trace, default: [:]][piece.piece] = piece
      default: Issue.record("\(message.path) is not a trace message")
      }
    }
  }

  func newest(_ trace: JournalNumber) -> TraceMessage? {
    messages.filter { $0.trace == trace }.max { $0.revision < $1.revision }
  }

  /// Reassembles the trace file like a consumer.
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
