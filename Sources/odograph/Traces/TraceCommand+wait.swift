internal import Fleet
internal import FleetCommand
internal import FleetManagement
internal import FleetProgram
internal import FleetStore
internal import Glibc
internal import JSON
internal import MQTT
internal import Platform
internal import Spatial
internal import Telemetry
internal import Traces

extension TraceCommand {
  /// Waits until a trace is complete, and prints a line about it. Writes the trace if an output file is
  /// named.
  /// - Throws: `FleetError` for invalid options, a broker that is unreachable or rejects a request, and a
  ///   failed output.
  static func wait(_ options: Trace.Wait) throws(FleetError) -> ExitStatus {
    if let number = options.number, number < 1 {
      throw .usage("wait for", "trace \(number)", "traces are numbered from 1")
    }
    if options.output.output == nil, options.output.format != nil || options.output.force {
      throw .usage("use", "--format and --force", "they only apply to a file; name one with --output")
    }
    let timeout = try options.time.limit()
    let form = options.output.output == nil ? nil : try options.output.form()
    let root = options.broker.topicRoot
    // The filter `trace/#` matches the messages about traces, and the pieces of traces one level below.
    let filters = try FleetSelection(
      root: root, fleets: options.broker.fleets(options.fleet), vehicles: [options.vehicle], kinds: [.trace]
    ).filters().map { $0 + "/#" }
    signal(SIGPIPE, SIG_IGN)
    let waiter = try CommandWaiter()
    var output: OutputFile? = form == nil ? nil : try options.output.open()
    let state = Locked(TraceWaiting(number: options.number))
    let subscriber = try FleetSubscriber(
      broker: options.broker.configuration(), filters: filters,
      handlers: .init(
        received: { batch in
          if state.withLock({ $0.take(batch, root) }) { waiter.end(.ended(.done)) }
          return .kept
        }, connection: { waiter.observe($0) }))
    try subscriber.start()
    let ending = waiter.wait(seconds: timeout)
    subscriber.stop(drain: 2)
    let waiting = state.withLock { $0 }
    guard let (told, bytes) = waiting.whole, case .ended(.done) = ending else {
      if case .timedOut = ending {
        StandardError.report(
          "timed out: \(waiting.progress); wait longer, or check with odograph watch whether the vehicle is online"
        )
      }
      return try ending.status()
    }
    if let form {
      let document = try TraceOutputArguments.document(
        bytes, as: form, title: "odograph trace \(told.vehicle) \(told.trace.trace.number)",
        of: "trace \(told.trace.trace.number) of \(told.vehicle)")
      guard try output?.write(document) == true else { return .done }
      try output?.finish()
      // If the trace itself is written to standard output, nothing else is printed there.
      if OutputFile.isStream(options.output.output) { return .done }
    }
    var line: [UInt8] = []
    if options.json {
      line.append(json: told.payload, of: told.vehicle)
    } else {
      var writer = TraceLinesWriter()
      line = Array(writer.line(told).utf8)
    }
    try CommandOutput.print(line)
    return .done
  }
}

/// The messages about traces received so far, and the pieces assembled from them.
private struct TraceWaiting: Sendable {
  let number: Int64?
  private var assembly = TraceAssembly()
  private var told: [TraceKey: ReportedTrace] = [:]
  private(set) var whole: (ReportedTrace, [UInt8])?

  init(number: Int64?) { self.number = number }

  /// Processes a batch; returns true if a trace is complete.
  mutating func take(_ batch: FleetBatch, _ root: String) -> Bool {
    for message in batch.messages where whole == nil {
      guard let address = TopicAddress(topic: message.topic, root: root) else { continue }
      var (bytes, key): ([UInt8]?, TraceKey?)
      if address.path == TopicScheme.tracePiece {
        guard let json = try? JSONValue(parsing: message.payload),
          let piece = try? TracePieceMessage(json: json),
          isWanted(piece.trace)
        else { continue }
        key = TraceKey(vehicle: address.key, trace: piece.trace)
        bytes = assembly.add(piece, of: address.key)
      } else if address.kind == .trace {
        guard let new = ReportedTrace(vehicle: address.key, payload: message.payload),
          isWanted(new.trace.trace)
        else { continue }
        key = new.key
        if new.isNewer(than: told[new.key]) { told[new.key] = new }
        bytes = assembly.add(new.trace, of: address.key)
      }
      // Limits the memory: only the message about the current trace is retained.
      if told.count > 4096 { told = told.filter { $0.key == key } }
      if let bytes, let key, let told = told[key] { whole = (told, bytes) }
    }
    return whole != nil
  }

  private func isWanted(_ trace: JournalNumber) -> Bool { number == nil || number == trace.number }

  /// A text about the traces that are still incomplete.
  var progress: String {
    let parts = assembly.keys.prefix(4).map { key in
      "trace \(key.trace.number): \(assembly.state(of: key).reason(assembly.message(of: key)))"
    }
    return parts.isEmpty ? "no trace was announced" : parts.joined(separator: "; ")
  }
}
