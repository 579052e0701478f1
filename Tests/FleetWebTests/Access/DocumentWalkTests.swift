import Fleet
import FleetWeb
import JSON
import Platform
import TestSupport
import Testing

/// Every operation of the OpenAPI document, requested for a vehicle of another fleet. New operations are included, because every route
/// has to be in the document.
struct DocumentWalkTests {
  /// Texts that only users with access to the vehicle may receive.
  private static let secrets = ["t-1", "taxi"]

  @Test(.timeLimit(.minutes(5))) func vehiclesOfOtherFleetsAreNotDisclosed() async throws {
    let operations = try DocumentOperation.all()
    #expect(operations.count > 35)
    let recording = try TestRecording(
      .sqlite,
      (0..<50).map {
        HistoryRows.location("taxi/t-1", $0, at: Double($0) * 10, latitude: 48 + Double($0) / 1000)
      } + [
        HistoryRows.trip("taxi/t-1", 1, at: 0), HistoryRows.event("taxi/t-1", 1, at: 100),
      ])
    let rules = """
      [tokens.owner]
      sha256 = "\(SecretDigest(of: RouteWalkTests.ownerToken).hexadecimal)"
      role = "operate"
      fleets = ["taxi"]
      [alerts]
      store = "\(recording.directory.file("alerts.sqlite"))"
      [rules.fast]
      when = "speed"
      above = 10
      """
    try await RouteWalkTests().run(rules, recording: recording.address, isWhole: true) {
      web, _, _ in
      func ask(_ operation: DocumentOperation, _ vehicle: String, _ token: String) throws -> RawClient.Answer
      {
        try operation.ask(web, about: vehicle, ["Authorization: Bearer \(token)"])
      }
      let (owner, other) = (RouteWalkTests.ownerToken, AccessFixture.operateToken)
      let alerts = ["Authorization: Bearer \(owner)"]
      #expect(waitUntil { (try? web.ask("GET", "/api/v1/alerts", alerts).text.contains("t-1")) == true })
      var told: Set<String> = []
      for operation in operations where operation.path != "/api/v1/stream" {
        let answer = try ask(operation, "t-1", other)
        let absent = try ask(operation, "t-9", other)
        if operation.path.contains("{vehicle}") {
          #expect(answer.status == 404, "\(operation.name): \(answer.text)")
        }
        if answer.status == 404 {
          #expect(answer.text == absent.text.replacing("t-9", with: "t-1"), "\(operation.name)")
        } else if operation.path != "/openapi.json" {
          for secret in Self.secrets {
            #expect(!answer.text.contains(secret), "\(operation.name): \(answer.text)")
          }
        }
        #expect(answer.status == absent.status, "\(operation.name): \(answer.status), \(absent.status)")
        // The owner sees the vehicle, so there is something to hide. Changes would wait for the broker.
        if !operation.isChange, !operation.path.hasSuffix("/regions"), !operation.path.hasSuffix("/settings")
        {
          let own = try ask(operation, "t-1", owner)
          if own.status == 200, own.text.contains("t-1") || own.text.contains("coordinates") {
            told.insert(operation.path)
          }
        }
      }
      let vehicle = "/api/v1/vehicles/{fleet}/{vehicle}"
      #expect(
        told.isSuperset(of: [
          "/api/v1/vehicles", "/api/v1/positions", "/api/v1/trips", "/api/v1/events", "/api/v1/alerts",
          "/api/v1/history/statistics", vehicle, "\(vehicle)/track.geojson",
          "\(vehicle)/trips/{series}/{file}",
        ]), "\(told.sorted())")
      // The stream, with the vehicle of another fleet selected.
      let stream = try RawClient(port: web.port)
      stream.send(
        "GET /api/v1/stream?selected=taxi/t-1 HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer \(other)\r\n\r\n"
      )
      #expect(stream.waits(for: "\"van-1\"", seconds: 20))
      #expect(!stream.waits(for: "\"t-1\"", seconds: 1))
    }
  }
}
