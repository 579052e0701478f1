internal import Bytes
internal import Compression
internal import Glibc
internal import JSON
internal import Logging
internal import Pipeline
internal import Platform
internal import Spatial
internal import Telemetry
internal import Traces

/// Keeps traces on disk from the end of a blow until the outbox has them, so that a kill or a loss of power costs no more than the last
/// second, and tells no piece twice with other bytes.
///
/// A trace has files named by its number. `.json` is its last message, written before that is told. `.trace` is a `TraceFile` that grows.
/// `.packed` is the whole as it is told, written before its pieces are, and never changed; once the outbox has the pieces it is `.sent`.
/// A disk that fails costs what a restart would find, never the trace: that is in memory, too, while it is recorded.
struct TraceStore: Sendable {
  private struct Current: Sendable {
    var name: String
    var message: TraceMessage
    /// The file, and how much of it is on the disk.
    var bytes: [UInt8]
    var written = 0
    var isWhole = false
  }

  private let settings: AgentConfiguration.Traces
  private let log: Logger
  private var current: Current?
  /// In the outbox after the next hand-over.
  private var handedOver: [String] = []
  private var hasLoggedFailure = false

  /// Bytes of files that are read back: of the ring and as much again after it, twice.
  private static let largest = 4 << 20

  init(_ settings: AgentConfiguration.Traces, log: Logger) {
    self.settings = settings
    self.log = log
  }

  /// Finishes what an earlier run could not: hand the messages over, then `confirm`.
  mutating func resume() -> [VehicleMessage] {
    var messages: [VehicleMessage] = []
    let names = SmallFiles.names(in: settings.path)
    let sent = Set(names.compactMap { Self.number($0, ".sent") })
    for name in names {
      guard let number = Self.number(name, ".json"), !sent.contains(number) else { continue }
      messages += resume(number)
    }
    return messages
  }

  private mutating func resume(_ name: String) -> [VehicleMessage] {
    guard let bytes = read(name, ".json"), let json = try? JSONValue(parsing: bytes),
      var message = try? TraceMessage(json: json)
    else {
      failed("\(path(name, ".json")) is damaged; its trace is lost")
      for ending in [".json", ".trace", ".packed"] { unlink(path(name, ending)) }
      return []
    }
    message.identity = nil
    if let packed = read(name, ".packed") { return tell(name, message, packed) }
    let head = TraceFile.Head(moment: Timestamp(nanoseconds: 0), utcOffset: message.time.nanoseconds)
    let file =
      read(name, ".trace").flatMap { TraceFile(bytes: $0) } ?? TraceFile(bytes: TraceFile.bytes(head))
    // Of a message that was to be told with the pieces nobody has heard.
    if message.state == .recording { message.revision += 1 }
    message.state = .interrupted
    let last = file?.blocks.compactMap { TraceBlock(bytes: $0)?.times?.upperBound }.max()
    let after = last.flatMap { last in file.map { last.seconds(since: $0.head.moment) } } ?? 0
    message.after = min(message.after, max(0, after))
    return finish(name, message, file)
  }

  /// Carries out what the pipeline decided. What comes back is to be handed over, then `confirm`.
  mutating func process(_ steps: [TraceStep]) -> [VehicleMessage] {
    var messages: [VehicleMessage] = []
    for step in steps {
      switch step {
      case .begin(let message, let head, let blocks):
        messages.append(begin(message, head))
        append(blocks)
      case .append(let blocks): append(blocks)
      case .tell(let message): messages += change(message)
      case .end(let message, let isWhole):
        guard var ended = current, !ended.isWhole else { continue }
        ended.message = Self.numbered(message, as: ended.message)
        ended.message.revision += 1
        ended.message.state = isWhole ? .complete : .interrupted
        current = ended
        messages += finish(ended.name, ended.message, TraceFile(bytes: ended.bytes))
      }
    }
    return messages
  }

