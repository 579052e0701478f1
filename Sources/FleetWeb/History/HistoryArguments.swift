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
      "Record into it, too, in this process: as odograph record does, under the same session at the broker.")
  package var record = false

  @Option(
    help: ArgumentHelp(
      "With --record: delete what is older, at the start and each hour: days, as 90d (default: keep all).",
      valueName: "days"))
  package var keep: String?

  package init() {}
}
