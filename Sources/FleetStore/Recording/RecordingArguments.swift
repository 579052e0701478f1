package import ArgumentParser
package import Fleet
package import FleetConsole

/// Which recording, and which part of it, is meant: the same for all commands that read one.
package struct RecordingArguments: ParsableArguments {
  package init() {}

  @Argument(
    help: ArgumentHelp(
      "The recording: an SQLite file, or a postgres:// URL (ODOGRAPH_STORE; default: odograph.sqlite).",
      valueName: "store"))
  package var store: String?

  @OptionGroup package var vehicles: VehicleArguments

  @Option(
    help: ArgumentHelp(
      "From this time on by the vehicle's clock: RFC 3339, or a day, which begins at midnight UTC.",
      valueName: "time"))
  package var from: String?

  @Option(help: ArgumentHelp("Before this time.", valueName: "time"))
  package var to: String?

  @Option(
    help: ArgumentHelp(
      "Only positions within the polygons, or circles, of this GeoJSON, KML or WKT file.", valueName: "file"))
  package var region: String?

  /// The file or URL that is meant.
  package var place: String { store ?? environment("ODOGRAPH_STORE") ?? "odograph.sqlite" }

  package func selection() throws(FleetError) -> RecordingSelection {
    var selection = RecordingSelection()
    selection.fleets = vehicles.fleet
    selection.vehicles = vehicles.vehicle
    try selection.setTimes(from: from, to: to)
    if let region { try selection.setRegion(region) }
    return selection
  }
}
