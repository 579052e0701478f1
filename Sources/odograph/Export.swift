internal import ArgumentParser
internal import FleetStore

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

  @OptionGroup var options: ExportOptions

  func run() throws { try perform(ExportCommand.run, options) }
}
