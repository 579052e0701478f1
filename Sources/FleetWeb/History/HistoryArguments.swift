package import ArgumentParser
package import Fleet
package import FleetConsole
internal import FleetStore
internal import MQTT

/// The options of `odograph serve` about the past.
package struct HistoryArguments: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Serve history from this recording: an SQLite file, or a postgres:// URL.", valueName: "store"),
    completion: .file())
  package var recording: String?

  @Flag(
    help:
      "Record into it, too, in this process: as odograph record does, under the same session at the broker.")
  package var record = false

  @Option(
    help: ArgumentHelp(
      "With --record: delete what is older, at the start and each hour: days, as 90d (default: keep all).",
      valueName: "days"))
  package var keep: String?

  package init() {}

  /// - Throws: `FleetError` for options that make no sense.
  package func check() throws(FleetError) {
    if record, recording == nil {
      throw .usage("use", "--record", "name what to record into with --recording")
    }
    if keep != nil, !record {
      throw .usage("use", "--keep", "it is for --record; odograph record --keep has it without a server")
    }
  }
}

/// The past, as a server has it: readers of a recording, and where it was asked for a recorder.
package final class HistoryService: Sendable {
  package let readers: HistoryReaders
  private let recorder: SideRecorder?

  /// Opens the recording, and begins to record where that was asked for.
  /// - Returns: nil where there is no recording.
  /// - Throws: `FleetError` for options that make no sense, and a recording that cannot be opened.
  package static func start(
    _ options: HistoryArguments, _ vehicles: VehicleArguments, _ broker: BrokerArguments,
    _ words: MessageProfileArguments, _ waiter: CommandWaiter
  ) throws(FleetError) -> HistoryService? {
    try options.check()
    guard let recording = options.recording else { return nil }
    // It makes the tables that are to be read.
    let recorder =
      options.record
      ? try SideRecorder.start(
        into: recording, keep: options.keep, vehicles: vehicles, broker: broker, words: words, waiter) : nil
    do throws(FleetError) {
      return HistoryService(try HistoryReaders(recording), recorder)
    } catch {
      recorder?.stop()
      throw error
    }
  }

  private init(_ readers: HistoryReaders, _ recorder: SideRecorder?) {
    (self.readers, self.recorder) = (readers, recorder)
  }

  /// Ends all questions, and stores what the broker has under way.
  package func stop() {
    readers.stop()
    recorder?.stop()
  }
}
