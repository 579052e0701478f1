internal import ArgumentParser
internal import Fleet
internal import FleetProgram
internal import FleetStore
internal import Spatial

/// The option `--recording`: the initial state of a command, for brokers without retained messages.
struct BeginningArguments: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Start from a recording: an SQLite file, or a postgres:// URL. Messages from the broker take precedence.",
      valueName: "store"), completion: .file())
  var recording: String?

  /// Reads the initial state from the recording, and reports it on standard error; empty if no recording is
  /// named.
  /// - Throws: `FleetError` for a recording that is missing or cannot be queried.
  func recorded(_ query: BeginningQuery) throws(FleetError) -> RecordedBeginning {
    guard let recording else { return RecordedBeginning(name: "") }
    let beginning = try RecordedBeginning.read(recording, query)
    StandardError.report(beginning.sentence(at: Moment.now.time))
    return beginning
  }
}
