internal import Fleet
internal import FleetCommand
internal import FleetProgram
internal import FleetStore

/// Converts trips or driving events of a recording to a document.
final class JournalReading<Entry> {
  let recording: any Recording
  private let options: JournalOptions
  private let monitor: WorkMonitor
  private let output: JournalOutput<Entry>

  /// Opens the recording and the output.
  ///
  /// - Parameter place: the recording's file or URL.
  /// - Throws: `FleetError` for a missing recording, and for an output that cannot or must not be written.
  init(_ place: String, _ options: JournalOptions, _ writer: any DocumentWriter<Entry>) throws(FleetError) {
    let monitor = WorkMonitor(try CommandWaiter(), isQuiet: options.isQuiet)
    self.monitor = monitor
    self.options = options
    recording = try RecordingAddress.open(place) { monitor.shouldContinue() }
    output = try JournalOutput(writer, options, inputs: RecordingAddress.files(of: place)) {
      monitor.shouldContinue()
    }
  }

  /// The number of written entries.
  var written: Int { output.written }

  /// True until a signal arrives or the output is closed.
  var shouldContinue: Bool { monitor.shouldContinue() && output.hasReader }

  /// Appends an entry; returns false if the output is closed or a signal has arrived.
  func append(_ told: Entry) throws(FleetError) -> Bool {
    try output.append(told) { monitor.shouldContinue() }
  }

  /// Reads the entries, completes the document and prints a summary.
  ///
  /// - Parameters:
  ///   - what: the singular name of an entry, such as "trip".
  ///   - isAll: true if no option excludes entries.
  ///   - body: reads entries and passes them to `append(_:)`. Returns text to append to the summary.
  func run(
    _ what: String, isAll: Bool, _ body: () throws(FleetError) -> String
  ) throws(FleetError) -> ExitStatus {
    var more = ""
    do throws(FleetError) { more = try body() } catch {
      // A signal makes the current operation fail; the failure itself is not an error.
      guard monitor.ending != nil else { throw error }
    }
    monitor.clear()
    if let ending = monitor.ending { return try ending.status() }
    try output.finish()
    guard !options.isQuiet, output.hasReader else { return .done }
    let absence =
      isAll
      ? ": the recording has no \(what)s"
      : ": nothing in it matches the options; use fewer of them"
    let advice = written == 0 ? absence : more
    StandardError.report("\(written) \(what)\(written == 1 ? "" : "s") from \(recording.name)\(advice)")
    return .done
  }
}
