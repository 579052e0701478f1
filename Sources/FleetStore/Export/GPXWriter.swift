internal import Fleet
internal import Spatial

/// GPX 1.1 (Topografix, gpx.xsd): a `trk` for each vehicle, named `fleet/vehicle`, with a `trkseg` for each stretch. Speed
/// and course are Garmin's TrackPointExtension v2, which most readers know; the accuracy has no place in either.
struct GPXWriter: PositionWriter {
  var bytes: [UInt8] = []
  private var breaks: TrackBreaks
  private var isOpen = false

  init(gap: Double) { breaks = TrackBreaks(gap: gap) }

  mutating func begin() {
    write(
      """
      <?xml version="1.0" encoding="UTF-8"?>
      <gpx version="1.1" creator="odograph" xmlns="http://www.topografix.com/GPX/1/1" \
      xmlns:gpxtpx="http://www.garmin.com/xmlschemas/TrackPointExtension/v2" \
      xmlns:odograph="urn:odograph:export:1">

      """ as StaticString)
  }

  mutating func append(_ position: RecordedPosition) {
    switch breaks.place(of: position) {
    case .newVehicle:
      closeTrack()
      write("<trk><name>\(XMLText.escaped(position.vehicle.description))</name><trkseg>\n")
      isOpen = true
    case .newSegment: write("</trkseg><trkseg>\n" as StaticString)
    case .within: break
    }
    write("<trkpt lat=\"" as StaticString)
    write(position.coordinate.latitude, decimals: ExportPrecision.degrees)
    write("\" lon=\"" as StaticString)
    write(position.coordinate.longitude, decimals: ExportPrecision.degrees)
    write("\">" as StaticString)
    element("ele", position.altitude, decimals: ExportPrecision.metres)
    write("<time>" as StaticString)
    bytes.append(contentsOf: position.time.rfc3339Bytes)
    write("</time>" as StaticString)
    if position.accuracy != nil || position.speed != nil || position.course != nil {
      write("<extensions>" as StaticString)
      element("odograph:accuracy", position.accuracy, decimals: ExportPrecision.metres)
      if position.speed != nil || position.course != nil {
        write("<gpxtpx:TrackPointExtension>" as StaticString)
        element("gpxtpx:speed", position.speed, decimals: ExportPrecision.metres)
        element("gpxtpx:course", position.course, decimals: ExportPrecision.course)
        write("</gpxtpx:TrackPointExtension>" as StaticString)
      }
      write("</extensions>" as StaticString)
    }
    write("</trkpt>\n" as StaticString)
  }

  mutating func end() {
    closeTrack()
    write("</gpx>\n" as StaticString)
  }

  private mutating func element(_ name: StaticString, _ value: Double?, decimals: Int) {
    guard let value, value.isFinite else { return }
    write("<" as StaticString)
    write(name)
    write(">" as StaticString)
    write(value, decimals: decimals)
    write("</" as StaticString)
    write(name)
    write(">" as StaticString)
  }

  private mutating func closeTrack() {
    if isOpen { write("</trkseg></trk>\n" as StaticString) }
    isOpen = false
  }
}
