import FleetWeb
import JSON
import TestSupport
import Testing

/// Malicious names and payloads, and payloads of 10 MB.
@Suite struct HostileContentTests {
  private static let names = [
    "<script>alert(1)<script>", "\"><img src=x onerror=alert(1)>", "a\n\nevent: bye\ndata: {}\n\n",
    "'; DROP TABLE x;--",
    "{{7*7}}${7*7}", "\u{202E}gnp.exe", "a\u{1B}[2Jb", "..", "%00", "\\",
  ]

  /// Names are unchanged text, in answers that no browser shows as a page.
  @Test(.timeLimit(.minutes(2))) func namesStayText() async throws {
    let web = try WebFixture()
    for name in Self.names { web.locate(48, vehicle: name, fleet: name) }
    let listed = try await web.json("/api/v1/vehicles").vehicleNames
    #expect(Set(listed) == Set(Self.names))
    for path in ["vehicles", "positions", "statistics"] {
      let answer = try await web.ask("GET", "/api/v1/\(path)")
      let type = answer.headers["content-type"] ?? ""
      #expect(type.hasPrefix("application/json") || type.hasPrefix("application/geo+json"), "\(path) \(type)")
      #expect(answer.headers["x-content-type-options"] == "nosniff")
      #expect(!answer.text.contains("\n") && !answer.text.contains("\u{1B}"))
    }
    for name in Self.names {
      let place = PercentEncoding.encoded(name)
      let answer = try await web.ask("GET", "/api/v1/vehicles/\(place)/\(place)x")
      #expect(answer.status == 404 && answer.headers["content-type"]?.hasPrefix("application/json") == true)
    }
    let metrics = try await web.ask("GET", "/metrics").text
    #expect(!metrics.contains("<script>") && !metrics.contains("event: bye"))
    // An event is one line: no name ends it or starts another one.
    try await onThread {
      let stream = try EventReader(port: web.port, "?interval=0.1")
      #expect(try stream.next()?.name == "hello")
      let told = try stream.next()
      #expect(told?.name == "vehicles" && Set(told?.json.vehicleNames ?? []) == Set(Self.names))
    }
  }

  @Test(.timeLimit(.minutes(2))) func payloadsStayText() async throws {
    let web = try WebFixture()
    let text = #"</script><script>alert(1)</script>\n\nevent: bye\ndata: {}\n\n"#
    web.receive(
      "status",
      #"{"state":"online","time":"2026-11-21T12:00:00.000Z","sessionStart":"2026-11-21T12:00:00.000Z","name":"\#(text)"}"#
    )
    let told = try await onThread {
      let stream = try EventReader(port: web.port, "?interval=0.1&selected=demo/van")
      return try stream.next("vehicle")?.json["status"]?["name"]?.string
    }
    #expect(told == "</script><script>alert(1)</script>\n\nevent: bye\ndata: {}\n\n")
  }

  /// A message of 10 MB is not sent to clients, and delays no others.
  @Test(
    .timeLimit(.minutes(4)), arguments: ["driving/event", "status", "location", "event/x", "trip", "alert"])
  func hugeMessagesAreNotForwarded(kind: String) async throws {
    let web = try WebFixture()
    let filler = String(repeating: "x", count: 10 << 20)
    let time = "2026-11-21T12:00:00.000Z"
    web.locate(48, vehicle: "van")
    web.receive(
      kind,
      #"{"time":"\#(time)","state":"online","sessionStart":"\#(time)","latitude":48,"longitude":11,"event":"\#(filler)","name":"\#(filler)"}"#
    )
    web.receive(kind, String(repeating: "[", count: 10 << 20))
    web.locate(48.5, vehicle: "bus")
    #expect(try await web.json("/api/v1/vehicles").vehicleNames.contains("bus"))
    #expect(try await web.ask("GET", "/api/v1/vehicles").body.count < 100_000)
    let told = try await onThread {
      let stream = try EventReader(port: web.port, "?interval=0.1")
      return try stream.next("vehicles")?.json.vehicleNames.contains("bus")
    }
    #expect(told == true)
  }
}