  /// The outbox has what was handed over.
  mutating func confirm() {
    guard !handedOver.isEmpty else { return }
    for name in handedOver {
      // What fails here is told again by the next run, as it is.
      if rename(path(name, ".packed"), path(name, ".sent")) == 0 { unlink(path(name, ".trace")) }
    }
    handedOver = []
    makeRoom()
  }

  // MARK: A trace

  private mutating func begin(_ message: TraceMessage, _ head: TraceFile.Head) -> VehicleMessage {
    var message = message
    let name: String
    (message.trace, name) = nextNumber()
    current = Current(name: name, message: message, bytes: TraceFile.bytes(head))
    keep(message, name)
    return .trace(message)
  }

  private mutating func append(_ blocks: [[UInt8]]) {
    guard var trace = current, !trace.isWhole else { return }
    current = nil
    for block in blocks { trace.bytes += TraceFile.bytes(block: block) }
    let isNew = trace.written == 0
    do throws(SystemError) {
      let file = try RandomAccessFile(
        path: path(trace.name, ".trace"), access: .readWrite, followsLinks: false)
      try file.write(Array(trace.bytes[trace.written...]), at: Int64(trace.written))
      try file.synchronize()
      trace.written = trace.bytes.count
    } catch { failed("\(error)") }
    // A new name is safe when its folder is: the message's file beside it is renamed after this one is there.
    if isNew { keep(trace.message, trace.name) }
    current = trace
  }

  private mutating func change(_ message: TraceMessage) -> [VehicleMessage] {
    guard var trace = current else { return [] }
    trace.message = Self.numbered(message, as: trace.message)
    trace.message.revision += 1
    current = trace
    keep(trace.message, trace.name)
    return [.trace(trace.message)]
  }

  /// With what the store knows of it.
  private static func numbered(_ message: TraceMessage, as before: TraceMessage) -> TraceMessage {
    var message = message
    (message.trace, message.revision, message.state) = (before.trace, before.revision, before.state)
    (message.size, message.pieces, message.checksum) = (before.size, before.pieces, before.checksum)
    return message
  }

  private mutating func finish(_ name: String, _ message: TraceMessage, _ file: TraceFile?)
    -> [VehicleMessage]
  {
    var message = message
    let packed: [UInt8]
    do throws(CompressionError) {
      packed = try Self.packed(file)
    } catch {
      failed("\(error)")
      return [.trace(message)]
    }
    message.size = packed.count
    message.pieces = max(
      1, (packed.count + TracePieceMessage.largestSize - 1) / TracePieceMessage.largestSize)
    message.checksum = CRC32.checksum(packed)
    if var trace = current, trace.name == name {
      (trace.message, trace.isWhole, trace.bytes) = (message, true, [])
      current = trace
    }
    keep(message, name)
    do throws(SystemError) { try AtomicFile.write(packed, to: path(name, ".packed")) } catch {
      failed("\(error)")
    }
    log.notice(
      .traceKept, "trace kept",
      metadata: [
        "number": "\(message.trace.number)", "state": "\(message.state.rawValue)", "bytes": "\(packed.count)",
      ])
    return tell(name, message, packed)
  }

  private mutating func tell(_ name: String, _ message: TraceMessage, _ packed: [UInt8]) -> [VehicleMessage] {
    handedOver.append(name)
    let pieces = message.pieces ?? 1
    // Whenever it is cut, a piece is the same.
    let time = message.time.advanced(bySeconds: message.after)
    return [.trace(message)]
      + (1...max(1, pieces)).map { piece in
        let start = min(packed.count, (piece - 1) * TracePieceMessage.largestSize)
        let end = min(packed.count, start + TracePieceMessage.largestSize)
        return .tracePiece(
          TracePieceMessage(
            time: time, trace: message.trace, piece: piece, pieces: pieces, bytes: Array(packed[start..<end]))
        )
      }
  }

