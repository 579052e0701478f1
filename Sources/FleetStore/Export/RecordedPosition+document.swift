internal import Fleet
package import JSON
internal import Spatial
internal import Telemetry

extension RecordedPosition: DocumentEntry {
  package static var columns: String { "time,latitude,longitude,altitude,accuracy,speed,course,source" }

  package var fields: [String] {
    [
      time.rfc3339, ExportText.degrees(coordinate.latitude), ExportText.degrees(coordinate.longitude),
      ExportText.metres(altitude), ExportText.metres(accuracy), ExportText.metres(speed),
      ExportText.decimal(course, ExportPrecision.course), source.rawValue,
    ]
  }

  /// Appends an object with the member names of the native `location` message.
  package func appendLine(to bytes: inout [UInt8]) {
    bytes.append(contentsOf: JSONWriter.object { json in json.write(self, withPlace: true) })
    bytes.append(0x0A)
  }

  package func writeFeature(to json: inout JSONWriter) {
    json.field("geometry") { json in
      json.field("type", "Point")
      json.key("coordinates")
      json.write(coordinate, altitude: altitude)
    }
    json.field("properties") { json in json.write(self, withPlace: false) }
  }
}

extension JSONWriter {
  fileprivate mutating func write(_ position: RecordedPosition, withPlace: Bool) {
    field("fleet", position.vehicle.fleet)
    field("vehicle", position.vehicle.vehicle)
    field("time", position.time.rfc3339)
    if withPlace {
      field("latitude", position.coordinate.latitude, decimals: ExportPrecision.degrees)
      field("longitude", position.coordinate.longitude, decimals: ExportPrecision.degrees)
      field("altitude", position.altitude, decimals: ExportPrecision.metres)
    }
    field("horizontalAccuracy", position.accuracy, decimals: ExportPrecision.metres)
    field("speed", position.speed, decimals: ExportPrecision.metres)
    field("course", position.course, decimals: ExportPrecision.course)
    field("source", position.source.rawValue)
  }
}
