internal import Fleet
internal import Spatial

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