  /// The bytes that go on their way: the file with few blocks, each column with a code of its own.
  static func packed(_ file: TraceFile?) throws(CompressionError) -> [UInt8] {
    guard let file else { return try Deflate.huffman([]) }
    var sections = [TraceFile.bytes(file.head)]
    for block in TraceBlock.merged(file.blocks) {
      var parts = block.sections
      let prefix = TraceFile.bytes(block: parts.flatMap { $0 }).prefix(8)
      parts[0] = prefix + parts[0]
      sections += parts
    }
    return try Deflate.huffman(sections)
  }

  // MARK: Files

  /// A number that no other trace has or will have, and the name of its files.
  private mutating func nextNumber() -> (JournalNumber, name: String) {
    mkdir(settings.path, 0o750)
    let names = SmallFiles.names(in: settings.path)
    let highest = names.compactMap { Self.number($0, ".json") ?? Self.number($0, ".sent") }.compactMap {
      Int64($0)
    }.max()
    let kept = SmallFiles.text(settings.path + "/counter")?.split(separator: " ") ?? []
    var series: String?
    var last = highest ?? 0
    if kept.count == 2, kept[0].utf8.count == 16, UInt64(kept[0], radix: 16) != nil,
      let number = Int64(kept[1]),
      (0...Int64(1 << 40)).contains(number)
    {
      series = String(kept[0])
      last = max(last, number)
    }
    let number = JournalNumber(series: series ?? Self.newSeries(), number: last + 1)
    let digits = String(number.number)
    let name = String(repeating: "0", count: max(0, 10 - digits.utf8.count)) + digits
    do throws(SystemError) {
      try AtomicFile.write(Array("\(number.series) \(number.number)\n".utf8), to: settings.path + "/counter")
      return (number, name)
    } catch {
      failed("\(error)")
      // A number that is not kept may come again: in a series of its own it is another.
      return (JournalNumber(series: Self.newSeries(), number: number.number), name)
    }
  }

  private static func newSeries() -> String {
    let digits = String(UInt64.random(in: 0 ... .max), radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }

  private mutating func keep(_ message: TraceMessage, _ name: String) {
    do throws(SystemError) { try AtomicFile.write(message.payload, to: path(name, ".json")) } catch {
      failed("\(error)")
    }
  }

  private mutating func read(_ name: String, _ ending: String) -> [UInt8]? {
    do throws(SystemError) { return try AtomicFile.read(path(name, ending), limit: Self.largest) } catch {
      failed("\(error)")
      return nil
    }
  }

  /// Deletes the oldest that are sent until the rest is within the limits.
  private func makeRoom() {
    let sent = SmallFiles.names(in: settings.path).compactMap { Self.number($0, ".sent") }
    var (count, bytes) = (0, 0)
    for name in sent.reversed() {
      var status = stat()
      let size = stat(path(name, ".sent"), &status) == 0 ? Int(status.st_size) : 0
      if count < settings.count, bytes + size <= settings.bytes {
        (count, bytes) = (count + 1, bytes + size)
      } else {
        // In this order: a message without its pieces would be told again.
        for ending in [".json", ".sent"] { unlink(path(name, ending)) }
      }
    }
  }

  private func path(_ name: String, _ ending: String) -> String { "\(settings.path)/\(name)\(ending)" }

  /// The name without its ending; nil for another file.
  private static func number(_ name: String, _ ending: String) -> String? {
    guard name.hasSuffix(ending), case let digits = name.dropLast(ending.count), digits.utf8.count >= 10,
      digits.utf8.allSatisfy({ (48...57).contains($0) })
    else { return nil }
    return String(digits)
  }

  private mutating func failed(_ reason: String) {
    if !hasLoggedFailure {
      log.warning(.traceNotKept, "trace not kept", metadata: ["reason": "\(reason)"])
    }
    hasLoggedFailure = true
  }
}
