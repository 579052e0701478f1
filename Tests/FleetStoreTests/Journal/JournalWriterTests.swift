import Fleet
import FleetFixtures
import Foundation
import FoundationXML
import JSON
import Spatial
import Telemetry
import Testing
import VehicleData

@testable import FleetStore

/// Trips and driving events as CSV, JSON lines, GeoJSON and GPX.
@Suite struct JournalWriterTests {
  private typealias Entry = JournalMessages

  private let van = VehicleKey(fleet: "demo", vehicle: "van")

  private func trip(_ message: (String, String), _ vehicle: VehicleKey? = nil) throws -> ReportedTrip {
    try #require(ReportedTrip(vehicle: vehicle ?? van, payload: Array(message.1.utf8)))
  }

  private func event(_ message: (String, String), _ vehicle: VehicleKey? = nil) throws -> ReportedDrivingEvent
  {
    try #require(ReportedDrivingEvent(vehicle: vehicle ?? van, payload: Array(message.1.utf8)))
  }

  private func text<Entry>(_ writer: any DocumentWriter<Entry>, _ all: [Entry]) -> String {
    func written(_ given: some DocumentWriter<Entry>) -> String {
      var writer = given
      writer.begin()
      for told in all { writer.append(told) }
      writer.end()
      return String(decoding: writer.bytes, as: UTF8.self)
    }
    return written(writer)
  }

  @Test func csvHasTheColumnsOfTheTables() throws {
    let trips = text(
      CSVWriter<ReportedTrip>(), [try trip(Entry.trip(7, driver: #"Ann "A", B"#))])
    let lines = trips.split(separator: "\n")
    #expect(
      lines == [
        """
        fleet,vehicle,series,number,revision,phase,kind,start_time,start_latitude,start_longitude,start_accuracy,\
        start_odometer,end_time,end_latitude,end_longitude,end_accuracy,end_odometer,distance,estimated,moving,standing,\
        idling,greatest_speed,mean_speed,fuel,electricity,events,driver,purpose
        """,
        """
        demo,van,0123456789abcdef,7,1,ended,driven,2026-11-21T12:00:00.000Z,48.125,11.5,2.5,1200,\
        2026-11-21T12:10:00.000Z,48.25,11.75,,1700,500,12.5,540,60,8.5,13.25,1,0.125,-0.5,harshBraking 2; kerb 1,\
        "Ann ""A"", B",delivery
        """,
      ])
    let names = JournalTable.trips.columns.filter { $0 != " " }.split(separator: ",")
    let others = ["received", "epoch", "seq"]
    #expect(lines[0].split(separator: ",") == names.filter { !others.contains(String($0)) })
    let events = text(
      CSVWriter<ReportedDrivingEvent>(), [try event(Entry.event(2, .overSpeed, region: "a,b"))]
    ).split(separator: "\n")
    #expect(
      events[1]
        == #"demo,van,0123456789abcdef,2,2026-11-21T12:00:00.000Z,overSpeed,false,1,48.125,11.5,2.5,12.5,4.25,3,1.5,medium,0.875,"a,b""#
    )
    let columns = JournalTable.drivingEvents.columns.filter { $0 != " " }.split(separator: ",")
    #expect(events[0].split(separator: ",") == columns.filter { !others.contains(String($0)) })
  }

  /// Fleet and vehicle come from the topic, not from the message.
  @Test func jsonLinesAreTheMessagesWithTheirVehicles() throws {
    var message = Entry.trip(7)
    message.1.removeLast()
    message.1 += #","fleet":"other","vehicle":"other","later":{"a":[1]}}"#
    let line = text(JSONLinesWriter<ReportedTrip>(), [try trip(message)])
    #expect(line.hasSuffix("}\n") && line.split(separator: "\n").count == 1)
    let json = try JSONValue(parsing: Array(line.utf8))
    #expect(json["vehicle"]?.string == "van" && json["fleet"]?.string == "demo")
    #expect(json["distance"]?.double == 500 && json["later"]?["a"]?.array?.count == 1)
    #expect(try TripMessage(json: json).way.count == 3)
    let other = text(JSONLinesWriter<ReportedDrivingEvent>(), [try event(Entry.event(2))])
    #expect(try JSONValue(parsing: Array(other.utf8))["event"]?.string == "harshBraking")
  }

  @Test func geoJSONHasTheWayWithItsTimes() throws {
    let way = #""way":{"#
    let told = Entry.trip(7)
    let start = try #require(told.1.range(of: way))
    let end = try #require(told.1.range(of: "},", range: start.upperBound..<told.1.endIndex))
    let without = told.1.replacingCharacters(in: start.lowerBound..<end.upperBound, with: "")
    let document = text(
      GeoJSONWriter<ReportedTrip>(), [try trip(told), try trip((told.0, without))])
    let json = try JSONValue(parsing: Array(document.utf8))
    let features = try #require(json["features"]?.array)
    #expect(json["type"]?.string == "FeatureCollection" && features.count == 2)
    #expect(features[0]["geometry"]?["type"]?.string == "LineString")
    let places = features[0]["geometry"]?["coordinates"]?.array?.map {
      ($0.array ?? []).map { $0.double ?? 0 }
    }
    #expect(places == [[11.5, 48.125], [11.625, 48.1875], [11.75, 48.25]])
    let properties = features[0]["properties"]
    #expect(properties?["distance"]?.double == 500 && properties?["way"] == nil && properties?["seq"] == nil)
    #expect(
      properties?["coordinateProperties"]?["times"]?.array?.map { $0.string } == [
        "2026-11-21T12:00:00.000Z", "2026-11-21T12:05:00.000Z", "2026-11-21T12:10:00.000Z",
      ])
    #expect(document.contains(#""geometry":null"#) && features[1]["properties"]?["number"]?.integer == 7)
    let events = text(
      GeoJSONWriter<ReportedDrivingEvent>(), [try event(Entry.event(2)), try event(Entry.event(3))])
    let points = try JSONValue(parsing: Array(events.utf8))["features"]?.array ?? []
    #expect(
      points.count == 2 && points[0]["geometry"]?["coordinates"] == .array([.number(11.5), .number(48.125)]))
    #expect(points[1]["properties"]?["severity"]?.string == "medium")
  }

