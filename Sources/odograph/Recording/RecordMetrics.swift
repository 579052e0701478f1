internal import Fleet
internal import FleetProgram
internal import FleetStore
internal import Platform
internal import Prometheus

/// The file with a recorder's counters, for the textfile collector of Prometheus' node exporter.
struct RecordMetrics {
  private let path: String
  /// The label that distinguishes the recorders of a machine: the file's name without its extension.
  private let recorder: String
  private var nextWrite = MonotonicTime.now
  /// The last problem, which is not reported again; nil after a successful write.
  private var problem: String?

  /// The interval in seconds between writes.
  static let interval = 5.0
  /// The node exporter ignores files with other names.
  private static let ending = ".prom"

  /// - Throws: `FleetError` for a name that the node exporter ignores.
  init(path: String) throws(FleetError) {
    let name = path[(path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex)...]
    guard name.hasSuffix(Self.ending), name.count > Self.ending.count else {
      throw .usage("use", "--metrics \(path.prefix(80))", "the file's name must end in \(Self.ending)")
    }
    self.path = path
    recorder = String(name.dropLast(Self.ending.count))
  }

  /// Writes the file if the interval has passed. A failure is reported once and does not stop the recorder.
  mutating func write(_ counts: RecordCounts, isConnected: Bool) {
    guard nextWrite.hasPassed else { return }
    nextWrite = .after(Self.interval)
    do throws(SystemError) {
      try AtomicFile.write(
        Array(text(counts, isConnected: isConnected).utf8), to: path, mode: 0o644, isDurable: false)
      problem = nil
    } catch {
      let sentence = "\(error); the counters are written as soon as this is fixed"
      if sentence != problem { StandardError.report(sentence) }
      problem = sentence
    }
  }

  private func text(_ counts: RecordCounts, isConnected: Bool) -> String {
    var metrics = MetricsText()
    func add(_ name: String, _ kind: MetricsText.Kind, _ help: String, _ value: Int) {
      metrics.family(name, kind, help, [([("recorder", recorder)], Double(value))])
    }
    add("record_connected", .gauge, "1 while the recorder is connected to the broker.", isConnected ? 1 : 0)
    add(
      "record_failed", .gauge, "1 while the recording cannot be written and messages wait at the broker.",
      counts.isInterrupted ? 1 : 0)
    add(
      "record_messages_total", .counter, "Messages received for the recording and processed.",
      counts.received)
    add("record_stored_total", .counter, "New messages stored.", counts.stored)
    add("record_bytes_total", .counter, "Bytes of the payloads of processed messages.", counts.bytes)
    add("record_commits_total", .counter, "Transactions.", counts.commits)
    add(
      "record_interruptions_total", .counter, "Times that the recording became unavailable.",
      counts.interruptions)
    return metrics.text
  }
}
