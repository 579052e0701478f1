internal import Fleet
internal import FleetCommand
internal import FleetProgram
internal import FleetStore
internal import JSON
internal import Platform
internal import Sensors
internal import Spatial

extension BeaconsCommand {
  /// Prints a summary of a map, or some of its beacons.
  /// - Throws: `FleetError` for an unreadable map, and for invalid options.
  static func show(_ options: Beacons.Show) throws(FleetError) -> ExitStatus {
    guard options.within > 0, options.within <= 1e6 else {
      throw .usage("use", "--within \(options.within)", "must be metres, up to 1000000")
    }
    let wanted = try options.beacon.map { text throws(FleetError) in try beacon(text) }
    let place = try options.near.map { text throws(FleetError) in try coordinate(text) }
    let map = try FleetMapFile.read(options.map)
    guard wanted != nil || place != nil else {
      let summary = FleetMapSummary(map, day: Int(UTCTime.now.nanoseconds / 86_400_000_000_000))
      try CommandOutput.print(options.json ? summary.json + [0x0a] : Array(summary.text.utf8))
      return .done
    }
    var found = map.filter { wanted == nil || $0.place.beacon == wanted }.map { beacon in
      (beacon: beacon, distance: place.map { beacon.place.coordinate.distance(to: $0) })
    }
    if let wanted, found.isEmpty {
      throw .usage("show", wanted.text, "not in the map \(options.map)")
    }
    if place != nil {
      found = found.filter { $0.distance ?? 0 <= options.within }
        .sorted { ($0.distance ?? 0, $0.beacon.place.beacon) < ($1.distance ?? 0, $1.beacon.place.beacon) }
    }
    if options.json {
      try CommandOutput.print(found.flatMap { json($0.beacon, $0.distance) + [0x0a] })
    } else {
      try CommandOutput.print(table(found))
    }
    return .done
  }

  private static func beacon(_ text: String) throws(FleetError) -> Beacon {
    guard let beacon = Beacon(text: text.lowercased()) else {
      throw .usage(
        "look for", "\"\(text.prefix(60))\"",
        "neither an access point's address (b8:27:eb:00:12:34) nor a cell (lte-262-1-26385410)")
    }
    return beacon
  }

  private static func coordinate(_ text: String) throws(FleetError) -> Coordinate {
    let numbers = text.split(separator: ",", omittingEmptySubsequences: false).map {
      Double($0.drop { $0 == " " })
    }
    guard numbers.count == 2, let latitude = numbers[0], let longitude = numbers[1],
      Coordinate(latitude: latitude, longitude: longitude).isValid
    else {
      throw .usage(
        "use", "--near \(text.prefix(60))",
        "must be latitude and longitude in degrees, for example 48.1371,11.5754")
    }
    return Coordinate(latitude: latitude, longitude: longitude)
  }

  private static func date(_ day: Int) -> String {
    String(UTCTime(nanoseconds: Int64(min(day, 65_535)) * 86_400_000_000_000).rfc3339.prefix(10))
  }

  private static func table(_ found: [(beacon: FleetBeacon, distance: Double?)]) -> String {
    let head = [
      "BEACON", "LATITUDE", "LONGITUDE", "REACH", "HEARD", "VEHICLES", "LAST", "SOURCE", "DISTANCE",
    ]
    let rows = found.map { beacon, distance in
      let place = beacon.place
      return [
        place.beacon.text, FleetMapFile.fixed(place.coordinate.latitude, 6),
        FleetMapFile.fixed(place.coordinate.longitude, 6), "\(Int(place.reach.rounded(.up))) m",
        "\(place.sightings)", "\(beacon.vehicles)", date(place.lastSeen), beacon.service ?? FleetMapFile.own,
      ] + (distance.map { ["\(Int($0.rounded())) m"] } ?? [])
    }
    let columns = found.first?.distance == nil ? head.dropLast() : head[...]
    return TextColumns.text([Array(columns)] + rows, right: [1, 2, 3, 4, 5, 8])
  }

  private static func json(_ beacon: FleetBeacon, _ distance: Double?) -> [UInt8] {
    let place = beacon.place
    return JSONWriter.object { json in
      json.field("beacon", place.beacon.text)
      json.field("latitude", place.coordinate.latitude, decimals: 6)
      json.field("longitude", place.coordinate.longitude, decimals: 6)
      json.field("reach", place.reach, decimals: 0)
      json.field("sightings", place.sightings)
      json.field("vehicles", beacon.vehicles)
      json.field("lastSeen", date(place.lastSeen))
      json.field("source", beacon.service ?? FleetMapFile.own)
      json.field("distance", distance, decimals: 1)
    }
  }
}
