internal import Fleet
internal import FleetConsole

/// Reads trips or driving events out of a recording into a document.
final class JournalReading<Told> {
  let recording: any Recording
  private let options: JournalOptions
  private let monitor: WorkMonitor
  private let output: JournalOutput<Told>

  /// - Parameter place: the recording's file or URL.
  /// - Throws: `FleetError` for a recording that is not there, or an output that is not to be written.
  init(_ place: String, _ options: JournalOptions, _ writer: any JournalWriter<Told>) throws(FleetError) {
    let monitor = WorkMonitor(try CommandWaiter(), isQuiet: options.isQuiet)
    self.monitor = monitor
    self.options = options
    recording = try RecordingAddress.open(place) { monitor.goesOn() }
    output = try JournalOutput(writer, options, inputs: RecordingAddress.files(of: place)) {
      monitor.goesOn()
    }
  }

  /// How many were written.
  var written: Int { output.written }

  /// Whether neither a signal nor the reader of the output has ended it.
  var goesOn: Bool { monitor.goesOn() && output.hasReader }

  /// Returns whether to go on.
  func append(_ told: Told) throws(FleetError) -> Bool { try output.append(told) { monitor.goesOn() } }

  /// - Parameters:
  ///   - what: what one is.
  ///   - isAll: whether all of the recording is meant, and no option leaves something out.
  ///   - body: reads, and hands over what is to be written to `append(_:)`. Returns what is said of them beside their number.
  func run(
    _ what: String, isAll: Bool, _ body: () throws(FleetError) -> String
  ) throws(FleetError) -> ExitStatus {
    var more = ""
    do throws(FleetError) { more = try body() } catch {
      // What a signal has ended fails somewhere.
      guard monitor.ending != nil else { throw error }
    }
    monitor.clear()
    if let ending = monitor.ending { return try ending.status() }
    try output.finish()
    guard !options.isQuiet, output.hasReader else { return .done }
    let absence =
      isAll
      ? ": the recording has no \(what)s"
      : ": nothing of what was chosen is in it; leave out some of the options"
    let advice = written == 0 ? absence : more
    StandardError.say("\(written) \(what)\(written == 1 ? "" : "s") from \(recording.name)\(advice)")
    return .done
  }
}
