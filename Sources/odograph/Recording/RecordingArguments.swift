internal import ArgumentParser
internal import Fleet
internal import FleetCommand
internal import FleetManagement
internal import FleetProgram
internal import FleetStore
internal import JSON
internal import Spatial
internal import Telemetry

/// The common arguments of commands that read a part of a recording.
struct RecordingArguments: ParsableArguments {
  init() {}

  @Argument(
    help: ArgumentHelp(
      "The recording: an SQLite file, or a postgres:// URL (ODOGRAPH_STORE; default: odograph.sqlite).",
      valueName: "store"), completion: .file())
  var store: String?

  @OptionGroup var vehicles: VehicleArguments

  @Option(
    help: ArgumentHelp(
      "At or after this time of the vehicle's clock: RFC 3339, or a day (midnight UTC).",
      valueName: "time"))
  var from: String?

  @Option(help: ArgumentHelp("Before this time.", valueName: "time"))
  var to: String?

  @Option(
    help: ArgumentHelp(
      "Only positions within the polygons, or circles, of this GeoJSON, KML, KMZ or WKT file.",
      valueName: "file"),
    completion: .file())
  var region: String?

  /// The file or URL of the recording.
  var place: String { store ?? environment("ODOGRAPH_STORE") ?? "odograph.sqlite" }

  func selection() throws(FleetError) -> RecordingSelection {
    var selection = RecordingSelection()
    selection.fleets = vehicles.fleet
    selection.vehicles = vehicles.vehicle
    try selection.setTimes(from: from, to: to)
    if let region { selection.areas = try areas(of: region) }
    return selection
  }

  /// Returns the areas from the polygons and circles of a GeoJSON, KML, KMZ or WKT file.
  /// - Throws: `FleetError` with the file and the invalid area.
  private func areas(of path: String) throws(FleetError) -> [Area] {
    let document = try RegionImport.read(
      InputFile.read(path, limit: RegionImport.largest), of: path, radius: nil)
    var areas: [Area] = []
    for feature in document.features {
      do throws(JSONError) { areas.append(try feature.area()) } catch {
        throw .usage("use", "region \"\(feature.identifier)\" of \(path)", error.description)
      }
    }
    return areas
  }
}
