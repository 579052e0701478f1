import AgentCore
import Bytes
import Compression
import Foundation
import Positioning
import Recordings
import Sensors
import Simulation
import Spatial
import Telemetry
import TestSupport
import Testing
import Traces

/// Traces from a simulated drive to the files of `odograph trace`: published at a broker, recorded in both databases, and reassembled.
@Suite(.timeLimit(.minutes(6))) struct TraceCommandTests {
  private let broker: BrokerFixture
  private let state: TemporaryDirectory
  private let drive: [TraceSample]
  private let trace: Entry

  private struct Entry {
    var bytes: [UInt8]
    var message: TraceMessage
    var pieces: [TracePieceMessage]
  }

  init() throws {
    broker = try BrokerFixture()
    state = try TemporaryDirectory()
    drive = try Self.samples()
    trace = try Self.pack(drive)
  }

  /// 25 s of samples from all sensors.
  private static func samples() throws -> [TraceSample] {
    var configuration = SimulatedDrive.Configuration()
    (configuration.seed, configuration.duration, configuration.parkingTime) = (
      .random(in: 0 ... .max), 25, 10
    )
    (configuration.rates.accelerometer, configuration.rates.gyroscope) = (400, 400)
    print("seed \(configuration.seed)")
    var drive = try SimulatedDrive(configuration)
    var samples: [TraceSample] = []
    while let event = drive.next() {
      switch event {
      case .inertial(let scans): samples += scans.map { .inertial($0) }
      case .barometer(let data): samples += data.map { .pressure($0) }
      case .position(let fixes): samples += fixes.map { .fix($0) }
      case .vehicle, .radio, .status: break
      }
    }
    samples.sort { $0.timestamp < $1.timestamp }
    return samples
  }

  /// Packs the samples and splits them into messages, as a vehicle does.
  private static func pack(_ samples: [TraceSample]) throws -> Entry {
    var ring = TraceRing()
    for sample in samples { ring.append(sample) }
    let times = try #require(ring.times)
    #expect(ring.count == samples.count && ring.refused == 0)
    let time = try #require(UTCTime(rfc3339: "2026-11-22T08:03:21.340Z"))
    let moment = Timestamp(seconds: 15)
    var file = TraceFile.bytes(
      .init(moment: moment, utcOffset: time.nanoseconds - moment.nanoseconds))
    for block in ring.blocks(times) { file += TraceFile.bytes(block: block) }
    let bytes = try TraceStore.packed(TraceFile(bytes: file))
    let journal = JournalNumber(series: "0c9a51f2d4e8b736", number: 3)
    let size = TracePieceMessage.largestSize
    let count = (bytes.count + size - 1) / size
    try #require(count > 2)
    let pieces = (0..<count).map { index in
      var piece = TracePieceMessage(
        time: time.advanced(bySeconds: 16), trace: journal, piece: index + 1, pieces: count,
        bytes: Array(bytes[(index * size)..<min(bytes.count, (index + 1) * size)]))
      piece.identity = MessageIdentity(epoch: "e", seq: UInt64(10 + index))
      return piece
    }
    var message = TraceMessage(
      time: time, trace: journal, revision: 2, cause: .impact, state: .complete, before: 15, after: 10,
      size: bytes.count, pieces: count, checksum: CRC32.checksum(bytes),
      coordinate: PrivacyPolicy.unrestricted(Coordinate(latitude: 48.1335, longitude: 11.5769)),
      impact: .init(
        severity: .moderate, speedBefore: 13.88, changeOfVelocity: Vector3(-0.42, -7.31, 0.15),
        isInVehicleFrame: true, direction: 3.3, peak: 112.4, duration: 0.118))
    message.identity = MessageIdentity(epoch: "e", seq: 2)
    return Entry(bytes: bytes, message: message, pieces: pieces)
  }

  private var recording: TraceMessage {
    var message = trace.message
    (message.revision, message.state, message.size, message.pieces, message.checksum) = (
      1, .recording, nil, nil, nil
    )
    message.identity = MessageIdentity(epoch: "e", seq: 1)
    return message
  }

  /// Messages of the vehicle: pieces before the final trace message, and a repeated piece.
  private func messages(without missing: Int? = nil) -> [(topic: String, payload: String)] {
    let root = "odograph/v1/delivery/van-1/"
    let pieces = trace.pieces.reversed().filter { $0.piece != missing } + [trace.pieces[0]]
    return [(root + "trace", text(recording.payload))]
      + pieces.map { (root + "trace/piece", text($0.payload)) }
      + [(root + "trace", text(trace.message.payload))]
  }

  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  private var address: [String] { ["--broker", "mqtt://127.0.0.1:\(broker.port)"] }

  private func record(into store: String, without missing: Int? = nil) async throws {
    let messages = messages(without: missing)
    // The repeated piece is stored once.
    let recorder = RecordProcess(broker, into: store, ["--count", "\(messages.count)"], state: state)
    try recorder.start()
    try await broker.waitForLog("Sending SUBACK")
    for message in messages { try await publish(broker, message.topic, message.payload) }
    #expect(try await recorder.waitForEnd() == 0, "\(recorder.output)")
  }

  private func run(_ arguments: [String]) async throws -> OdographProcess.Result {
    try await OdographProcess.run(["trace"] + arguments)
  }

  private func check(_ store: String) async throws {
    let list = try await run(["list", "--recording", store])
    #expect(list.status == 0 && list.lines.count == 3, "\(list.output)")
    for text in ["complete", "\(trace.pieces.count) pieces", "moderate  at 50.0 km/h  26.4 km/h from 3°"] {
      #expect(list.output.contains(text), "\(list.output)")
    }
    let file = state.file("\(UInt32.random(in: 0 ... .max)).odotrace")
    let fetched = try await run(["fetch", "van-1", "3", "--recording", store, "-o", file])
    #expect(fetched.status == 0, "\(fetched.output)")
    #expect(try Array(Data(contentsOf: URL(filePath: file))) == trace.bytes)
    let verified = try await run(["verify", file])
    #expect(
      verified.status == 0 && verified.output.contains("ok: the checksum of each block"), "\(verified.output)"
    )
    let none = try await run(["fetch", "van-1", "4", "--recording", store, "-o", file, "--force"])
    #expect(none.status == 64 && none.output.contains("cannot find trace 4 of van-1"), "\(none.output)")
  }

  @Test(.needs(.mcap)) func ofSQLiteAsCSVAndMCAP() async throws {
    let store = state.file("fleet.sqlite")
    try await record(into: store)
    try await check(store)

    let csv = state.file("crash.csv")
    #expect(try await run(["fetch", "van-1", "3", "--recording", store, "-o", csv]).status == 0)
    try compare(csv)

    let mcap = state.file("crash.mcap")
    #expect(try await run(["fetch", "van-1", "3", "--recording", store, "-o", mcap]).status == 0)
    let read = try PythonEnvironment.mcap.run("MCAP/read.py", [mcap])
    #expect(read.status == 0 && read.output.contains("\"count\": \(drive.count)"), "\(read.output)")
    let fixes = drive.count { if case .fix = $0 { true } else { false } }
    #expect(read.output.contains(#""schema": "foxglove.LocationFix", "count": \#(fixes),"#), "\(read.output)")
  }

  /// The samples that the agent replays equal the recorded ones within the resolution, in number and value.
  private func compare(_ csv: String) throws {
    var (scans, pressures): ([InertialScan], [PressureData]) = ([], [])
    var recording = try CSVSensorRecording(path: csv)
    while let event = try recording.next() {
      switch event {
      case .inertial(let block): scans += block
      case .barometer(let block): pressures += block
      case .position, .vehicle, .radio, .status: break
      }
    }
    let before = drive.compactMap { if case .inertial(let scan) = $0 { scan } else { nil } }
    let first = try #require(
      drive.first { if case .fix = $0 { false } else { true } }?.timestamp)
    try #require(scans.count == before.count && before.count > 9000)
    let step = TraceResolution()
    var worst = [0.0, 0, 0]
    // Samples with the same time stamp have no defined order.
    let (played, driven) = (
      Self.byTime(scans, since: Timestamp(nanoseconds: 0)), Self.byTime(before, since: first)
    )
    try #require(Set(played.keys) == Set(driven.keys))
    for (time, sample) in driven {
      let read = try #require(played[time])
      for (index, pair) in [
        (read.specificForce, sample.specificForce), (read.rotationRate, sample.rotationRate),
        (read.magneticField, sample.magneticField),
      ].enumerated() {
        try #require((pair.0 == nil) == (pair.1 == nil))
        if let a = pair.0, let b = pair.1 { worst[index] = max(worst[index], (a - b).length) }
      }
    }
    // Half a step per axis.
    let half = 0.5 * 3.0.squareRoot()
    #expect(worst[0] <= half * step.specificForce.x + 1e-9 && worst[1] <= half * step.rotationRate.x + 1e-9)
    #expect(worst[2] <= half * step.magneticField.x + 1e-9, "\(worst)")
    let pressed = drive.compactMap { if case .pressure(let data) = $0 { data.pressure } else { nil } }
    #expect(pressures.count == pressed.count && !pressed.isEmpty)
    for (read, pressure) in zip(pressures, pressed) {
      #expect(abs(read.pressure - pressure) <= 0.5 * step.pressure + 1e-4)
    }
  }

  /// Merges the samples by time in whole microseconds, the resolution of traces.
  private static func byTime(_ scans: [InertialScan], since start: Timestamp) -> [Int64: InertialScan] {
    func microseconds(_ timestamp: Timestamp) -> Int64 { (timestamp.nanoseconds + 500) / 1000 }
    var merged: [Int64: InertialScan] = [:]
    for scan in scans {
      let time = microseconds(scan.timestamp) - microseconds(start)
      var known = merged[time] ?? InertialScan(timestamp: scan.timestamp)
      known.specificForce = scan.specificForce ?? known.specificForce
      known.rotationRate = scan.rotationRate ?? known.rotationRate
      known.magneticField = scan.magneticField ?? known.magneticField
      merged[time] = known
    }
    return merged
  }

  @Test(.needs(.postgreSQL)) func ofPostgreSQL() async throws {
    let server = try PostgreSQLFixture()
    try await record(into: server.url)
    try await check(server.url)
  }

  @Test func missingPieceAndDamagedFileAreReported() async throws {
    let store = state.file("fleet.sqlite")
    try await record(into: store, without: 2)
    let file = state.file("crash.odotrace")
    let partial = try await run(["fetch", "van-1", "3", "--recording", store, "-o", file])
    #expect(partial.status == 64 && partial.output.contains("these are missing: 2;"), "\(partial.output)")
    #expect(!FileManager.default.fileExists(atPath: file))
    let list = try await run(["list", "--recording", store])
    #expect(
      list.output.contains("\(trace.pieces.count - 1) of \(trace.pieces.count) pieces"), "\(list.output)")

    try Data(trace.bytes.dropLast(100)).write(to: URL(filePath: file))
    let damaged = try await run(["verify", file])
    #expect(damaged.status == 1 && damaged.output.contains("are an incomplete block"), "\(damaged.output)")
    try Data("t,ax\n1,2\n".utf8).write(to: URL(filePath: file))
    for arguments in [["verify", file], ["export", file, "--format", "csv"]] {
      let result = try await run(arguments)
      #expect(result.status == 64 && result.output.contains("not a trace"), "\(result.output)")
    }
    let cases: [([String], String)] = [
      (["fetch", "van-1", "0", "-o", file], "numbered from 1"),
      (["fetch", "van-1", "3", "-o", state.file("a.gpx")], ".gpx is none of the forms"),
      (["export", state.file("none.odotrace"), "--format", "csv"], "no such file"),
      (["wait", "van-1", "--format", "csv"], "name one with --output"),
      (["list", "--cause", "hail"], "must be impact or command"),
    ]
    for (arguments, text) in cases {
      let result = try await run(arguments)
      #expect(result.status == 64 && result.output.contains(text), "\(arguments): \(result.output)")
    }
  }

  @Test func waits() async throws {
    let (file, output) = (state.file("live.odotrace"), state.file("wait.out"))
    let child = try OdographProcess.start(
      ["trace", "wait", "van-1", "--fleet", "delivery", "-o", file] + address, output: output)
    try await broker.waitForLog("Sending SUBACK")
    for message in messages() { try await publish(broker, message.topic, message.payload) }
    try await eventually { !child.isRunning }
    let said = try OdographProcess.text(of: output)
    #expect(child.waitForExit() == 0 && said.contains("delivery/van-1"), "\(said)")
    #expect(try Array(Data(contentsOf: URL(filePath: file))) == trace.bytes)
    let late = try await run(["wait", "van-2", "--timeout", "0.3"] + address)
    #expect(late.status == 75 && late.output.contains("no trace was announced"), "\(late.output)")
  }
}
