import Compression
import Fleet
import FleetWeb
import JSON
import Platform
import TestSupport
import Testing

@Suite(.serialized) struct StreamTests {
  /// Updates the vehicles of a client that processes all events.
  private static func learn(_ known: inout [String: JSONValue], _ event: EventReader.Event) {
    for vehicle in event.json["vehicles"]?.array ?? [] {
      known["\(vehicle["fleet"]?.string ?? "")/\(vehicle["vehicle"]?.string ?? "")"] = vehicle
    }
  }

  @Test(.timeLimit(.minutes(2))) func allVehiclesThenChanges() async throws {
    let web = try WebFixture()
    for number in 0..<620 { web.locate(48, vehicle: "v\(number)") }
    let known = try await onThread {
      let stream = try EventReader(port: web.port, "?interval=0.1")
      #expect(stream.head.headers["content-type"] == "text/event-stream; charset=utf-8")
      let hello = try stream.next()
      #expect(hello?.name == "hello" && hello?.json["interval"]?.double == 0.1)
      #expect(hello?.json["broker"]?["connected"]?.bool == false && hello?.json["id"]?.string?.count == 32)
      var known: [String: JSONValue] = [:]
      while known.count < 620, let event = try stream.next() {
        #expect(event.name == "vehicles" && event.json["vehicles"]?.array?.count ?? 0 <= 1000)
        // Until all vehicles are sent, events have no ID to resume from.
        #expect(event.id == nil)
        Self.learn(&known, event)
      }
      for step in 1...5 {
        web.locate(48 + Double(step), vehicle: "v7")
        let told = try stream.next("vehicles")
        #expect(told?.json.vehicleNames == ["v7"] && told?.id != nil)
        if let told { Self.learn(&known, told) }
        #expect(known["demo/v7"]?["position"]?["latitude"]?.double == 48 + Double(step))
      }
      return known
    }
    #expect(known.count == 620)
  }

  /// Compressed events have the same content and arrive one by one, and the whole is one gzip member.
  @Test(.timeLimit(.minutes(2))) func compressedStreamsHaveTheSameContent() async throws {
    let web = try WebFixture()
    for number in 0..<300 { web.locate(48, vehicle: "v\(number)") }
    let bytes = try await onThread {
      let connection = try HTTPConnection(port: web.port)
      connection.send("GET", "/api/v1/stream?interval=0.1", ["Accept-Encoding": "gzip"])
      let head = try connection.readHead()
      #expect(head.headers["content-encoding"] == "gzip")
      var bytes: [UInt8] = []
      for step in 0..<5 {
        bytes += try #require(try connection.readChunk())
        web.locate(49 + Double(step), vehicle: "v1")
      }
      web.hub.end(reason: "enough") { _ in true }
      while let chunk = try connection.readChunk() { bytes += chunk }
      return bytes
    }
    let text = String(decoding: try Gzip.unpacked(bytes, limit: 1 << 22), as: UTF8.self)
    let events = text.split(separator: "\n\n").map { $0.prefix { $0 != "\n" } }
    #expect(events.first == "event: hello" && events.last == "event: bye")
    #expect(text.hasSuffix("event: bye\ndata: {\"reason\":\"enough\"}\n\n"))
    #expect(bytes.count < text.utf8.count / 3, "\(bytes.count) of \(text.utf8.count)")
  }

  /// A client that reconnects receives the changes that it missed, and nothing else.
  @Test(.timeLimit(.minutes(2))) func aLostConnectionIsResumed() async throws {
    let web = try WebFixture()
    for number in 0..<50 { web.locate(48, vehicle: "v\(number)") }
    try await onThread {
      let first = try EventReader(port: web.port, "?interval=0.1")
      _ = try first.next("vehicles")
      web.locate(49, vehicle: "v1")
      let id = try #require(try first.next("vehicles") { $0.id != nil }?.id)
      web.locate(50, vehicle: "v2")
      let second = try EventReader(port: web.port, "?interval=0.1", ["Last-Event-ID": id])
      #expect(try second.next("vehicles")?.json.vehicleNames == ["v2"])
      // IDs of another run of the server and invalid IDs: from the beginning.
      for other in ["x.1", "\(id)9999999", "", "1", "\(id).1"] {
        let third = try EventReader(port: web.port, "", ["Last-Event-ID": other])
        #expect(try third.next("vehicles")?.json.vehicleNames.count == 50, "\(other)")
      }
    }
  }

