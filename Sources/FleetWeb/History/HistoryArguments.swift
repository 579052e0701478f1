package import ArgumentParser

/// The options of `odograph serve` for the history.
package struct HistoryArguments: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Serve history from this recording: an SQLite file, or a postgres:// URL.", valueName: "store"),
    completion: .file())
  package var recording: String?

  @Flag(
    help:
      "Also record into the recording, as odograph record does, with the same session at the broker.")
  package var record = false

  @Option(
    help: ArgumentHelp(
      "With --record: delete messages older than this, for example 90d, at the start and every hour (default: never).",
      valueName: "days"))
  package var keep: String?

  package init() {}
}
