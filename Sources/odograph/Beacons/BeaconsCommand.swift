internal import Fleet
internal import FleetCommand
internal import FleetProgram
internal import FleetStore
internal import JSON
internal import Sensors
internal import Telemetry

/// The `odograph beacons` commands: build the fleet's map of radio beacons, and serve it to vehicles.
enum BeaconsCommand {
  /// Builds a map from the scans in a recording.
  /// - Throws: `FleetError` for invalid options, a missing recording, and a failed output.
  static func build(_ options: Beacons.Build) throws(FleetError) -> ExitStatus {
    guard (1...1_000_000).contains(options.vehicles), (1...65_535).contains(options.sightings) else {
      throw .usage(
        "require", "\(options.vehicles) vehicles and \(options.sightings) sightings",
        "--vehicles must be 1 to 1000000, --sightings must be 1 to 65535")
    }
    var selection = try options.part.selection()
    selection.kinds = [MessageKind.scan.rawValue]
    let service = try options.geolocate.service(beside: options.output)
    let monitor = WorkMonitor(try CommandWaiter(), isQuiet: options.isQuiet)
    let recording = try RecordingAddress.open(options.part.place) { monitor.shouldContinue() }
    var output = try OutputFile(
      path: options.output, replaces: options.force, inputs: RecordingAddress.files(of: options.part.place)
    ) { monitor.shouldContinue() }
    var builder = BeaconMapBuilder()
    var unreadable = 0
    try recording.readMessages(selection) { message throws(FleetError) in
      guard let vehicle = message.vehicle, let json = try? JSONValue(parsing: message.payload),
        let scans = try? ScanMessage(json: json)
      else {
        unreadable += 1
        return true
      }
      builder.add(scans, from: vehicle, received: message.received)
      monitor.show { [builder] in "\(builder.counts.scans) scans" }
      return monitor.shouldContinue()
    }
    monitor.clear()
    if let ending = monitor.ending { return try ending.status() }
    var map = builder.map(
      BeaconMapBuilder.Requirements(vehicles: options.vehicles, sightings: options.sightings))
    var lookup: GeolocateResult?
    if let service {
      let found = try service.complete(
        map, builder, recording, selection,
        GeolocateControl(
          shouldContinue: { monitor.shouldContinue() }, waits: { monitor.waits(seconds: $0) },
          starts: { monitor.awaited = service.address.host },
          advances: { number, count in monitor.show { "\(number) of \(count) places" } }))
      monitor.clear()
      if let ending = monitor.ending { return try ending.status() }
      map = (map + found.beacons).sorted { $0.place.beacon < $1.place.beacon }
      lookup = found
    }
    var text = FleetMapFile.head + "\n"
    for beacon in map { text += FleetMapFile.line(beacon) + "\n" }
    guard try output.write(Array(text.utf8), shouldContinue: { monitor.shouldContinue() }) else {
      return .done
    }
    try output.finish()
    if !options.isQuiet {
      StandardError.report(summary(map.filter { $0.service == nil }, builder.counts, unreadable: unreadable))
      if let lookup { StandardError.report(lookup.summary) }
    }
    if let service, let fault = lookup?.fault {
      throw FleetError(
        operation: "go on asking", object: service.address.host,
        cause: "\(fault); the map is written with what came before", kind: .unavailable)
    }
    return .done
  }

  /// Returns a summary of the map and its input.
  private static func summary(
    _ map: [FleetBeacon], _ counts: BeaconMapBuilder.Counts, unreadable: Int
  ) -> String {
    guard counts.scans > 0 else {
      return "no scans in it: vehicles publish them with beacons.share = true; the map is empty"
    }
    let cells = map.count { $0.place.beacon.technology.isCell }
    var text =
      "\(map.count - cells) access points and \(cells) cells from \(counts.scans) scans of \(counts.vehicles) vehicle"
      + "\(counts.vehicles == 1 ? "" : "s"); left out: \(counts.disputed) that move or are disputed, \(counts.rare) with too few reports"
    if counts.misdated > 0 { text += ", \(counts.misdated) scans with impossible times" }
    if unreadable > 0 { text += ", \(unreadable) messages that are not scans" }
    return text + "; the map contains no vehicle names, and of times only the day of the last reception"
  }
}
