import Compression
import Fleet
import FleetFixtures
import FleetWeb
import JSON
import Spatial
import TestSupport
import Testing

@Suite struct LiveRoutesTests {
  private func fixture() throws -> WebFixture {
    let web = try WebFixture(access: NamedAccess())
    for name in ["one", "two"] {
      for fleet in ["a", "b"] { web.locate(name == "one" ? 48 : 52, vehicle: name, fleet: fleet) }
    }
    return web
  }

  @Test(.timeLimit(.minutes(2))) func vehiclesAreListedAndFiltered() async throws {
    let web = try fixture()
    let ann = ["User-Agent": "ann"]
    let all = try await web.json("/api/v1/vehicles", ann)
    #expect(all["vehicles"]?.array?.count == 4 && all["revision"]?.integer == 4)
    #expect(try await web.json("/api/v1/vehicles?fleet=a", ann)["vehicles"]?.array?.count == 2)
    #expect(try await web.json("/api/v1/vehicles?q=TW", ann).vehicleNames == ["two", "two"])
    #expect(try await web.json("/api/v1/vehicles?state=online,unknown", ann)["vehicles"]?.array?.count == 4)
    #expect(try await web.json("/api/v1/vehicles?state=online", ann)["vehicles"]?.array?.count == 0)
    #expect(try await web.json("/api/v1/vehicles?bounds=11,47,12,49", ann).vehicleNames == ["one", "one"])
    let positions = try await web.json("/api/v1/positions?fleet=b", ann)
    let feature = try #require(positions["features"]?.array?.first)
    #expect(feature["id"]?.string == "b/one" && feature["geometry"]?["type"]?.string == "Point")
    #expect(feature["geometry"]?["coordinates"]?.array?.compactMap(\.double) == [11.5, 48])
    #expect(feature["properties"]?["vehicle"]?.string == "one")
    for query in ["state=gone", "bounds=1,2,3", "fleet=a&fleet=b", "q=%FF", "q=%2"] {
      let answer = try await web.ask("GET", "/api/v1/vehicles?\(query)", ann)
      #expect(answer.status == 400, "\(query): \(answer.text)")
      #expect(try JSONValue(parsing: answer.body)["error"]?["code"]?.string?.hasPrefix("invalid-") == true)
    }
  }

  /// A hidden vehicle is answered exactly like a missing one.
  @Test(.timeLimit(.minutes(2))) func usersSeeTheirVehiclesOnly() async throws {
    let web = try fixture()
    let bob = ["User-Agent": "bob"]
    let names = try await web.json("/api/v1/vehicles", bob)["vehicles"]?.array?.map {
      "\($0["fleet"]?.string ?? "")/\($0["vehicle"]?.string ?? "")"
    }
    #expect(names == ["a/one", "b/one", "a/two"])
    #expect(try await web.json("/api/v1/positions", bob)["features"]?.array?.count == 3)
    #expect(try await web.ask("GET", "/api/v1/vehicles/b/one", bob).status == 200)
    let hidden = try await web.ask("GET", "/api/v1/vehicles/b/two", bob)
    let absent = try await web.ask("GET", "/api/v1/vehicles/b/ten", bob)
    #expect(hidden.status == 404 && absent.status == 404)
    #expect(hidden.text.replacing("two", with: "ten") == absent.text)
    #expect(try await web.json("/api/v1/statistics", bob)["messages"] == nil)
    #expect(try await web.json("/api/v1/statistics", bob)["vehicles"]?["unknown"]?.integer == 3)
    #expect(try await web.ask("GET", "/metrics", bob).status == 403)
    for path in ["vehicles", "vehicles/a/one", "positions", "statistics", "stream"] {
      let answer = try await web.ask("GET", "/api/v1/\(path)")
      #expect(answer.status == 401 && answer.text.contains("login-required"), "\(path)")
    }
    #expect(try await web.ask("POST", "/api/v1/stream/1").status == 401)
    // Answers to different users have different tags.
    let his = try await web.ask("GET", "/api/v1/vehicles", bob).headers["etag"]
    let hers = try await web.ask("GET", "/api/v1/vehicles", ["User-Agent": "ann"]).headers["etag"]
    #expect(his != nil && hers != nil && his != hers)
  }

