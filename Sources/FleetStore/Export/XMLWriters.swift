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

/// KML 2.2 (OGC 07-147r2) with Google's `gx:Track`: a folder's worth of stretches for each vehicle, each with its times.
///
/// A `gx:Track` has all of its times before all of its places, so one is held back until it is complete; it is cut after
/// some thousand points, and the next goes on from its last.
struct KMLWriter: PositionWriter {
  private static let longest = 4000

  var bytes: [UInt8] = []
  private var breaks: TrackBreaks
  private var track: [RecordedPosition] = []
  private var isOpen = false

  init(gap: Double) { breaks = TrackBreaks(gap: gap) }

  mutating func begin() {
    write(
      """
      <?xml version="1.0" encoding="UTF-8"?>
      <kml xmlns="http://www.opengis.net/kml/2.2" xmlns:gx="http://www.google.com/kml/ext/2.2"><Document>

      """ as StaticString)
  }

  mutating func append(_ position: RecordedPosition) {
    switch breaks.place(of: position) {
    case .newVehicle:
      closePlacemark()
      write("<Placemark><name>\(XMLText.escaped(position.vehicle.description))</name><gx:MultiTrack>\n")
      isOpen = true
    case .newSegment: writeTrack()
    case .within:
      guard track.count >= Self.longest, let last = track.last else { break }
      writeTrack()
      track.append(last)
    }
    track.append(position)
  }

  mutating func end() {
    closePlacemark()
    write("</Document></kml>\n" as StaticString)
  }

  private mutating func writeTrack() {
    guard !track.isEmpty else { return }
    // Altitudes are drawn only where each point has one: a missing one is not the sea's level.
    let hasAltitudes = track.allSatisfy { $0.altitude != nil }
    write("<gx:Track><altitudeMode>" as StaticString)
    write(hasAltitudes ? "absolute" as StaticString : "clampToGround")
    write("</altitudeMode>\n" as StaticString)
    for position in track {
      write("<when>" as StaticString)
      bytes.append(contentsOf: position.time.rfc3339Bytes)
      write("</when>\n" as StaticString)
    }
    for position in track {
      write("<gx:coord>" as StaticString)
      write(position.coordinate.longitude, decimals: ExportPrecision.degrees)
      write(" " as StaticString)
      write(position.coordinate.latitude, decimals: ExportPrecision.degrees)
      write(" " as StaticString)
      write(hasAltitudes ? position.altitude ?? 0 : 0, decimals: ExportPrecision.metres)
      write("</gx:coord>\n" as StaticString)
    }
    write("</gx:Track>\n" as StaticString)
    track.removeAll(keepingCapacity: true)
  }

  private mutating func closePlacemark() {
    writeTrack()
    if isOpen { write("</gx:MultiTrack></Placemark>\n" as StaticString) }
    isOpen = false
  }
}
