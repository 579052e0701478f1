internal import Fleet
package import JSON
package import Spatial
internal import Telemetry

extension ReportedTrip: JournalEntry {
  /// The columns of the table `trips`.
  package static var columns: String {
    "series,number,revision,phase,kind,"
      + "start_time,start_latitude,start_longitude,start_accuracy,start_odometer,"
      + "end_time,end_latitude,end_longitude,end_accuracy,end_odometer,"
      + "distance,estimated,moving,standing,idling,greatest_speed,mean_speed,fuel,electricity,events,driver,purpose"
  }

  package var fields: [String] {
    var fields = [
      trip.trip.series, "\(trip.trip.number)", "\(trip.revision)", trip.phase.rawValue,
      CSVText.quoted(trip.kind.name),
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
    return fields + [
      CSVText.quoted(events.joined(separator: "; ")), CSVText.quoted(trip.driver ?? ""),
      CSVText.quoted(trip.purpose ?? ""),
    ]
  }

  /// The track. GeoJSON has no times, so they are in the property `coordinateProperties`, where other tools
  /// put them, too.
  package var lines: [[Coordinate]] {
    trip.way.count > 1 ? timedLines.map { $0.map(\.coordinate) } : []
  }

  private var timedLines: [[TimedPlace]] {
    let way = trip.way.map { TimedPlace(time: $0.time, coordinate: $0.coordinate) }
    return Antimeridian.cut(way, \.coordinate.longitude) { last, next, share in
      var crossing = last
      crossing.time = last.time.advanced(bySeconds: share * next.time.seconds(since: last.time))
      crossing.coordinate.latitude += share * (next.coordinate.latitude - last.coordinate.latitude)
      return crossing
    }
  }

  package static var geometryMembers: Set<String> { ["way"] }

  package func writeProperties(to json: inout JSONWriter) {
    guard trip.way.count > 1 else { return }
    let times = timedLines.map { $0.map(\.time.rfc3339) }
    json.field("coordinateProperties") { json in
      guard times.count > 1 else { return json.field("times", texts: times.joined().map(\.self)) }
      json.key("times")
      json.openArray()
      for line in times {
        json.openArray()
        for time in line { json.value(time) }
        json.closeArray()
      }
      json.closeArray()
    }
  }

  /// A GPX `trk` element whose name is `fleet/vehicle number`.
  package var gpx: String? {
    guard !trip.way.isEmpty else { return nil }
    let name = XMLText.escaped("\(vehicle) \(trip.trip.number)")
    var text = "<trk><name>\(name)</name><type>\(XMLText.escaped(trip.kind.name))</type>"
    for line in timedLines {
      text += "<trkseg>\n"
      for place in line {
        text += GPXText.point("trkpt", place.coordinate, "<time>\(place.time.rfc3339)</time>")
      }
      text += "</trkseg>"
    }
    return text + "</trk>\n"
  }
}

/// A point of a trip's track.
private struct TimedPlace {
  var time: UTCTime
  var coordinate: Coordinate
}
