import Bytes
import Fleet
import FleetFixtures
import Simulation
import Spatial
import Telemetry
import TestSupport
import Testing

/// Assembly of traces from pieces, which arrive in any order.
@Suite struct TraceAssemblyTests {
  private static let van = VehicleKey(fleet: "demo", vehicle: "van")

  private struct Sent {
    var key: TraceKey
    var bytes: [UInt8]
    var messages: [TraceMessage]
    var pieces: [TracePieceMessage]
  }

  /// Returns a trace of random bytes with the messages of a vehicle.
  private static func sent(
    _ number: Int64, size: Int, of vehicle: VehicleKey = van, cut seconds: Double = 30, revision: Int = 1,
    piece: Int = 1000, _ random: inout SeededGenerator
  ) -> Sent {
    let bytes = (0..<size).map { _ in UInt8.random(in: 0 ... .max, using: &random) }
    let journal = JournalNumber(series: "0123456789abcdef", number: number)
    let count = (size + piece - 1) / piece
    let pieces = (0..<count).map { index in
      TracePieceMessage(
        time: noon.advanced(bySeconds: seconds), trace: journal, piece: index + 1, pieces: count,
        bytes: Array(bytes[(index * piece)..<min(size, (index + 1) * piece)]))
    }
    let recording = TraceMessage(
      time: noon, trace: journal, revision: revision, cause: .impact, state: .recording, before: 15, after: 15
    )
    var whole = recording
    (whole.revision, whole.state, whole.size, whole.pieces) = (revision + 1, .complete, size, count)
    whole.checksum = CRC32.checksum(bytes)
    return Sent(
      key: TraceKey(vehicle: vehicle, trace: journal), bytes: bytes, messages: [recording, whole],
      pieces: pieces)
  }

  private enum Message {
    case trace(TraceMessage, VehicleKey)
    case piece(TracePieceMessage, VehicleKey)
  }

  private static func all(_ sent: [Sent]) -> [Message] {
    sent.flatMap { sent in
      sent.messages.map { Message.trace($0, sent.key.vehicle) }
        + sent.pieces.map { Message.piece($0, sent.key.vehicle) }
    }
  }

  private static func add(_ message: Message, to assembly: inout TraceAssembly) -> (TraceKey, [UInt8])? {
    switch message {
    case .trace(let message, let vehicle):
      assembly.add(message, of: vehicle).map { (TraceKey(vehicle: vehicle, trace: message.trace), $0) }
    case .piece(let piece, let vehicle):
      assembly.add(piece, of: vehicle).map { (TraceKey(vehicle: vehicle, trace: piece.trace), $0) }
    }
  }

  /// Several traces and vehicles, twice, in random order: each trace is completed once and unchanged.
  @Test func acceptsAnyOrderAndDuplicates() {
    var random = SeededGenerator.announced()
    for _ in 0..<50 {
      let car = VehicleKey(fleet: "demo", vehicle: "car")
      let sent = [
        Self.sent(1, size: 10_500, &random), Self.sent(2, size: 1000, &random),
        Self.sent(3, size: 1, &random),
        Self.sent(1, size: 7321, of: car, &random),
      ]
      var assembly = TraceAssembly()
      var whole: [TraceKey: [UInt8]] = [:]
      for message in (Self.all(sent) + Self.all(sent)).shuffled(using: &random) {
        guard let (key, bytes) = Self.add(message, to: &assembly) else { continue }
        #expect(whole.updateValue(bytes, forKey: key) == nil, "seed \(random.seed)")
      }
      for sent in sent { #expect(whole[sent.key] == sent.bytes, "seed \(random.seed)") }
      #expect(assembly.refused == 0 && assembly.forgotten == 0)
    }
  }

  @Test func reportsMissingPieces() {
    var random = SeededGenerator.announced()
    let sent = Self.sent(1, size: 10_000, &random)
    var assembly = TraceAssembly()
    #expect(assembly.state(of: sent.key) == .unannounced)
    for number in [2, 3, 7] { assembly.add(sent.pieces[number - 1], of: Self.van) }
    #expect(assembly.state(of: sent.key) == .unannounced)
    assembly.add(sent.messages[0], of: Self.van)
    #expect(
      assembly.state(of: sent.key) == .unannounced && assembly.message(of: sent.key)?.state == .recording)
    assembly.add(sent.messages[1], of: Self.van)
    #expect(assembly.state(of: sent.key) == .missing([1...1, 4...6, 8...10], of: 10))
    // An older message changes nothing.
    assembly.add(sent.messages[0], of: Self.van)
    #expect(assembly.message(of: sent.key)?.revision == 2)
    for piece in sent.pieces { assembly.add(piece, of: Self.van) }
    #expect(assembly.state(of: sent.key) == .whole(sent.bytes))
    assembly.remove(sent.key)
    #expect(assembly.state(of: sent.key) == .unannounced && assembly.keys.isEmpty)
  }

