import Fleet
import FleetFixtures
import FleetStore
import FleetWeb
import HTTPTypes
import JSON
import Platform
import Spatial
import Telemetry
import TestSupport
import Testing

/// Answers from a recording, which are equal for both databases.
@Suite struct HistoryEndpointTests {
  /// Locations every 10 s for 30 minutes: north at 10 m/s, with a stop of 10 minutes in the middle.
  private static var drive: [(String, String)] {
    var messages: [(String, String)] = []
    var metres = 0.0
    for index in 0..<180 {
      if !(60..<120).contains(index) { metres += 100 }
      messages.append(
        HistoryRows.location(
          "demo/van", index, at: Double(index) * 10, latitude: 48 + metres / 111_195, altitude: 500,
          speed: (60..<120).contains(index) ? 0 : 10))
    }
    return messages
  }

  private static var messages: [(String, String)] {
    drive
      + [
        HistoryRows.trip("demo/van", 1, at: 0, distance: 1000), HistoryRows.trip("demo/van", 2, at: 7200),
        HistoryRows.trip("demo/van", 3, at: 90_000, kind: .carried),
        HistoryRows.trip("demo/car", 1, at: 3600), HistoryRows.trip("other/bus", 1, at: 3600, north: 1),
        HistoryRows.event("demo/van", 1, at: 100), HistoryRows.event("demo/van", 2, at: 200, severity: .high),
        HistoryRows.event("demo/car", 1, at: 150, kind: .kerb),
      ]
  }

  private func check(
    _ kind: TestRecording.Kind, _ body: (HistoryFixture, TestRecording) throws -> Void
  ) async throws {
    let recording = try TestRecording(kind, Self.messages)
    let fixture = try await HistoryFixture(recording.address)
    try body(fixture, recording)
  }

  private static let day = "from=2026-11-21&to=2026-11-22"

  private func read(_ kind: TestRecording.Kind) async throws {
    try await check(kind) { fixture, _ in
      let extent = try fixture.json("vehicles/demo/van/extent")
      #expect(extent["from"]?.string == wireTime(0) && extent["to"]?.string == wireTime(1790))
      #expect(extent["positions"]?.integer == 180 && extent["more"] == nil)

      let track = try fixture.json("vehicles/demo/van/track?\(Self.day)")
      #expect(track["count"]?.integer == 180 && track["points"]?.integer == 180)
      #expect(track["tolerance"]?.double == 0 && track["gaps"]?.array == [])
      #expect(track["time"]?.array?.first?.integer == 43_200_000)
      for column in ["latitude", "longitude", "altitude", "speed", "course", "accuracy", "source"] {
        #expect(track[column]?.array?.count == 180, "\(column)")
      }
      #expect(track["altitude"]?.array?.first?.double == 500 && track["course"]?.array?.first == .null)
      #expect(track["source"]?.array?.first?.string == "location")

      let thin = try fixture.json("vehicles/demo/van/track?\(Self.day)&points=4")
      #expect(thin["points"]?.integer == 4 && thin["count"]?.integer == 180)
      // Both ends of the stop are where the drive differs most from a line.
      #expect(thin["tolerance"]?.double ?? 1e9 < 120)

      let features = try fixture.get("vehicles/demo/van/track.geojson?\(Self.day)")
      #expect(features.head.contains("application/geo+json"))
      let feature = try features.json["features"]?.array?.first
      #expect(feature?["geometry"]?["type"]?.string == "LineString")
      #expect(feature?["geometry"]?["coordinates"]?.array?.count == 180)
      #expect(feature?["properties"]?["coordinateProperties"]?["times"]?.array?.count == 180)

      let stops = try fixture.json("vehicles/demo/van/stops?\(Self.day)")["stops"]?.array ?? []
      #expect(stops.count == 1 && stops.first?["open"] == nil)
      #expect(stops.first?["from"]?.string == wireTime(590) && stops.first?["to"]?.string == wireTime(1190))
    }
  }

