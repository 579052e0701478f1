internal import Fleet
internal import Spatial

/// A GPX 1.1 writer (Topografix, gpx.xsd): a `trk` for each vehicle, named `fleet/vehicle`, with a `trkseg`
/// for each segment between gaps. Speed and course use Garmin's TrackPointExtension v2, which most programs
/// support. GPX and this extension have no field for the accuracy.
struct GPXWriter: DocumentWriter {
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

      """)
  }

  mutating func append(_ position: RecordedPosition) {
    switch breaks.place(of: position) {
    case .newVehicle:
      closeTrack()
      write("<trk><name>\(XMLText.escaped(position.vehicle.description))</name><trkseg>\n")
      isOpen = true
    case .newSegment: write("</trkseg><trkseg>\n")
    case .within: break
    }
    let (metres, course) = (ExportPrecision.metres, ExportPrecision.course)
    write("<trkpt lat=\"\(ExportText.degrees(position.coordinate.latitude))\"")
    write(" lon=\"\(ExportText.degrees(position.coordinate.longitude))\">")
    write(XMLText.element("ele", position.altitude, metres))
    write("<time>\(position.time.rfc3339)</time>")
    let motion =
      XMLText.element("gpxtpx:speed", position.speed, metres)
      + XMLText.element("gpxtpx:course", position.course, course)
    let extensions =
      XMLText.element("odograph:accuracy", position.accuracy, metres)
      + (position.source.isOnPath ? "" : "<odograph:source>\(position.source.rawValue)</odograph:source>")
      + (motion.isEmpty ? "" : "<gpxtpx:TrackPointExtension>\(motion)</gpxtpx:TrackPointExtension>")
    if !extensions.isEmpty { write("<extensions>\(extensions)</extensions>") }
    write("</trkpt>\n")
  }

  mutating func end() {
    closeTrack()
    write("</gpx>\n")
  }

  private mutating func closeTrack() {
    if isOpen { write("</trkseg></trk>\n") }
    isOpen = false
  }
}

/// A KML 2.2 writer (OGC 07-147r2): a folder for each vehicle, with its tracks as Google's `gx:Track` with
/// times. In a `gx:Track`, all times precede all positions, so each track is buffered until it is complete.
/// Long tracks are split after some thousand points; the next `gx:Track` starts with the last point of the
/// previous one.
struct KMLWriter: DocumentWriter {
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

      """)
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
    write("</Document></kml>\n")
  }

  private mutating func writeTrack() {
    guard !track.isEmpty else { return }
    // The track uses absolute altitudes only if every point has an altitude, because KML would draw a missing
    // one at sea level.
    let hasAltitudes = track.allSatisfy { $0.altitude != nil }
    write("<gx:Track><altitudeMode>\(hasAltitudes ? "absolute" : "clampToGround")</altitudeMode>\n")
    for position in track { write("<when>\(position.time.rfc3339)</when>\n") }
    for position in track {
      let (place, altitude) = (position.coordinate, hasAltitudes ? position.altitude ?? 0 : 0)
      write("<gx:coord>\(ExportText.degrees(place.longitude)) \(ExportText.degrees(place.latitude)) ")
      write("\(ExportText.metres(altitude))</gx:coord>\n")
    }
    write("</gx:Track>\n")
    track.removeAll(keepingCapacity: true)
  }

  private mutating func closePlacemark() {
    writeTrack()
    if isOpen { write("</gx:MultiTrack></Placemark>\n") }
    isOpen = false
  }
}