  /// Vehicles outside of the map are sent later, together, and none is missed.
  @Test(.timeLimit(.minutes(2))) func visibleVehiclesAreSentFirst() async throws {
    let web = try WebFixture()
    web.locate(48, vehicle: "near")
    web.locate(10, vehicle: "far")
    try await onThread {
      let stream = try EventReader(port: web.port, "?interval=0.1&bounds=11,47,12,49")
      _ = try stream.next("vehicles")
      // After the first complete update, there is none of the outside for 5 s.
      web.locate(10.05, vehicle: "far")
      _ = try stream.next("vehicles") { $0.json.vehicleNames.contains("far") }
      web.locate(10.1, vehicle: "far")
      web.locate(48.2, vehicle: "near")
      let next = try stream.next("vehicles") { !$0.json.vehicleNames.isEmpty }
      #expect(next?.json.vehicleNames == ["near"])
      let late = try stream.next("vehicles") { $0.json.vehicleNames.contains("far") }
      #expect(late?.json["vehicles"]?.array?.first?["position"]?["latitude"]?.double == 10.1)
    }
  }

  @Test(.timeLimit(.minutes(2))) func anOpenStreamChangesItsView() async throws {
    let web = try WebFixture()
    web.locate(48, vehicle: "near")
    web.locate(10, vehicle: "far")
    let (stream, id) = try await onThread {
      let stream = try EventReader(port: web.port, "?interval=0.1&bounds=11,47,12,49&selected=demo/near")
      let id = try stream.next("hello")?.json["id"]?.string ?? ""
      #expect(try stream.next("vehicle")?.json["vehicle"]?.string == "near")
      web.locate(48.1, vehicle: "near")
      _ = try stream.next("vehicles") { $0.id != nil }
      web.locate(10.1, vehicle: "far")
      return (stream, id)
    }
    let answer = try await web.ask(
      "POST", "/api/v1/stream/\(id)", body: #"{"bounds":[11,9,12,11],"selected":"demo/far"}"#)
    #expect(answer.status == 204)
    try await onThread {
      let selected = try stream.next("vehicle") { $0.json["vehicle"]?.string == "far" }
      #expect(selected != nil)
      web.locate(10.2, vehicle: "far")
      let told = try stream.next("vehicles") {
        $0.json["vehicles"]?.array?.first?["position"]?["latitude"]?.double == 10.2
      }
      #expect(told != nil)
    }
    for body in [
      "", "[]", #"{"bounds":"x"}"#, #"{"bounds":[1,2]}"#, #"{"selected":"x"}"#, #"{"selected":7}"#,
    ] {
      #expect(try await web.ask("POST", "/api/v1/stream/\(id)", body: body).status == 400, "\(body)")
    }
    #expect(try await web.ask("POST", "/api/v1/stream/\(id)", body: #"{"bounds":null}"#).status == 204)
    #expect(try await web.ask("POST", "/api/v1/stream/0\(id)", body: "{}").status == 404)
  }

  /// Users receive no events of hidden vehicles, and cannot change the streams of others.
  @Test(.timeLimit(.minutes(2))) func usersReceiveTheirVehiclesOnly() async throws {
    let web = try WebFixture(access: NamedAccess())
    for fleet in ["a", "b"] { for name in ["one", "two"] { web.locate(48, vehicle: name, fleet: fleet) } }
    let id = try await onThread {
      let bob = try EventReader(port: web.port, "?interval=0.1&selected=b/two", ["User-Agent": "bob"])
      let ann = try EventReader(port: web.port, "?interval=0.1&selected=b/two", ["User-Agent": "ann"])
      let id = try ann.next("hello")?.json["id"]?.string ?? ""
      #expect(try bob.next("vehicles")?.json["vehicles"]?.array?.count == 3)
      #expect(try ann.next("vehicles")?.json["vehicles"]?.array?.count == 4)
      web.locate(49, vehicle: "two", fleet: "b")
      _ = try ann.next("vehicles") { $0.json.vehicleNames == ["two"] }
      web.locate(49, vehicle: "two", fleet: "a")
      // The event before was not visible to bob.
      let told = try bob.next()
      #expect(told?.name == "vehicles" && told?.json["vehicles"]?.array?.map { $0["fleet"]?.string } == ["a"])
      return id
    }
    let other = try await web.ask("POST", "/api/v1/stream/\(id)", ["User-Agent": "bob"], body: "{}")
    #expect(other.status == 404)
  }

  /// A client that reads nothing is disconnected, and others are not affected.
  @Test(.timeLimit(.minutes(4))) func aSlowClientDoesNotAffectOthers() async throws {
    var limits = StreamHub.Limits()
    limits.clientTimeout = 1
    let web = try WebFixture(limits: limits)
    for number in 0..<500 { web.locate(48, vehicle: "v\(number)") }
    try await onThread {
      let slow = try EventReader(port: web.port, "?interval=0.1", receiveBuffer: 4096)
      let quick = try EventReader(port: web.port, "?interval=0.1")
      var step = 0.0
      while web.hub.counters.dropped == 0, step < 20_000 {
        step += 1
        for number in 0..<500 { web.locate(48 + step / 1000, vehicle: "v\(number)") }
        // The newest position, whatever the slow client does.
        let wanted = 48 + step / 1000
        let told = try quick.next("vehicles") { event in
          event.json["vehicles"]?.array?.last?["position"]?["latitude"]?.double.map {
            abs($0 - wanted) < 1e-6
          } == true
        }
        #expect(told != nil)
      }
      #expect(web.hub.counters.dropped == 1 && web.hub.counters.clients == 1)
      #expect(slow.connection.isClosed())
    }
  }

  @Test(.timeLimit(.minutes(2))) func theNumberOfStreamsIsLimited() async throws {
    var limits = StreamHub.Limits()
    limits.clients = 3
    limits.heartbeat = 0.2
    let web = try WebFixture(limits: limits)
    try await onThread {
      var streams = try (0..<3).map { _ in try EventReader(port: web.port) }
      for stream in streams { _ = try stream.next("hello") }
      let refused = try EventReader(port: web.port)
      #expect(refused.head.status == 503 && refused.head.headers["retry-after"] == "5")
      // A client that leaves makes room at the next event that cannot be sent.
      streams.removeLast()
      #expect(waitUntil { web.hub.counters.clients == 2 })
      #expect(try EventReader(port: web.port).next("hello") != nil)
    }
  }

  /// A HEAD request occupies no stream, and the connection stays open.
  @Test(.timeLimit(.minutes(2))) func aHeadIsNoStream() async throws {
    var limits = StreamHub.Limits()
    limits.clients = 1
    let web = try WebFixture(limits: limits)
    try await onThread {
      let connection = try HTTPConnection(port: web.port)
      for _ in 0..<3 {
        connection.send("HEAD", "/api/v1/stream", [:])
        let head = try connection.readHead()
        #expect(head.status == 200 && head.headers["content-type"]?.hasPrefix("text/event-stream") == true)
      }
      #expect(web.hub.counters.opened == 0)
      #expect(try EventReader(port: web.port).next("hello") != nil)
    }
  }

  /// The streams of one login are limited. Further ones are refused with an error: browsers would reopen a silent stream again and again.
  @Test(.timeLimit(.minutes(2))) func streamsOfOneLoginAreLimited() async throws {
    var limits = StreamHub.Limits()
    (limits.clients, limits.heartbeat) = (16, 0.2)
    let web = try WebFixture(access: NamedAccess(), limits: limits)
    let ann = ["User-Agent": "ann"]
    try await onThread {
      var streams = try (0..<4).map { _ in try EventReader(port: web.port, "", ann) }
      for stream in streams { _ = try stream.next("hello") }
      let refused = try EventReader(port: web.port, "", ann)
      #expect(refused.head.status == 503 && refused.head.headers["retry-after"] == "5")
      let error = try JSONValue(parsing: refused.connection.readBody(of: refused.head))["error"]
      #expect(error?["code"]?.string == "busy")
      #expect(error?["message"]?.string?.contains("ann has 4 streams") == true)
      #expect(web.hub.counters.refused == 1)
      #expect(try EventReader(port: web.port, "", ["User-Agent": "bob"]).next("hello") != nil)
      streams.removeLast()
      #expect(waitUntil { web.hub.counters.clients <= 4 })
      #expect(waitUntil { (try? EventReader(port: web.port, "", ann).next("hello")) ?? nil != nil })
    }
  }

  /// An empty event is the heartbeat of the connection; problems of the broker are sent.
  @Test(.timeLimit(.minutes(2))) func silenceHasAHeartbeat() async throws {
    var limits = StreamHub.Limits()
    limits.heartbeat = 0.2
    let web = try WebFixture(limits: limits)
    try await onThread {
      let stream = try EventReader(port: web.port, "?interval=0.1")
      _ = try stream.next("vehicles")
      for _ in 0..<3 { #expect(try stream.next("vehicles")?.json["vehicles"]?.array?.isEmpty == true) }
      _ = web.feed.observe(.connected, at: .now)
      #expect(try stream.next("broker")?.json["connected"]?.bool == true)
      _ = web.feed.observe(.refused(filter: "a/#", reason: "not allowed"), at: .now)
      #expect(try stream.next("broker")?.json["trouble"]?.string?.contains("not allowed") == true)
    }
  }

  /// Other sources, such as alerts, are sent at the beginning and on every change.
  @Test(.timeLimit(.minutes(2))) func otherSourcesAreSent() async throws {
    let source = CountingSource()
    let web = try WebFixture(sources: [source])
    try await onThread {
      let stream = try EventReader(port: web.port, "?interval=0.1")
      #expect(try stream.next("counts")?.json["local"]?.integer == 0)
      for step in 1...3 {
        source.count()
        #expect(try stream.next("counts")?.json["local"]?.integer == Int64(step))
      }
    }
  }

  @Test(
    .timeLimit(.minutes(2)), arguments: ["interval=0", "interval=61", "interval=x", "bounds=1", "selected=x"])
  func invalidQueriesAreRefused(query: String) async throws {
    let web = try WebFixture()
    #expect(try await web.ask("GET", "/api/v1/stream?\(query)").status == 400)
  }

  @Test(.timeLimit(.minutes(2))) func theEndIsAnnounced() async throws {
    let web = try WebFixture()
    try await onThread {
      let streams = try (0..<5).map { _ in try EventReader(port: web.port) }
      for stream in streams { _ = try stream.next("hello") }
      web.hub.stop(reason: "the server ends")
      for stream in streams {
        #expect(try stream.next("bye")?.json["reason"]?.string == "the server ends")
        let after = try stream.next()
        #expect(after == nil)
      }
      #expect(try EventReader(port: web.port).head.status == 503)
    }
  }
}

/// A source that counts.
private final class CountingSource: StreamSource {
  private let number = Locked<UInt64>(0)
  let event = "counts"

  func count() { number.withLock { $0 += 1 } }
  var revision: UInt64 { number.withLock { $0 } }
  func json(for principal: Principal) -> [UInt8]? {
    JSONWriter.object { json in
      json.key(principal.name)
      json.value(revision)
    }
  }
}