  /// Lines of GeoJSON and GPX end at the antimeridian; the points at ±180° have interpolated times.
  @Test func linesEndAtTheAntimeridian() throws {
    let way = [(0.0, 179.0), (100, -178), (200, -177)].map { seconds, longitude in
      TripMessage.Waypoint(
        time: noon.advanced(bySeconds: seconds),
        coordinate: PrivacyPolicy.unrestricted(Coordinate(latitude: 3, longitude: longitude)))
    }
    let message = TripMessage(
      trip: JournalNumber(series: Entry.series, number: 7), revision: 1, phase: .ended, kind: .driven,
      start: .init(time: noon), end: .init(time: noon.advanced(bySeconds: 200)), distance: 333_000,
      moving: 200, standing: 0, way: way, bound: 5)
    let crossing = try trip(("van/trip", String(decoding: message.payload, as: UTF8.self)))
    let document = text(GeoJSONWriter<ReportedTrip>(), [crossing])
    let feature = try #require(JSONValue(parsing: Array(document.utf8))["features"]?.array?.first)
    #expect(feature["geometry"]?["type"]?.string == "MultiLineString")
    let lines = feature["geometry"]?["coordinates"]?.array?.map { line in
      (line.array ?? []).map { $0.array?.first?.double ?? 0 }
    }
    #expect(lines == [[179, 180], [-180, -178, -177]])
    let times = feature["properties"]?["coordinateProperties"]?["times"]?.array?.map { line in
      (line.array ?? []).map { ($0.string ?? "").dropFirst(17).prefix(2) }
    }
    #expect(times == [["00", "33"], ["33", "40", "20"]])
    let gpx = try XMLReading(text(JournalGPXWriter<ReportedTrip>(), [crossing]))
    #expect(gpx.elements.filter { $0 == "trkseg" }.count == 2)
  }

  /// The document is parsed by an XML parser; a name contains markup.
  @Test func gpxHasATrackForEachTrip() throws {
    let odd = VehicleKey(fleet: "a<b", vehicle: "c&\u{1B}d")
    let document = text(
      JournalGPXWriter<ReportedTrip>(), [try trip(Entry.trip(7)), try trip(Entry.trip(8), odd)])
    let found = try XMLReading(document)
    #expect(found.names == ["demo/van 7", "a<b/c&\u{FFFD}d 8"])
    #expect(
      found.elements.filter { $0 == "trkpt" }.count == 6 && found.elements.filter { $0 == "trk" }.count == 2)
    #expect(
      document.contains(#"<trkpt lat="48.1875" lon="11.625"><time>2026-11-21T12:05:00.000Z</time></trkpt>"#))
    let events = try XMLReading(
      text(JournalGPXWriter<ReportedDrivingEvent>(), [try event(Entry.event(2), odd)]))
    #expect(events.names == ["harshBraking"] && events.elements.contains("wpt"))
  }

  @Test func theFormatFollowsFromTheFileName() throws {
    let named = [
      "a.gpx": JournalFormat.gpx, "b.GeoJSON": .geojson, "c.json": .geojson, "d.csv": .csv, "e.txt": .text,
    ]
    for (name, format) in named { #expect(try JournalFormat.named(by: name) == format) }
    #expect(try JournalFormat.named(by: "trips") == nil)
    #expect { try JournalFormat.named(by: "a.kml") } throws: { "\($0)".contains(".kml is none of the forms") }
  }

  /// Late and repeated messages are not new.
  @Test func lateAndRepeatedMessagesAreNotNew() throws {
    var order = JournalOrder()
    let trips = [
      Entry.trip(1, revision: 1, phase: .started), Entry.trip(1, revision: 3, phase: .ended),
      Entry.trip(1, revision: 2, phase: .underway), Entry.trip(1, revision: 3, phase: .ended), Entry.trip(2),
    ]
    #expect(try trips.map { order.isNew(try trip($0)) } == [true, true, false, false, true])
    let events = [
      Entry.event(1, ongoing: true), Entry.event(1), Entry.event(1, ongoing: true), Entry.event(1),
      Entry.event(1, vehicle: "car", series: "fedcba9876543210"),
    ]
    #expect(try events.map { order.isNew(try event($0)) } == [true, true, false, false, true])
  }
}

/// The elements of a document, and the texts of the elements `name`.
private final class XMLReading: NSObject, XMLParserDelegate {
  var elements: [String] = []
  var names: [String] = []
  private var open: [String] = []

  init(_ document: String) throws {
    super.init()
    let parser = XMLParser(data: Data(document.utf8))
    parser.delegate = self
    try #require(parser.parse(), "\(document)")
  }

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
    attributes: [String: String]
  ) {
    elements.append(name)
    open.append(name)
    if name == "name" { names.append("") }
  }

  func parser(
    _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
  ) { open.removeLast() }

  func parser(_ parser: XMLParser, foundCharacters text: String) {
    if open.last == "name" { names[names.count - 1] += text }
  }
}