  @Test func aTrackFromSQLite() async throws { try await read(.sqlite) }
  @Test(.needs(.postgreSQL)) func aTrackFromPostgreSQL() async throws { try await read(.postgreSQL) }

  /// A vehicle arrives at 18:00 and sends nothing until 7:00. The noon of `HistoryRows` is the origin of its times.
  private func overnight(_ kind: TestRecording.Kind) async throws {
    let (evening, morning) = (6.0 * 3600, 19.0 * 3600)
    let times = [evening, evening + 60, evening + 120, morning, morning + 60]
    var rows = times.enumerated().map { HistoryRows.location("demo/van", $0, at: $1, latitude: 48.2) }
    for step in 1...5 {
      let latitude = 48.2 + Double(step) * 0.01
      rows += [
        HistoryRows.location("demo/van", 10 + step, at: evening - 60 * Double(step), latitude: latitude),
        HistoryRows.location("demo/van", 20 + step, at: morning + 60 + 60 * Double(step), latitude: latitude),
      ]
    }
    // Neither a coarse nor a suspect position is the next one.
    for (number, member) in [#""positionSource":"coarse""#, #""suspect":"jump""#].enumerated() {
      let row = HistoryRows.location(
        "demo/van", 30 + number, at: evening + 7200 + Double(number), latitude: 48.4)
      rows.append((row.0, row.1.dropLast() + ",\(member)}"))
    }
    let recording = try TestRecording(kind, rows)
    let fixture = try await HistoryFixture(recording.address)
    func stops(_ span: String) throws -> [String] {
      try (fixture.json("vehicles/demo/van/stops?\(span)")["stops"]?.array ?? []).map { stop in
        #expect(stop["open"] == nil)
        return "\(stop["from"]?.string ?? "") \(stop["to"]?.string ?? "")"
      }
    }
    let midnight = wireTime(12 * 3600)
    #expect(try stops("from=2026-11-21&to=2026-11-22") == ["\(wireTime(evening)) \(midnight)"])
    #expect(try stops("from=2026-11-22&to=2026-11-23") == ["\(midnight) \(wireTime(morning + 60))"])
    #expect(try stops("from=2026-11-21&to=2026-11-23") == ["\(wireTime(evening)) \(wireTime(morning + 60))"])
    // Within the stop, without any position.
    let (from, to) = (wireTime(evening + 10_000), wireTime(evening + 20_000))
    #expect(try stops("from=\(from)&to=\(to)") == ["\(from) \(to)"])
    #expect(try stops("from=2026-11-23&to=2026-11-24").isEmpty)
    // A suspect position is on no line.
    let features = try fixture.json("vehicles/demo/van/track.geojson?from=2026-11-21&to=2026-11-23")
    let sources = features["features"]?.array?.map { $0["properties"]?["source"]?.string }
    #expect(sources?.contains("suspect") == true && sources?.contains("coarse") == true)
  }

  @Test func overnightStopsFromSQLite() async throws { try await overnight(.sqlite) }
  @Test(.needs(.postgreSQL)) func overnightStopsFromPostgreSQL() async throws {
    try await overnight(.postgreSQL)
  }

  /// A stop is open if the span reaches the present and no position follows.
  @Test func aPastStopIsNotOpen() async throws {
    let ago = UTCTime.now.seconds(since: noon) - 7200
    let rows = (0..<20).map {
      HistoryRows.location("demo/van", $0, at: ago + Double($0) * 60, latitude: 48.2)
    }
    let recording = try TestRecording(.sqlite, rows)
    let fixture = try await HistoryFixture(recording.address)
    for (end, isOpen) in [(20_000.0, true), (3600, false), (600, false)] {
      let span = "from=\(wireTime((ago - 60).rounded()))&to=\(wireTime((ago + end).rounded()))"
      let stops = try fixture.json("vehicles/demo/van/stops?\(span)")["stops"]?.array
      #expect(stops?.count == 1 && (stops?.first?["open"] != nil) == isOpen, "\(end)")
    }
  }

