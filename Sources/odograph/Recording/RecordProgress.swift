internal import FleetCommand
internal import FleetProgram
internal import FleetStore
internal import Glibc
internal import JSON
internal import Platform

/// The progress display of a recording: a line on a terminal, JSON lines for a program, and a summary.
struct RecordProgress {
  private let options: Record
  private let start = MonotonicTime.now
  private var last: (time: MonotonicTime, received: Int)
  private var line = ProgressLine()
  /// The interval in seconds between updates.
  let interval = 1.0

  init(_ options: Record) {
    self.options = options
    last = (start, 0)
  }

  mutating func show(_ counts: RecordCounts) {
    let now = MonotonicTime.now
    let seconds = max(1e-3, now.seconds(since: last.time))
    let rate = Double(counts.received - last.received) / seconds
    last = (now, counts.received)
    if options.isJSON { return printJSON(counts, rate, isFinal: false) }
    guard !options.isQuiet else { return }
    line.show {
      "\(Self.sentence(counts)), \(Int(rate))/s\(counts.isInterrupted ? " - the store is unavailable" : "")"
    }
  }

  /// Prints the summary of a recording that reached its broker.
  /// - Parameter left: a sentence about what remains stored at the broker; nil for nothing.
  mutating func finish(_ counts: RecordCounts, left: String?) {
    finish(counts)
    guard !options.isJSON, !options.isQuiet else { return }
    StandardError.report("\(Self.sentence(counts)) in \(HistoryReader.name(of: options.store))")
    if let left { StandardError.report(left) }
  }

  /// Prints the final counts of a recording that did not reach its broker; the caller reports the error.
  mutating func finish(_ counts: RecordCounts) {
    line.clear()
    let seconds = max(1e-3, start.secondsElapsed)
    if options.isJSON { printJSON(counts, Double(counts.received) / seconds, isFinal: true) }
  }

  private static func sentence(_ counts: RecordCounts) -> String {
    "\(counts.stored) message\(counts.stored == 1 ? "" : "s") stored, \(counts.duplicates) known before"
  }

  private func printJSON(_ counts: RecordCounts, _ rate: Double, isFinal: Bool) {
    let bytes = JSONWriter.object { json in
      json.field("received", counts.received)
      json.field("stored", counts.stored)
      json.field("duplicates", counts.duplicates)
      json.field("bytes", counts.bytes)
      json.field("commits", counts.commits)
      json.field("interruptions", counts.interruptions)
      json.field("rate", rate, decimals: 1)
      json.field("storeAvailable", !counts.isInterrupted)
      json.field("final", isFinal)
    }
    _ = OutputStream.write(bytes + [0x0A], to: STDOUT_FILENO)
  }
}
