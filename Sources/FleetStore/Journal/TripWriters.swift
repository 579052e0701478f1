internal import Fleet
internal import FleetConsole
internal import JSON
internal import Spatial
internal import Telemetry

extension JournalFormat {
  /// - Parameter isSheet: whether a person wants all of one trip, and not a line for each.
  func tripWriter(isSheet: Bool) -> any JournalWriter<ToldTrip> {
    switch self {
    case .text: isSheet ? TripSheetWriter() : TripLinesWriter()
    case .csv: TripCSVWriter()
    case .jsonl: TripJSONLinesWriter()
    case .geojson: TripGeoJSONWriter()
    case .gpx: TripGPXWriter()
    }
  }
}

/// CSV: a head, and a line for each trip, with the columns of the table `trips`. What is not known is empty.
struct TripCSVWriter: JournalWriter {
  var bytes: [UInt8] = []

  mutating func begin() {
    write(
      """
      fleet,vehicle,series,number,revision,phase,kind,\
      start_time,start_latitude,start_longitude,start_accuracy,start_odometer,\
      end_time,end_latitude,end_longitude,end_accuracy,end_odometer,\
      distance,estimated,moving,standing,idling,greatest_speed,mean_speed,fuel,electricity,events,driver,purpose

      """)
  }

  mutating func append(_ told: ToldTrip) {
    let trip = told.trip
    var fields = [
      CSVWriter.quoted(told.vehicle.fleet), CSVWriter.quoted(told.vehicle.vehicle), trip.trip.series,
      "\(trip.trip.number)", "\(trip.revision)", trip.phase.rawValue, CSVWriter.quoted(trip.kind.name),
    ]
    for end in [trip.start, trip.end] {
      fields += [
        end.time.rfc3339, end.coordinate.map { ExportText.degrees($0.latitude) } ?? "",
        end.coordinate.map { ExportText.degrees($0.longitude) } ?? "",
        ExportText.metres(end.horizontalAccuracy), ExportText.metres(end.odometer),
      ]
    }
    fields += [
      trip.distance, trip.estimated, trip.moving, trip.standing, trip.idling, trip.greatestSpeed,
      trip.meanSpeed, trip.fuel, trip.electricity,
    ].map { ExportText.decimal($0, ExportPrecision.metres) }
    let events = trip.events.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
    fields += [
      CSVWriter.quoted(events.joined(separator: "; ")), CSVWriter.quoted(trip.driver ?? ""),
      CSVWriter.quoted(trip.purpose ?? ""),
    ]
    write(fields.joined(separator: ",") + "\n")
  }

  mutating func end() {}
}

/// JSON lines: the message as it came, with fleet and vehicle.
struct TripJSONLinesWriter: JournalWriter {
  var bytes: [UInt8] = []

  mutating func begin() {}
  mutating func append(_ told: ToldTrip) { bytes.append(json: told.payload, of: told.vehicle) }
  mutating func end() {}
}

extension [UInt8] {
  /// Writes an object as a line, with whose it is behind its own members: what comes last of a name counts, so that no vehicle
  /// passes for another.
  mutating func append(json object: [UInt8], of vehicle: VehicleKey) {
    var line: [UInt8] = []
    switch JSONScan(object.span) {
    case .valid: line = object
    case .validAfterEscaping: line.appendJSON(line: object.span)
    case .invalid, .stopped: return
    }
    guard let end = line.lastIndex(of: UInt8(ascii: "}")) else { return }
    append(contentsOf: line[..<end])
    append(contentsOf: ",\"fleet\":".utf8)
    appendJSON(quoting: vehicle.fleet)
    append(contentsOf: ",\"vehicle\":".utf8)
    appendJSON(quoting: vehicle.vehicle)
    append(contentsOf: "}\n".utf8)
  }
}

/// GeoJSON: a FeatureCollection with the way of each trip, one in a line, and what its message says in the properties. The times of
/// the places are in `coordinateProperties`, as other tools write and read them. A trip without a way has no geometry.
struct TripGeoJSONWriter: JournalWriter {
  var bytes: [UInt8] = []
  private var isFirst = true

  mutating func begin() { write("{\"type\":\"FeatureCollection\",\"features\":[") }

  mutating func append(_ told: ToldTrip) {
    write(isFirst ? "\n" : ",\n")
    isFirst = false
    let way = told.trip.way
    bytes.append(
      contentsOf: JSONWriter.object { json in
        json.field("type", "Feature")
        if way.count > 1 {
          json.field("geometry") { json in
            json.field("type", "LineString")
            json.key("coordinates")
            json.openArray()
            for place in way { json.write(place.coordinate) }
            json.closeArray()
          }
        } else {
          json.key("geometry")
          json.value(JSONValue.null)
        }
        json.field("properties") { json in
          json.write(told.payload, of: told.vehicle, without: ["way", "epoch", "seq"])
          guard way.count > 1 else { return }
          json.field("coordinateProperties") { json in
            json.field("times", texts: way.map(\.time.rfc3339))
          }
        }
      })
  }

  mutating func end() { write("\n]}\n") }
}

extension JSONWriter {
  /// Longitude and latitude, in this order.
  mutating func write(_ coordinate: Coordinate) {
    openArray()
    value(coordinate.longitude, decimals: ExportPrecision.degrees)
    value(coordinate.latitude, decimals: ExportPrecision.degrees)
    closeArray()
  }

  /// The members of a message that were not left out, and whose it is.
  mutating func write(_ payload: [UInt8], of vehicle: VehicleKey, without names: Set<String>) {
    field("fleet", vehicle.fleet)
    field("vehicle", vehicle.vehicle)
    guard let json = try? JSONValue(parsing: payload), case .object(let members) = json else { return }
    for (name, member) in members.sorted(by: { $0.key < $1.key })
    where !names.contains(name) && !["fleet", "vehicle"].contains(name) {
      key(name)
      value(member)
    }
  }
}

/// GPX 1.1 (Topografix, gpx.xsd): a `trk` for each trip, named `fleet/vehicle number`. One without a way has none.
struct TripGPXWriter: JournalWriter {
  var bytes: [UInt8] = []

  mutating func begin() { write(GPXText.head) }

  mutating func append(_ told: ToldTrip) {
    guard !told.trip.way.isEmpty else { return }
    let name = XMLText.escaped("\(told.vehicle) \(told.trip.trip.number)")
    write("<trk><name>\(name)</name><type>\(XMLText.escaped(told.trip.kind.name))</type><trkseg>\n")
    for place in told.trip.way {
      write(GPXText.point("trkpt", place.coordinate, "<time>\(place.time.rfc3339)</time>"))
    }
    write("</trkseg></trk>\n")
  }

  mutating func end() { write("</gpx>\n") }
}

/// What tracks and waypoints have in common.
enum GPXText {
  static let head = """
    <?xml version="1.0" encoding="UTF-8"?>
    <gpx version="1.1" creator="odograph" xmlns="http://www.topografix.com/GPX/1/1">

    """

  static func point(_ element: String, _ place: Coordinate, _ content: String) -> String {
    let (latitude, longitude) = (ExportText.degrees(place.latitude), ExportText.degrees(place.longitude))
    return "<\(element) lat=\"\(latitude)\" lon=\"\(longitude)\">\(content)</\(element)>\n"
  }
}