  @Test func aTraceThatDiffersFromItsMessageIsDamaged() {
    var random = SeededGenerator.announced()
    var sent = Self.sent(1, size: 3000, &random)
    sent.pieces[1].bytes[17] ^= 1
    var assembly = TraceAssembly()
    for message in Self.all([sent]) { #expect(Self.add(message, to: &assembly) == nil) }
    guard case .damaged(let text) = assembly.state(of: sent.key) else {
      Issue.record("not damaged")
      return
    }
    #expect(text.contains("checksum"))
    sent.pieces[1].bytes.removeLast()
    sent.pieces[1].time = sent.pieces[1].time.advanced(bySeconds: 1)
    assembly.add(sent.pieces[1], of: Self.van)
    #expect(assembly.state(of: sent.key) == .damaged("its pieces have 2999 bytes and not 3000"))
    // A piece of a later cut repairs it.
    var right = Self.sent(1, size: 3000, cut: 99, revision: 5, &random)
    #expect(right.pieces.map { assembly.add($0, of: Self.van) } == [nil, nil, nil])
    #expect(assembly.add(right.messages[1], of: Self.van) == right.bytes)
    // A piece of an earlier cut does not damage it, and neither does a different piece of the same time.
    #expect(assembly.add(sent.pieces[1], of: Self.van) == nil)
    right.pieces[0].bytes[0] ^= 1
    #expect(assembly.add(right.pieces[0], of: Self.van) == nil && assembly.refused == 1)
    #expect(assembly.state(of: right.key) == .whole(right.bytes))
  }

  /// After a power loss a vehicle splits its data into another number of pieces; late pieces of the first cut arrive in between.
  @Test func acceptsASecondCutInAnyOrder() {
    var random = SeededGenerator.announced()
    for _ in 0..<50 {
      let first = Self.sent(1, size: 9000, cut: 30, &random)
      let second = Self.sent(
        1, size: Bool.random(using: &random) ? 9000 : 5500, cut: 60, revision: 3, &random)
      var assembly = TraceAssembly()
      var last: [UInt8]?
      for message in Self.all([first, second]).shuffled(using: &random) {
        if let (_, bytes) = Self.add(message, to: &assembly) { last = bytes }
      }
      #expect(last == second.bytes, "seed \(random.seed)")
      #expect(assembly.state(of: second.key) == .whole(second.bytes), "seed \(random.seed)")
    }
  }

  /// Stored pieces are bounded whatever arrives, and impossible pieces are refused.
  @Test func memoryIsBounded() {
    var random = SeededGenerator.announced()
    var limits = TraceAssembly.Limits()
    (limits.traceBytes, limits.bytes, limits.traces) = (100_000, 400_000, 8)
    var assembly = TraceAssembly(limits: limits)
    let journal = JournalNumber(series: "0123456789abcdef", number: 1)
    func piece(_ piece: Int, of pieces: Int, _ count: Int, trace: JournalNumber = journal)
      -> TracePieceMessage
    {
      TracePieceMessage(
        time: noon, trace: trace, piece: piece, pieces: pieces, bytes: Array(repeating: 7, count: count))
    }
    let impossible = [
      piece(0, of: 3, 10), piece(-1, of: 3, 10), piece(4, of: 3, 10), piece(1, of: 3, 0),
      piece(1, of: 200_000, 10),
      piece(1, of: 3, TracePieceMessage.largestSize + 1), piece(.max, of: .max, 1), piece(.min, of: .min, 1),
    ]
    for piece in impossible { assembly.add(piece, of: Self.van) }
    #expect(assembly.refused == impossible.count && assembly.keys.isEmpty)
    var huge = TraceMessage(
      time: noon, trace: journal, cause: .impact, state: .complete, before: 1, after: 1, size: 100_001,
      pieces: 9,
      checksum: 0)
    assembly.add(huge, of: Self.van)
    (huge.size, huge.cause) = (10, .other(String(repeating: "x", count: 5000)))
    assembly.add(huge, of: Self.van)
    #expect(assembly.keys.isEmpty && assembly.refused == impossible.count + 2)
    // One trace with more bytes than allowed, in any number of cuts.
    for number in 1...20 { assembly.add(piece(number, of: 20, 16_000), of: Self.van) }
    #expect(assembly.refused == impossible.count + 2 + 14)
    for count in 21...200 { assembly.add(piece(1, of: count, 16_000), of: Self.van) }
    // More traces than the limit: the one that receives pieces stays.
    let sent = Self.sent(2, size: 50_000, &random)
    for (index, message) in Self.all([sent]).enumerated() {
      _ = Self.add(message, to: &assembly)
      for other in 0..<5 {
        let trace = JournalNumber(series: "fedcba9876543210", number: Int64(10 + index * 5 + other))
        assembly.add(piece(1, of: 2, 16_000, trace: trace), of: Self.van)
      }
      #expect(assembly.keys.count <= 8)
    }
    #expect(assembly.state(of: sent.key) == .whole(sent.bytes) && assembly.forgotten > 200)
  }
}
