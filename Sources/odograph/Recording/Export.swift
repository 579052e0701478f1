internal import ArgumentParser
internal import Fleet
internal import FleetCommand
internal import FleetStore

struct Export: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Writes a recording as GPX, GeoJSON, KML, CSV, JSON lines or Parquet.",
    discussion: """
      Reads what odograph record has written to a file or a postgres:// URL, also while it is writing. Writes the \
      positions of live messages and tracks by vehicle and time, at most one for each time of a vehicle. The \
      format follows from the file's name, or --format. The output file appears only when it is complete. An \
      existing file is replaced only with --force, and keeps its mode. Pipes and devices are written directly. \
      Memory use is constant.

        gpx      a track for each vehicle; speed and course as Garmin's
                 TrackPointExtension
        geojson  a FeatureCollection of points
        kml      a gx:Track for each vehicle, which a map can play over time
        csv      with a header; a name that a spreadsheet would evaluate, such as
                 =1+1, gets an apostrophe in front
        jsonl    an object in each line; with --messages all messages unchanged
        parquet  a folder for each day and fleet,
                 date=2026-11-22/fleet-demo/positions.parquet, for DuckDB, pandas,
                 pyarrow and Spark

      A Parquet folder, too, appears only when it is complete. --force replaces a folder only if it contains \
      nothing but exported days. --update replaces single days in an existing folder: each exported day of a fleet \
      replaces the same day atomically; all others are unchanged. For this, the database sorts the positions by \
      day, with a temporary file as large as the export.

      Examples:
        odograph export fleet.sqlite -o today.gpx --from 2026-11-21
        odograph export fleet.sqlite --vehicle van-1 --format csv | grep van-1
        odograph export fleet.sqlite --region depots.geojson -o there.kml
        odograph export fleet.sqlite --format parquet -o positions
        odograph export fleet.sqlite --format parquet -o positions --update \\
          --from 2026-11-21 --to 2026-11-22
        odograph export --messages --from 2026-11-21 --to 2026-11-22 > day.jsonl

      Exit codes: 0 done, also if the pipe is closed; 64 usage, or the recording cannot be read; 74 the output \
      cannot be written; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup(title: "Selection") var part: RecordingArguments

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "The file to write (default: standard output); for Parquet the folder.", valueName: "file"),
    completion: .file())
  var output: String?

  @Flag(help: "Replace an existing file or Parquet folder.")
  var force = false

  @Flag(
    help:
      "In an existing Parquet folder, replace the days of --from and --to of the exported fleets."
  )
  var update = false

  @Option(
    name: .customLong("format"),
    help: ArgumentHelp(
      "\(ExportFormat.allCases.map(\.rawValue).joined(separator: ", ")) (default: by the file's name, else jsonl).",
      valueName: "form"), completion: .list(ExportFormat.allCases.map(\.rawValue)))
  var givenFormat: ExportFormat?

  @Flag(
    name: .customLong("messages"), help: "Write all messages unchanged as JSON lines, instead of positions.")
  var exportsMessages = false

  @Option(
    help: ArgumentHelp(
      "Start a new GPX or KML track after a gap of this length.", valueName: "seconds"))
  var gap = 300.0

  @Flag(help: "The same as --format jsonl.")
  var json = false

  @Flag(name: [.customShort("q"), .customLong("quiet")], help: "Print no progress and no summary.")
  var isQuiet = false

  func run() throws { try perform(ExportCommand.run, self) }

  /// Returns the format; contradictory options are an error, and the default follows from the file name.
  func format() throws(FleetError) -> ExportFormat {
    if json, let givenFormat, givenFormat != .jsonl {
      throw .usage("use", "--json", "it contradicts --format; use one of them")
    }
    if let givenFormat { return givenFormat }
    let named = try advising(", or use --format") { () throws(FleetError) in
      try output.flatMap(ExportFormat.named(by:))
    }
    if json || exportsMessages, let output, let named, named != .jsonl {
      throw .usage(
        "write", "JSON lines to \(output)",
        "its name says \(named.rawValue); name it .jsonl, or add --format jsonl")
    }
    return named ?? .jsonl
  }

  /// Checks the options.
  ///
  /// - Throws: `FleetError` for invalid options.
  func check(_ format: ExportFormat) throws(FleetError) {
    guard gap > 0, gap <= 1e9 else {
      throw .usage("use", "--gap \(gap)", "must be above 0, in seconds")
    }
    guard format != .parquet || (output ?? "-") != "-" else {
      throw .usage("write", "Parquet to standard output", "it is a folder of files; name one with -o")
    }
    if update { try checkUpdate(format) }
    guard !exportsMessages || format == .jsonl else {
      throw .usage(
        "write", "messages as \(format.rawValue)",
        "messages go into JSON lines only; leave out --messages, or use --format jsonl")
    }
  }
}

extension Export {
  /// Checks the options that `--update` allows. It replaces whole days: an export of a part of a day would
  /// delete the remaining positions of the day.
  private func checkUpdate(_ format: ExportFormat) throws(FleetError) {
    guard format == .parquet else {
      throw .usage("use", "--update", "requires --format parquet; \(format.rawValue) is a single file")
    }
    guard !force else {
      throw .usage("use", "--update", "--force replaces the whole folder; give one of them")
    }
    let selection = try part.selection()
    guard selection.isOfWholeDays, selection.vehicles.isEmpty, selection.areas.isEmpty else {
      throw .usage(
        "use", "--update",
        "it replaces whole days of whole fleets; give --from and --to as days, and no vehicle or region")
    }
  }
}

extension ExportFormat: ExpressibleByArgument {}