  /// Lines of GeoJSON do not cross the antimeridian (RFC 7946, section 3.1.9).
  @Test func linesEndAtTheAntimeridian() async throws {
    let rows = [179.98, 179.99, -179.97, -179.98, 179.99].enumerated().map {
      HistoryRows.location(
        "demo/van", $0, at: Double($0) * 30, latitude: -17 + Double($0) * 0.01, longitude: $1)
    }
    let recording = try TestRecording(.sqlite, rows)
    let fixture = try await HistoryFixture(recording.address)
    let features = try fixture.json("vehicles/demo/van/track.geojson?\(Self.day)")["features"]?.array ?? []
    let lines = features.map { feature in
      (feature["geometry"]?["coordinates"]?.array ?? []).map { $0.array?.first?.double ?? 0 }
    }
    #expect(lines == [[179.98, 179.99, 180], [-180, -179.97, -179.98, -180], [180, 179.99]])
    let crossing = features.first?["geometry"]?["coordinates"]?.array?.last?.array?.last?.double ?? 0
    #expect(abs(crossing - (-16.9875)) < 1e-6)
    #expect(
      features.allSatisfy {
        $0["properties"]?["coordinateProperties"]?["times"]?.array?.count
          == $0["geometry"]?["coordinates"]?.array?.count
      })
  }

  private func transitions(_ kind: TestRecording.Kind) async throws {
    let rows = (1...9).map { number in
      // Two at the same moment, and one of another vehicle.
      HistoryRows.transition(
        number == 9 ? "demo/car" : "demo/van", number, at: Double(number / 2 * 60),
        number % 2 == 0 ? "exit" : "enter",
        "stop-\(number)")
    }
    let recording = try TestRecording(
      kind, rows + [HistoryRows.location("demo/van", 50, at: 60, latitude: 48)])
    let fixture = try await HistoryFixture(recording.address)
    for limit in [1, 2, 3, 8, 100] {
      var (seen, next): ([String], String?) = ([], nil)
      repeat {
        let page = try fixture.json(
          "vehicles/demo/van/transitions?\(Self.day)&limit=\(limit)" + (next.map { "&after=\($0)" } ?? ""))
        let items = page["transitions"]?.array ?? []
        #expect(
          items.count <= limit && items.allSatisfy { $0["epoch"] == nil && $0["vehicle"]?.string == "van" })
        seen += items.compactMap { $0["region"]?.string }
        next = page["next"]?.string
      } while next != nil && seen.count < 20
      #expect(seen == (1...8).reversed().map { "stop-\($0)" }, "pages of \(limit)")
    }
    let part = "from=\(wireTime(60))&to=\(wireTime(120))"
    let found = try fixture.json("vehicles/demo/van/transitions?\(part)")["transitions"]?.array ?? []
    #expect(
      found.map { $0["event"]?.string } == ["enter", "exit"] && found.first?["region"]?.string == "stop-3")
  }

  /// Phones send no sequence numbers, and can cross two boundaries at the same moment: no page omits one.
  private func transitionsOfPhones(_ kind: TestRecording.Kind) async throws {
    let rows = ["a", "b", "c", "d"].map { region in
      (
        "demo/phone/region",
        #"{"time":"\#(wireTime(60))","event":"enter","region":"\#(region)","confidence":1}"#
      )
    }
    let recording = try TestRecording(kind, rows)
    let fixture = try await HistoryFixture(recording.address)
    var (seen, next): ([String], String?) = ([], nil)
    repeat {
      let page = try fixture.json(
        "vehicles/demo/phone/transitions?\(Self.day)&limit=1" + (next.map { "&after=\($0)" } ?? ""))
      seen += (page["transitions"]?.array ?? []).compactMap { $0["region"]?.string }
      next = page["next"]?.string
    } while next != nil && seen.count < 9
    #expect(seen.sorted() == ["a", "b", "c", "d"])
  }

  @Test func transitionsOfPhonesFromSQLite() async throws { try await transitionsOfPhones(.sqlite) }
  @Test(.needs(.postgreSQL)) func transitionsOfPhonesFromPostgreSQL() async throws {
    try await transitionsOfPhones(.postgreSQL)
  }

  @Test func transitionsFromSQLite() async throws { try await transitions(.sqlite) }
  @Test(.needs(.postgreSQL)) func transitionsFromPostgreSQL() async throws {
    try await transitions(.postgreSQL)
  }

  /// Returns the trips of a page, e.g. `van1`.
  private static func names(_ page: JSONValue) -> [String] {
    page["trips"]?.array?.map { "\($0["vehicle"]?.string ?? "")\($0["number"]?.integer ?? 0)" } ?? []
  }

  private func journal(_ kind: TestRecording.Kind) async throws {
    try await check(kind) { fixture, _ in
      func trips(_ query: String) throws -> [String] {
        Self.names(try fixture.json("trips?\(query)"))
      }
      // Newest first; trips of the same moment by vehicle.
      #expect(try trips("") == ["van3", "van2", "bus1", "car1", "van1"])
      #expect(try trips("vehicle=van") == ["van3", "van2", "van1"])
      #expect(try trips("fleet=other") == ["bus1"] && trips("kind=carried") == ["van3"])
      #expect(try trips("from=2026-11-21&to=2026-11-22") == ["van2", "bus1", "car1", "van1"])
      let first = try fixture.json("trips?limit=1")["trips"]?.array?.first
      #expect(first?["way"] == nil && first?["distance"]?.double == 500 && first?["fleet"]?.string == "demo")

      // All pages together are the same, whatever the length of a page.
      for limit in 1...5 {
        var (seen, next): ([String], String?) = ([], nil)
        repeat {
          let page = try fixture.json("trips?limit=\(limit)" + (next.map { "&after=\($0)" } ?? ""))
          seen += Self.names(page)
          next = page["next"]?.string
        } while next != nil && seen.count < 10
        #expect(seen == ["van3", "van2", "bus1", "car1", "van1"], "pages of \(limit)")
      }

      // A page position with the longest names, in a script of three bytes per character.
      let name = String(repeating: "界", count: 200)
      let place = JournalPosition(
        time: 0, vehicle: VehicleKey(fleet: name, vehicle: name),
        number: JournalNumber(series: HistoryRows.series, number: 1))
      #expect(try trips("after=\(place.word)").isEmpty)

      let path = "vehicles/demo/van/trips/\(HistoryRows.series)/1"
      #expect(try fixture.json(path)["way"] != nil)
      let gpx = try fixture.get(path + ".gpx")
      #expect(gpx.text.contains("<trkpt") && gpx.head.contains("attachment; filename=\"van-trip-1.gpx\""))
      #expect(try fixture.json(path + ".geojson")["features"]?.array?.count == 1)

      let events = try fixture.json("events")["events"]?.array ?? []
      #expect(events.map { $0["event"]?.string } == ["harshBraking", "kerb", "harshBraking"])
      #expect(try fixture.json("events?severity=high")["events"]?.array?.count == 1)
      #expect(try fixture.json("events?event=kerb")["events"]?.array?.first?["vehicle"]?.string == "car")

      let days = try fixture.json("history/statistics?fleet=demo")["days"]?.array ?? []
      let named = days.map { day in
        ["vehicle", "day", "kind"].map { day[$0]?.string ?? "" }.joined(separator: " ")
      }
      #expect(named == ["car 2026-11-21 driven", "van 2026-11-21 driven", "van 2026-11-22 carried"])
      #expect(days[1]["trips"]?.integer == 2 && days[1]["distance"]?.double == 1500)
      #expect(days[1]["moving"]?.double == 1080)
      // From UTC+12 on, noon in UTC is on the next day.
      let east = try fixture.json("history/statistics?vehicle=car&offset=43200")["days"]?.array
      #expect(east?.first?["day"]?.string == "2026-11-22")

      let ways = try fixture.json("ways?bounds=11.4,48.0,11.6,48.3&zoom=12")["ways"]?.array ?? []
      // All trips without positions have the same route, which is included once, beside the routes of positions.
      let ofTrips = ways.filter { $0.array?.first?.double == 48.125 }
      #expect(ofTrips.count == 1 && ofTrips.first?.array?.count == 6 && ways.count > 1)
      let elsewhere = try fixture.json("ways?bounds=1,1,1.2,1.2&zoom=12")["ways"]?.array
      #expect(elsewhere?.isEmpty == true)
    }
  }

  @Test func aJournalFromSQLite() async throws { try await journal(.sqlite) }
  @Test(.needs(.postgreSQL)) func aJournalFromPostgreSQL() async throws { try await journal(.postgreSQL) }

  /// A day contains its first and its last millisecond.
  private func edges(_ kind: TestRecording.Kind) async throws {
    let midnight = -43_200.0
    let messages = [midnight - 0.001, midnight, midnight + 86_399.999, midnight + 86_400].enumerated().map {
      HistoryRows.location("demo/van", $0.offset, at: $0.element, latitude: 48 + Double($0.offset))
    }
    let recording = try TestRecording(kind, messages)
    let fixture = try await HistoryFixture(recording.address)
    let track = try fixture.json("vehicles/demo/van/track?from=2026-11-21&to=2026-11-22")
    #expect(track["latitude"]?.array?.map(\.double) == [49, 50])
    #expect(track["time"]?.array?.map(\.integer) == [0, 86_399_999])
    // The same day at UTC-1.
    let west = try fixture.json(
      "vehicles/demo/van/track?from=2026-11-21T00:00:00-01:00&to=2026-11-22T00:00:00-01:00")
    #expect(west["latitude"]?.array?.map(\.double) == [50, 51])
    // A single millisecond.
    let moment = try fixture.json(
      "vehicles/demo/van/track?from=2026-11-21T23:59:59.999Z&to=2026-11-22T00:00:00Z")
    #expect(moment["latitude"]?.array?.map(\.double) == [50])
    let nothing = try fixture.json(
      "vehicles/demo/van/track?from=2026-11-21T00:00:00.001Z&to=2026-11-21T00:00:00.002Z")
    #expect(nothing["count"]?.integer == 0 && nothing["latitude"]?.array?.isEmpty == true)
  }

  @Test func edgesOfDaysInSQLite() async throws { try await edges(.sqlite) }
  @Test(.needs(.postgreSQL)) func edgesOfDaysInPostgreSQL() async throws { try await edges(.postgreSQL) }

  @Test func answersHaveAContentLength() async throws {
    let drive = (0..<5000).map {
      HistoryRows.location("demo/van", $0, at: Double($0), latitude: 48 + Double($0 % 7) * 1e-3)
    }
    let recording = try TestRecording(.sqlite, drive)
    let fixture = try await HistoryFixture(recording.address)
    let answer = try fixture.get("vehicles/demo/van/track?\(Self.day)&points=100000")
    #expect(answer.head.lowercased().contains("content-length: \(answer.body.count)\r\n"))
    #expect(try answer.json["points"]?.integer == 5000)
    let short = try fixture.get("vehicles/demo/van/track?\(Self.day)&points=10")
    #expect(short.head.lowercased().contains("content-length"))
  }

  @Test func withoutARecordingHistoryIsNotFound() async throws {
    let error = WebError.noRecording
    #expect(error.status == .notFound && error.code == "no-recording")
  }

  @Test func waysOfPositionsWithoutTrips() async throws {
    let recording = try TestRecording(.sqlite, Self.drive)
    let fixture = try await HistoryFixture(recording.address)
    let ways = try fixture.json("ways?bounds=11.4,47.9,11.6,48.3&zoom=12")["ways"]?.array ?? []
    #expect(ways.count == 1 && ways.first?.array?.count ?? 0 >= 4)
  }

  /// Every recorded position is on a way: also those of earlier days and of vehicles without trips, and trips without recorded positions.
  @Test func waysOfAllPositions() async throws {
    func drive(_ vehicle: String, _ latitude: Double, days: Double, seq: Int) -> [(String, String)] {
      (0..<20).map {
        HistoryRows.location(
          vehicle, seq + $0, at: days * 86_400 + Double($0) * 10, latitude: latitude + Double($0) * 1e-3)
      }
    }
    let recording = try TestRecording(
      .sqlite,
      drive("demo/van", 48.2, days: 0, seq: 0) + drive("demo/van", 49.2, days: -1, seq: 100)
        + drive("demo/van", 50.2, days: -200, seq: 200) + drive("demo/bus", 51.2, days: -3, seq: 0)
        + [HistoryRows.trip("demo/van", 1, at: 20_000)])
    let fixture = try await HistoryFixture(recording.address)
    // South and north ends of a box, and of the ways in it.
    for (south, north, first, last) in [
      (48.1, 48.15, 48.125, 48.14), (48.19, 48.3, 48.2, 48.219), (49.1, 49.3, 49.2, 49.219),
      (50.1, 50.3, 50.2, 50.219), (51.1, 51.3, 51.2, 51.219),
    ] {
      let ways = try fixture.json("ways?bounds=11.4,\(south),11.6,\(north)&zoom=14")["ways"]?.array ?? []
      let latitudes = ways.flatMap { way in
        (way.array ?? []).enumerated().filter { $0.offset.isMultiple(of: 2) }.compactMap(\.element.double)
      }
      // Parts of a day are one line, or two that touch.
      #expect((1...2).contains(ways.count) && latitudes.count <= 22, "\(south): \(ways.count)")
      #expect(latitudes.min() == first && latitudes.max() == last, "\(south): \(latitudes)")
    }
  }

  /// A client that has the current answer gets 304 until the answer changes.
  @Test func unchangedAnswersAreNotSentAgain() async throws {
    let recording = try TestRecording(
      .sqlite,
      [
        HistoryRows.location("demo/van", 1, at: 0, latitude: 48), HistoryRows.trip("demo/van", 1, at: 0),
        HistoryRows.event("demo/van", 1, at: 0),
      ])
    let fixture = try await HistoryFixture(recording.address)
    let span = "from=2026-11-21&to=2026-11-22"
    let paths = [
      "vehicles/demo/van/track?\(span)", "vehicles/demo/van/track.geojson?\(span)",
      "vehicles/demo/van/stops?\(span)", "vehicles/demo/van/extent?\(span)", "trips?\(span)",
      "events?\(span)", "vehicles/demo/van/transitions?\(span)",
      "traces?\(span)", "history/statistics?\(span)", "ways?bounds=11,48,12,49&zoom=6",
      "vehicles/demo/van/trips/\(HistoryRows.series)/1.gpx",
    ]
    var tags: [String: String] = [:]
    for path in paths {
      let answer = try fixture.get(path)
      let tag = try #require(answer.tag, "\(path): \(answer.head)")
      #expect(answer.status == 200 && answer.head.lowercased().contains("cache-control: private, no-cache"))
      let known = try fixture.get(path, knowing: tag)
      #expect(known.status == 304 && known.body.isEmpty && known.tag == tag, "\(path): \(known.head)")
      tags[path] = tag
    }
    try HistoryRows.store(
      [
        HistoryRows.location("demo/van", 2, at: 10, latitude: 49), HistoryRows.trip("demo/van", 2, at: 900),
        HistoryRows.event("demo/van", 2, at: 10),
      ], in: recording.address)
    // There are no stops and traces, ways are cached for minutes, and a finished trip does not change.
    let changed = paths.prefix(6).filter { !$0.contains("stops") } + ["history/statistics?\(span)"]
    for path in changed {
      let answer = try fixture.get(path, knowing: tags[path])
      #expect(answer.status == 200 && answer.tag != tags[path], "\(path): \(answer.head)")
    }
  }
}
