internal import ArgumentParser
internal import FleetCore

/// Which part of a recording is meant: the same for all commands that read one.
struct RecordingArguments: ParsableArguments {
  @Option(help: "Only this fleet; repeat for several.")
  var fleet: [String] = []

  @Option(help: "Only this vehicle; repeat for several.")
  var vehicle: [String] = []

  @Option(
    help: ArgumentHelp(
      "From this time on by the vehicle's clock: RFC 3339, or a day, which begins at midnight UTC.",
      valueName: "time"))
  var from: String?

  @Option(help: ArgumentHelp("Before this time.", valueName: "time"))
  var to: String?

  @Option(
    help: ArgumentHelp(
      "Only positions within the polygons, or circles, of this GeoJSON, KML or WKT file.", valueName: "file"))
  var region: String?

  func selection() throws(FleetError) -> RecordingSelection {
    var selection = RecordingSelection()
    selection.fleets = fleet
    selection.vehicles = vehicle
    try selection.setTimes(from: from, to: to)
    if let region { try selection.setRegion(region) }
    return selection
  }
}