  @Test(.timeLimit(.minutes(2))) func detailsContainTheOriginalStatus() async throws {
    let web = try WebFixture()
    web.receive(
      "status",
      #"{"state":"online","time":"2026-11-21T12:00:00.000Z","sessionStart":"2026-11-21T12:00:00.000Z","#
        + "\n" + #""own":{"a":[1,2]},"name":"<script>alert(1)</script>"}"#)
    web.locate(48.1)
    let details = try await web.json("/api/v1/vehicles/demo/van")
    #expect(details["status"]?["own"]?["a"]?.array?.count == 2)
    #expect(details["status"]?["name"]?.string == "<script>alert(1)</script>")
    #expect(details["location"]?["latitude"]?.double == 48.1 && details["trail"]?.array?.count == 1)
    #expect(details["state"]?.string == "online" && details["messages"]?.integer == 2)
    #expect(details["regions"]?["type"]?.string == "FeatureCollection")
    // One line, as required for the stream of events.
    let answer = try await web.ask("GET", "/api/v1/vehicles/demo/van")
    #expect(
      !answer.text.contains("\n") && answer.headers["content-type"]?.hasPrefix("application/json") == true)
    web.locate(48.2, vehicle: "Größe 7")
    #expect(try await web.ask("GET", "/api/v1/vehicles/demo/Gr%C3%B6%C3%9Fe%207").status == 200)
  }

  @Test(.timeLimit(.minutes(2))) func unchangedAnswersAreNotSentAgain() async throws {
    let web = try WebFixture()
    web.locate(48.1)
    let first = try await web.ask("GET", "/api/v1/vehicles")
    let tag = try #require(first.headers["etag"])
    let same = try await web.ask("GET", "/api/v1/vehicles", ["If-None-Match": tag])
    #expect(same.status == 304 && same.body.isEmpty && same.headers["etag"] == tag)
    web.locate(48.2)
    #expect(try await web.ask("GET", "/api/v1/vehicles", ["If-None-Match": tag]).status == 200)
  }

  /// A vehicle with a prediction of a minute ago, which is valid for several minutes.
  private static func predicted(velocityNorth: Int) throws -> WebFixture {
    let web = try WebFixture()
    web.receive("status", statusJSON("online", at: 0))
    let reported = Moment.now.time.advanced(bySeconds: -60).rfc3339
    web.receive(
      "location",
      #"{"time":"\#(reported)","latitude":48,"longitude":11.5,"predict":"#
        + #"{"velocityEast":0,"velocityNorth":\#(velocityNorth),"bound":20,"delay":5,"validity":3000,"growth":50}}"#
    )
    return web
  }

  /// The prediction of a vehicle at rest is constant, so the responses are not sent again.
  @Test(.timeLimit(.minutes(2))) func predictionsOfVehiclesAtRestAreCached() async throws {
    let web = try Self.predicted(velocityNorth: 0)
    for path in ["vehicles", "vehicles/demo/van", "positions"] {
      let first = try await web.ask("GET", "/api/v1/\(path)")
      let tag = try #require(first.headers["etag"])
      #expect(first.text.contains(#""now":{"time""#), "\(first.text)")
      #expect(try await web.ask("GET", "/api/v1/\(path)", ["If-None-Match": tag]).status == 304, "\(path)")
    }
  }

  /// An answer with a predicted position changes by time alone, so its tag does, too.
  @Test(.timeLimit(.minutes(2))) func predictedPositionsAreNotCached() async throws {
    let web = try Self.predicted(velocityNorth: 10)
    for path in ["vehicles", "vehicles/demo/van", "positions"] {
      let first = try await web.ask("GET", "/api/v1/\(path)")
      let tag = try #require(first.headers["etag"])
      #expect(first.text.contains(#""now":{"time""#), "\(first.text)")
      // The position is rounded to a centimetre, which the vehicle covers in a millisecond.
      var next: HTTPAnswer
      repeat {
        next = try await web.ask("GET", "/api/v1/\(path)", ["If-None-Match": tag])
      } while next.status == 304
      #expect(next.status == 200 && next.headers["etag"] != tag, "\(path)")
    }
    let feature = try await web.json("/api/v1/positions")["features"]?.array?.first
    let latitude = try #require(feature?["geometry"]?["coordinates"]?.array?.last?.double)
    // At least 55 s at 10 m/s.
    #expect(latitude > 48.0049 && latitude < 48.1)
    #expect(feature?["properties"]?["position"]?["latitude"]?.double == 48)
  }

  @Test(.timeLimit(.minutes(2))) func answersAreCompressedOnRequest() async throws {
    let web = try WebFixture()
    for number in 0..<200 { web.locate(48 + Double(number) / 100, vehicle: "v\(number)") }
    let plain = try await web.ask("GET", "/api/v1/vehicles")
    let packed = try await web.ask("GET", "/api/v1/vehicles", ["Accept-Encoding": "br, gzip;q=0.5"])
    #expect(plain.headers["content-encoding"] == nil && packed.headers["content-encoding"] == "gzip")
    #expect(packed.headers["vary"] == "Accept-Encoding" && packed.body.count < plain.body.count / 4)
    let unpacked = try JSONValue(parsing: Gzip.unpacked(packed.body, limit: 1 << 20))
    let same = try JSONValue(parsing: plain.body)
    #expect(unpacked["vehicles"] == same["vehicles"])
    let refused = try await web.ask("GET", "/api/v1/vehicles", ["Accept-Encoding": "gzip;q=0"])
    #expect(refused.headers["content-encoding"] == nil)
  }
}
