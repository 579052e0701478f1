internal import Bytes
package import Compression
internal import JSON
package import Logging
package import Pipeline
internal import Platform
internal import Spatial
package import Telemetry
package import Traces

/// Stores traces on disk from the end of an impact until the outbox has accepted them. A kill or a loss of
/// power loses at most the last second, and no piece is published twice with different bytes (`TraceFolder`
/// manages the files).
///
/// A failing disk costs only the recovery after a restart, because a trace is also in memory while it is
/// recorded. If a trace cannot be stored as it would be published, its files are deleted before it is
/// published, or publication is postponed. Otherwise a restart could find an incomplete trace and publish it.
package struct TraceStore: Sendable {
  /// A trace that is being recorded or was recorded recently.
  private struct Trace: Sendable {
    let run: Int
    let name: String
    var message: TraceMessage
    /// The recording in memory. `written` is the number of its bytes that are on disk.
    var bytes: [UInt8]
    var written = 0
    var isWhole = false
    /// False if the files of the trace were deleted, so that they must not be created again.
    var isKept = true
  }

  /// A complete trace as published.
  private struct Whole: Sendable {
    let name: String
    var message: TraceMessage
    let packed: [UInt8]
  }

  private let settings: AgentConfiguration.Traces
  private let log: Logger
  private var folder: TraceFolder
  /// Traces in progress, and recent ones whose messages may still change.
  private var traces: [Trace] = []
  /// Traces that the disk can neither store nor delete, and the time of the next attempt.
  private var waiting: [Whole] = []
  private var retryDue = MonotonicTime.start
  /// Traces whose messages were handed over to the outbox, each with the time of the handover.
  private var handedOver: [(name: String, at: MonotonicTime)] = []
  private var hasLoggedFailure = false

  /// Maximum number of remembered traces; more than can be in progress simultaneously.
  private static let most = 8
  /// Interval in s between attempts to store or delete the traces in `waiting`.
  private static let retryInterval = 10.0
  /// Maximum size in bytes of an unpacked trace.
  private static let largest = 4 << 20

  package init(_ settings: AgentConfiguration.Traces, log: Logger) {
    self.settings = settings
    self.log = log
    folder = TraceFolder(path: settings.path)
  }

  /// Completes traces of an earlier run: deliver the returned messages, then call `confirm`.
  /// - Parameter places: positions that may be published now. All other positions are removed from stored
  ///   recordings; a complete trace that contains others is deleted.
  package mutating func resume(_ places: ExactPositions) -> [VehicleMessage] {
    let pending = folder.pending()
    forgetSent(places)
    return pending.flatMap { resume($0, places) }
  }

  private mutating func resume(_ name: String, _ places: ExactPositions) -> [VehicleMessage] {
    guard let bytes = read(name, .message), let json = try? JSONValue(parsing: bytes),
      var message = try? TraceMessage(json: json)
    else { return drop(name, "the message of trace \(name) is damaged") }
    message.identity = nil
    let shown = message.shown(places)
    if let packed = read(name, .packed) {
      // Some pieces of the trace may have been published already, so the trace is published unchanged or not
      // at all.
      guard shown == message, !hides(packed, places) else {
        return drop(name, "trace \(name) contains positions that are private now")
      }
      return tell(Whole(name: name, message: message, packed: packed), isKept: true)
    }
    let recording = read(name, .recording)
    // Only the message of a complete trace is left: the previous run was interrupted while it deleted the
    // files of the published trace.
    guard recording != nil || message.size == nil else { return drop(name, nil) }
    message = shown
    let head = TraceFile.Head(moment: Timestamp(nanoseconds: 0), utcOffset: message.time.nanoseconds)
    var file = recording.flatMap { TraceFile(bytes: $0) } ?? TraceFile(bytes: TraceFile.bytes(head))
    if !places.areAll {
      file = file.flatMap { TraceFile(bytes: $0.withoutPlaces { !places.contains($0) }) }
    }
    // A message in another state was written by `finish` before the pieces. It was not published, so its
    // revision is not increased.
    if message.state == .recording { message.revision += 1 }
    message.state = .interrupted
    let last = file?.blocks.compactMap { TraceBlock(bytes: $0)?.times?.upperBound }.max()
    let after = last.flatMap { last in file.map { last.seconds(since: $0.head.moment) } } ?? 0
    message.after = min(message.after, max(0, after))
    return finish(name, message, file)
  }

  /// Executes the pipeline's decisions. Deliver the returned messages, then call `confirm`.
  package mutating func process(_ steps: [TraceStep]) -> [VehicleMessage] {
    var messages = retry()
    for step in steps {
      switch step {
      case .begin(let run, let message, let head, let blocks):
        messages.append(begin(run, message, head, blocks))
      case .append(let run, let blocks): append(run, blocks)
      case .tell(let run, let message): messages += change(run, message)
      case .end(let run, let message, let isWhole): messages += end(run, message, isWhole: isWhole)
      case .withhold(let places): withhold(places)
      }
    }
    return messages
  }

  /// Returns the number of the trace that a run has started; nil if it started none, or if the trace is no
  /// longer remembered.
  package func number(ofRun run: Int) -> JournalNumber? { traces.last { $0.run == run }?.message.trace }

  /// Records that delivery has accepted the returned messages.
  /// - Parameter isStored: returns whether the outbox has stored all of them on disk; called only if
  ///   necessary.
  package mutating func confirm(_ isStored: () -> Bool) {
    guard !handedOver.isEmpty else { return }
    let now = MonotonicTime.now
    guard isStored() else {
      for index in handedOver.indices { handedOver[index].at = now }
      return
    }
    let limit = now.advanced(bySeconds: -settings.settlingTime)
    guard handedOver.contains(where: { $0.at <= limit }) else { return }
    for (name, at) in handedOver where at <= limit && folder.exists(name, .packed) {
      // If renaming fails, the next run publishes the trace again with identical bytes.
      do throws(SystemError) { try folder.setSent(name) } catch { failed("\(error)") }
    }
    handedOver.removeAll { $0.at <= limit }
    makeRoom()
  }

  // MARK: A trace

  private mutating func begin(
    _ run: Int, _ message: TraceMessage, _ head: TraceFile.Head, _ blocks: [[UInt8]]
  ) -> VehicleMessage {
    var message = message
    var problem: SystemError?
    let (number, name) = folder.nextNumber { problem = $0 }
    if let problem { failed("\(problem)") }
    message.trace = number
    if traces.count >= Self.most, let oldest = traces.firstIndex(where: \.isWhole) {
      traces.remove(at: oldest)
    }
    traces.append(Trace(run: run, name: name, message: message, bytes: TraceFile.bytes(head)))
    append(run, blocks)
    // This write synchronizes the folder, so that the names of message and recording both survive a loss of
    // power.
    _ = keep(message, name)
    return .trace(message)
  }

  private mutating func append(_ run: Int, _ blocks: [[UInt8]]) {
    guard let index = traces.lastIndex(where: { $0.run == run }), !traces[index].isWhole else { return }
    for block in blocks { traces[index].bytes += TraceFile.bytes(block: block) }
    write(index)
  }

  private mutating func write(_ index: Int) {
    let trace = traces[index]
    do throws(SystemError) {
      try folder.append(trace.bytes[trace.written...], to: trace.name, at: trace.written)
      traces[index].written = trace.bytes.count
    } catch { failed("\(error)") }
  }

  private mutating func change(_ run: Int, _ message: TraceMessage) -> [VehicleMessage] {
    guard let index = traces.lastIndex(where: { $0.run == run }) else { return [] }
    let trace = traces[index]
    let new = Self.numbered(message, as: trace.message)
    if let place = waiting.firstIndex(where: { $0.name == trace.name }) {
      // The changed message is published together with the pieces when the disk can be used again.
      (waiting[place].message, traces[index].message) = (new, new)
      return []
    }
    // If the files of the trace were deleted, writing the message must not create them again.
    let isKept = trace.isKept && (folder.exists(trace.name, .message) || !trace.isWhole)
    if isKept, !keep(new, trace.name), folder.exists(trace.name, .message) {
      // The old message is still on disk, so after a restart another message would have the same revision.
      // The change is published with the next one.
      return []
    }
    traces[index].message = new
    return [.trace(new)]
  }

  /// Returns the message with the stored number, state and checksum, as the next revision.
  private static func numbered(_ message: TraceMessage, as before: TraceMessage) -> TraceMessage {
    var message = message
    (message.trace, message.revision, message.state) = (before.trace, before.revision + 1, before.state)
    (message.size, message.pieces, message.checksum) = (before.size, before.pieces, before.checksum)
    return message
  }

  private mutating func end(_ run: Int, _ message: TraceMessage, isWhole: Bool) -> [VehicleMessage] {
    guard let index = traces.lastIndex(where: { $0.run == run }), !traces[index].isWhole else { return [] }
    var ended = Self.numbered(message, as: traces[index].message)
    ended.state = isWhole ? .complete : .interrupted
    let file = TraceFile(bytes: traces[index].bytes)
    (traces[index].isWhole, traces[index].bytes, traces[index].message) = (true, [], ended)
    return finish(traces[index].name, ended, file)
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
    // The message is encoded and decoded as it would be by a restart, so that a restart creates identical
    // pieces, to the last digit of their time.
    if let json = try? JSONValue(parsing: message.payload), let read = try? TraceMessage(json: json) {
      message = read
    }
    log.notice(
      .traceKept, "trace kept",
      metadata: [
        "number": "\(message.trace.number)", "state": "\(message.state.rawValue)", "bytes": "\(packed.count)",
      ])
    return secured(Whole(name: name, message: message, packed: packed))
  }

  /// Returns the messages of a trace once a restart would publish either identical messages or nothing.
  /// Otherwise the trace waits for the next attempt.
  private mutating func secured(_ whole: Whole) -> [VehicleMessage] {
    if let index = traces.firstIndex(where: { $0.name == whole.name }) {
      traces[index].message = whole.message
    }
    do throws(SystemError) {
      try folder.write(whole.message.payload, to: whole.name, .message)
      try folder.write(whole.packed, to: whole.name, .packed)
      return tell(whole, isKept: true)
    } catch {
      failed("\(error)")
    }
    do throws(SystemError) {
      try folder.removeAll(whole.name)
      return tell(whole, isKept: false)
    } catch {
      failed("\(error)")
      waiting.append(whole)
      retryDue = .after(Self.retryInterval)
      return []
    }
  }

  private mutating func retry() -> [VehicleMessage] {
    guard !waiting.isEmpty, retryDue.hasPassed else { return [] }
    let due = waiting
    waiting = []
    return due.flatMap { secured($0) }
  }

  private mutating func tell(_ whole: Whole, isKept: Bool) -> [VehicleMessage] {
    let (message, packed) = (whole.message, whole.packed)
    if let index = traces.firstIndex(where: { $0.name == whole.name }) { traces[index].isKept = isKept }
    if isKept { handedOver.append((whole.name, .now)) }
    let pieces = max(1, message.pieces ?? 1)
    // The time is calculated from the trace instead of the clock, so that a restart creates identical pieces.
    let time = message.time.advanced(bySeconds: message.after)
    return [.trace(message)]
      + (1...pieces).map { piece in
        let start = min(packed.count, (piece - 1) * TracePieceMessage.largestSize)
        let end = min(packed.count, start + TracePieceMessage.largestSize)
        return .tracePiece(
          TracePieceMessage(
            time: time, trace: message.trace, piece: piece, pieces: pieces, bytes: Array(packed[start..<end]))
        )
      }
  }

  /// Returns the bytes to publish: the file's blocks are merged into few, and each column is compressed with
  /// its own Huffman code.
  package static func packed(_ file: TraceFile?) throws(CompressionError) -> [UInt8] {
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

  // MARK: Positions

  /// Removes private positions from recordings, and deletes stored traces that contain any. Traces in the
  /// outbox count as published.
  private mutating func withhold(_ places: ExactPositions) {
    forgetSent(places)
    guard !places.areAll else { return }
    let hidden = waiting.filter { $0.message != $0.message.shown(places) || hides($0.packed, places) }
    for whole in hidden {
      waiting.removeAll { $0.name == whole.name }
      _ = drop(whole.name, "trace \(whole.name) contains positions that are private now")
    }
    for index in traces.indices {
      traces[index].message = traces[index].message.shown(places)
      guard !traces[index].isWhole, let file = TraceFile(bytes: traces[index].bytes) else { continue }
      let bytes = file.withoutPlaces { !places.contains($0) }
      guard bytes != traces[index].bytes else { continue }
      traces[index].bytes = bytes
      do throws(SystemError) {
        try folder.write(bytes, to: traces[index].name, .recording)
        traces[index].written = bytes.count
      } catch {
        failed("\(error)")
        // The next write starts at the beginning of the file and overwrites the private positions.
        traces[index].written = 0
      }
    }
  }

  private mutating func forgetSent(_ places: ExactPositions) {
    guard !places.areAll else { return }
    for name in folder.names(.sent) {
      if let packed = read(name, .sent), hides(packed, places) {
        do throws(SystemError) { try folder.removeAll(name) } catch { failed("\(error)") }
      }
    }
  }

  private func hides(_ packed: [UInt8], _ places: ExactPositions) -> Bool {
    guard !places.areAll else { return false }
    // An unreadable trace may contain any position.
    guard let bytes = try? Deflate.unpacked(packed, limit: Self.largest), let file = TraceFile(bytes: bytes)
    else { return true }
    return file.holds { !places.contains($0) }
  }

  // MARK: Files

  /// Deletes a trace that cannot be published.
  /// - Parameter reason: reason to log; nil if the trace was already published, so that nothing is lost.
  private mutating func drop(_ name: String, _ reason: String?) -> [VehicleMessage] {
    if let reason { failed(reason) }
    do throws(SystemError) { try folder.removeAll(name) } catch { failed("\(error)") }
    return []
  }

  /// Writes the message of a trace.
  /// - Returns: true if the message is on disk.
  private mutating func keep(_ message: TraceMessage, _ name: String) -> Bool {
    do throws(SystemError) {
      try folder.write(message.payload, to: name, .message)
      return true
    } catch {
      failed("\(error)")
      return false
    }
  }

  private mutating func read(_ name: String, _ part: TraceFolder.Part) -> [UInt8]? {
    do throws(SystemError) { return try folder.read(name, part) } catch {
      failed("\(error)")
      return nil
    }
  }

  /// Deletes the oldest published traces until the rest is within the limits.
  private mutating func makeRoom() {
    var (count, bytes) = (0, 0)
    for name in folder.names(.sent).reversed() {
      let size = folder.size(name, .sent)
      if count < settings.count, bytes + size <= settings.bytes {
        (count, bytes) = (count + 1, bytes + size)
      } else {
        do throws(SystemError) { try folder.removeAll(name) } catch { failed("\(error)") }
      }
    }
  }

  private mutating func failed(_ reason: String) {
    if !hasLoggedFailure {
      log.warning(.traceNotKept, "trace not stored", metadata: ["reason": "\(reason)"])
    }
    hasLoggedFailure = true
  }
}
