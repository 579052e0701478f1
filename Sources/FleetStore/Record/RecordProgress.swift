internal import FleetConsole
internal import Glibc
internal import JSON
internal import Platform
internal import Telemetry

/// Shows how a recording comes along: a line that is written over on a terminal, JSON lines for a program, and a
/// sentence at the end.
struct RecordProgress {
  private enum Form {
    case none
    case line
    case json
  }

  private let form: Form
  private let isQuiet: Bool
  private let store: String
  private let start = SystemClock.monotonic
  private var last: (time: Int64, received: Int)
  /// Seconds between two looks.
  let interval = 1.0

  init(_ options: RecordOptions) {
    isQuiet = options.isQuiet
    store = PostgreSQLStore.withoutSecrets(options.store)
    form = options.isJSON ? .json : (isatty(STDERR_FILENO) == 1 && !options.isQuiet ? .line : .none)
    last = (start, 0)
  }

  mutating func show(_ counts: RecordCounts) {
    let now = SystemClock.monotonic
    let seconds = max(1e-3, Double(now - last.time) * 1e-9)
    let rate = Double(counts.received - last.received) / seconds
    last = (now, counts.received)
    switch form {
    case .none: break
    case .json: write(json(counts, rate, isFinal: false), to: STDOUT_FILENO)
    case .line:
      let state = counts.isInterrupted ? " - the store is away" : ""
      write(Array("\r\(Self.sentence(counts)), \(Int(rate))/s\(state)\u{1B}[K".utf8), to: STDERR_FILENO)
    }
  }

  mutating func finish(_ counts: RecordCounts) {
    let seconds = max(1e-3, Double(SystemClock.monotonic - start) * 1e-9)
    switch form {
    case .json: write(json(counts, Double(counts.received) / seconds, isFinal: true), to: STDOUT_FILENO)
    case .line: write(Array("\r\u{1B}[K".utf8), to: STDERR_FILENO)
    case .none: break
    }
    if form != .json, !isQuiet { StandardError.say("\(Self.sentence(counts)) in \(store)") }
  }

  private static func sentence(_ counts: RecordCounts) -> String {
    "\(counts.stored) messages stored, \(counts.duplicates) known before"
  }

  private func json(_ counts: RecordCounts, _ rate: Double, isFinal: Bool) -> [UInt8] {
    JSONWriter.object { json in
      json.field("received", counts.received)
      json.field("stored", counts.stored)
      json.field("duplicates", counts.duplicates)
      json.field("bytes", counts.bytes)
      json.field("commits", counts.commits)
      json.field("interruptions", counts.interruptions)
      json.field("rate", rate, decimals: 1)
      json.field("storeAvailable", !counts.isInterrupted)
      json.field("final", isFinal)
    } + [0x0A]
  }

  private func write(_ bytes: [UInt8], to descriptor: Int32) {
    _ = OutputStream.write(bytes, to: descriptor)
  }
}
