import Fleet
import FleetFixtures
import Foundation
import JSON
import Spatial
import Telemetry
import Testing

@testable import FleetStore

/// Documents of all formats, also with hostile names.
@Suite struct PositionWriterTests {
  private func position(
    _ seconds: Double, vehicle: String = "van", latitude: Double = 48.1234567, full: Bool = true
  ) -> RecordedPosition {
    RecordedPosition(
      vehicle: VehicleKey(fleet: "demo", vehicle: vehicle), time: noon.advanced(bySeconds: seconds),
      coordinate: Coordinate(latitude: latitude, longitude: -0.00001), altitude: full ? 520.25 : nil,
      accuracy: full ? 4.5 : nil, speed: full ? 13.25 : nil, course: full ? 90 : nil,
      source: full ? .location : .track)
  }

  private func text(_ format: ExportFormat, _ positions: [RecordedPosition], gap: Double = 60) -> String {
    guard var writer = format.writer(gap: gap) else { return "" }
    writer.begin()
    for position in positions { writer.append(position) }
    writer.end()
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  /// Table: the document of two positions, or its middle.
  @Test func everyFormat() throws {
    let both = [position(0), position(1, full: false)]
    #expect(
      text(.csv, both) == """
        fleet,vehicle,time,latitude,longitude,altitude,accuracy,speed,course,source
        demo,van,2026-11-21T12:00:00.000Z,48.1234567,-0.00001,520.25,4.5,13.25,90,location
        demo,van,2026-11-21T12:00:01.000Z,48.1234567,-0.00001,,,,,track

        """)
    #expect(
      text(.jsonl, both).split(separator: "\n").last ?? ""
        == #"{"fleet":"demo","vehicle":"van","time":"2026-11-21T12:00:01.000Z","latitude":48.1234567,"longitude":-0.00001,"source":"track"}"#
    )
    let geojson = try #require(
      JSONSerialization.jsonObject(with: Data(text(.geojson, both).utf8)) as? [String: Any])
    let features = try #require(geojson["features"] as? [[String: Any]])
    #expect(
      (features[0]["geometry"] as? [String: Any])?["coordinates"] as? [Double] == [
        -0.00001, 48.1234567, 520.25,
      ])
    #expect(
      (features[1]["geometry"] as? [String: Any])?["coordinates"] as? [Double] == [-0.00001, 48.1234567])
    #expect((features[0]["properties"] as? [String: Any])?["speed"] as? Double == 13.25)
    #expect(
      text(.gpx, both).contains(
        #"""
        <trkpt lat="48.1234567" lon="-0.00001"><ele>520.25</ele><time>2026-11-21T12:00:00.000Z</time><extensions><odograph:accuracy>4.5</odograph:accuracy><gpxtpx:TrackPointExtension><gpxtpx:speed>13.25</gpxtpx:speed><gpxtpx:course>90</gpxtpx:course></gpxtpx:TrackPointExtension></extensions></trkpt>
        <trkpt lat="48.1234567" lon="-0.00001"><time>2026-11-21T12:00:01.000Z</time></trkpt>
        """#))
    #expect(
      text(.kml, both).contains("<when>2026-11-21T12:00:01.000Z</when>\n<gx:coord>-0.00001 48.1234567 0"))
  }

  @Test func aDocumentWithoutPositionsIsValid() throws {
    #expect(text(.jsonl, []).isEmpty && text(.csv, []).split(separator: "\n").count == 1)
    _ = try JSONSerialization.jsonObject(with: Data(text(.geojson, []).utf8))
    for format in [ExportFormat.gpx, .kml] {
      #expect(try elements(of: text(format, [])).count == (format == .gpx ? 1 : 2))
    }
  }

  @Test func tracksBreakAtVehiclesAndGaps() throws {
    let positions = [
      position(0), position(59), position(121), position(0, vehicle: "car"), position(1, vehicle: "car"),
    ]
    let gpx = try elements(of: text(.gpx, positions))
    let count = { (names: [String], name: String) in names.filter { $0 == name }.count }
    #expect(count(gpx, "trk") == 2)
    #expect(count(gpx, "trkseg") == 3)
    let kml = try elements(of: text(.kml, positions))
    #expect(count(kml, "Placemark") == 2)
    #expect(count(kml, "gx:Track") == 3)
  }

  /// Coarse and suspect positions are not connected by lines, and formats with a field for the source contain it.
  @Test(arguments: [RecordedPosition.Source.coarse, .suspect])
  func doubtfulPositionsAreNotConnected(_ source: RecordedPosition.Source) throws {
    var doubtful = position(2, latitude: 48.2)
    doubtful.source = source
    let positions = [position(0), position(1), doubtful, position(3), position(4)]
    for (format, name) in [(ExportFormat.gpx, "trkseg"), (.kml, "gx:Track")] {
      #expect(try elements(of: text(format, positions)).filter { $0 == name }.count == 3, "\(format)")
    }
    #expect(text(.gpx, positions).contains("<odograph:source>\(source.rawValue)</odograph:source>"))
    for format in [ExportFormat.csv, .jsonl, .geojson] {
      #expect(
        text(format, positions).split(separator: "\n").filter { $0.contains(source.rawValue) }.count == 1)
    }
  }

  /// No line crosses the antimeridian.
  @Test func linesEndAtTheAntimeridian() throws {
    let positions = [179.98, 179.99, -180, -179.99].enumerated().map { second, longitude in
      var position = position(Double(second))
      position.coordinate.longitude = longitude
      return position
    }
    for (format, name) in [(ExportFormat.gpx, "trkseg"), (.kml, "gx:Track")] {
      #expect(try elements(of: text(format, positions)).filter { $0 == name }.count == 2, "\(format)")
    }
  }

  /// A long drive is split into tracks that share their ends, so that buffered data is bounded.
  @Test func longDrivesAreSplitInKML() throws {
    let positions = (0..<9000).map { position(Double($0), full: false) }
    let kml = try elements(of: text(.kml, positions))
    #expect(kml.filter { $0 == "gx:Track" }.count == 3)
    #expect(kml.filter { $0 == "gx:coord" }.count == 9002 && kml.filter { $0 == "when" }.count == 9002)
  }

  @Test func hostileNamesAreHarmless() throws {
    let name = "\u{1B}[2J</name>&\"',\n\u{9B}\u{0}=1+1\u{202E}\u{2069}\u{61C}\u{200F}\u{E0041}"
    for format in ExportFormat.allCases where format != .parquet {
      let text = text(format, [position(0, vehicle: name)])
      #expect(!text.unicodeScalars.contains { $0.isUnseen && $0 != "\n" }, "\(format)")
      if format == .gpx || format == .kml { _ = try elements(of: text) }
    }
    #expect(text(.csv, [position(0, vehicle: name)]).split(separator: "\n").count == 2)
    #expect(CSVText.quoted("a,\"b\"") == #""a,""b""""#)
    // Spreadsheets evaluate none of these. Without one leading apostrophe the text is unchanged.
    for text in ["=1+1", "+49", "-5", "@SUM(A1)", "'quoted", "van-1", "", "=HYPERLINK(\"x\",\"y\")"] {
      let field = CSVText.quoted(text)
      let cell =
        field.hasPrefix("\"") ? String(field.dropFirst().dropLast()).replacing("\"\"", with: "\"") : field
      #expect(!(cell.first.map { "=+-@".contains($0) } ?? false), "\(field)")
      #expect((cell.hasPrefix("'") ? String(cell.dropFirst()) : cell) == text)
    }
  }

  /// Numbers have no exponent, and NaN is omitted.
  @Test func numbersAreDecimals() {
    var small = position(0, latitude: 1e-7)
    small.altitude = .nan
    small.speed = 1e-9
    let line = text(.csv, [small]).split(separator: "\n").last ?? ""
    #expect(line.contains(",0.0000001,-0.00001,,4.5,0,90,"))
  }

  /// Returns the names of the elements; throws if the text is not well-formed.
  private func elements(of xml: String) throws -> [String] {
    var names: [String] = []
    var open: [String] = []
    for tag in xml.matches(of: /<(\/?)([A-Za-z:]+)((?:\s+[A-Za-z:]+="[^"<]*")*)\s*>/) {
      if tag.1.isEmpty {
        names.append(String(tag.2))
        open.append(String(tag.2))
      } else if open.popLast() != String(tag.2) {
        throw NotWellFormed()
      }
    }
    // Every angle bracket belongs to one of the tags.
    let tags = xml.matches(of: /<(\/?)([A-Za-z:]+)((?:\s+[A-Za-z:]+="[^"<]*")*)\s*>/).count
    guard open.isEmpty, xml.filter({ $0 == "<" }).count == tags + 1 else { throw NotWellFormed() }
    return names
  }

  private struct NotWellFormed: Error {}
}
