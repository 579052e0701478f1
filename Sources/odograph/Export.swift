public import ArgumentParser
public import FleetCore

struct Export: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Writes a recording as GPX, GeoJSON, KML, CSV or JSON lines.",
    discussion: """
      Reads what odograph record has written into a file or a postgres:// URL, also while it is writing, and puts out positions by vehicle and time: \
      those that were said at the time and those of tracks. Of one moment of a vehicle there is one. The form follows \
      from the file's name, or --format. A file is there when it is whole, and not before. Memory does not grow with \
      the recording.

      gpx      a track for each vehicle; speed and course as Garmin's TrackPointExtension
      geojson  a FeatureCollection of points
      kml      a gx:Track for each vehicle, which a map plays along time
      csv      with a head
      jsonl    an object in each line; with --messages all messages as they came

      Parquet is not written, as there is no kept library for it; DuckDB makes it of the CSV: \
      duckdb -c "copy (from 'fleet.csv') to 'fleet.parquet'"

      Examples:
        odograph export fleet.sqlite -o today.gpx --from 2026-11-21
        odograph export fleet.sqlite --vehicle van-1 --format csv | grep van-1
        odograph export fleet.sqlite --region depots.geojson -o there.kml
        odograph export --messages --from 2026-11-21 --to 2026-11-22 > day.jsonl

      Exit codes: 0 done, also when the reader left; 64 usage, or the recording cannot be read; 74 the output cannot \
      be written; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup(title: "Selection") var part: RecordingArguments

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("The file to write (default: standard output).", valueName: "file"))
  var output: String?

  @Option(
    help: ArgumentHelp(
      "\(ExportFormat.allCases.map(\.rawValue).joined(separator: ", ")) (default: by the file's name, else jsonl).",
      valueName: "form"))
  var format: ExportFormat?

  @Flag(help: "All messages as they came, as JSON lines, instead of positions.")
  var messages = false

  @Option(
    help: ArgumentHelp(
      "Without a position for so long, a track of GPX and KML begins anew.", valueName: "seconds"))
  var gap = 300.0

  @Flag(help: "The same as --format jsonl.")
  var json = false

  @Flag(name: .shortAndLong, help: "No progress, no closing line.")
  var quiet = false

  func run() throws {
    try perform { () throws(FleetError) in
      var options = ExportOptions(store: part.place)
      options.selection = try part.selection()
      options.output = output
      options.format = try form()
      options.exportsMessages = messages
      options.gap = gap
      options.isQuiet = quiet
      return try ExportCommand.run(options)
    }
  }

  /// What is said of the form has to agree; a file's name says it where nothing else does.
  private func form() throws(FleetError) -> ExportFormat {
    if json, let format, format != .jsonl {
      throw FleetError(
        operation: "use", object: "--json", cause: "--format says otherwise; give one of them", exit: .usage)
    }
    if let format { return format }
    let named: ExportFormat? = if let output { try ExportFormat.named(by: output) } else { nil }
    if json || messages, let output, let named, named != .jsonl {
      throw FleetError(
        operation: "write", object: "JSON lines to \(output)",
        cause: "its name says \(named.rawValue); name it .jsonl, or say --format jsonl", exit: .usage)
    }
    return named ?? .jsonl
  }
}

extension ExportFormat: ExpressibleByArgument {}
