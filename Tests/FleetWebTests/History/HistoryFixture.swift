import Fleet
import FleetFixtures
import FleetStore
import FleetWeb
import Glibc
import Hummingbird
import JSON
import MQTT
import Platform
import Spatial
import Telemetry
import TestSupport
import VehicleData

/// A history server over a recording of the test, on a free loopback port. The header `x-test-principal` is the scope: `all`, or fleets
/// and vehicles separated by commas. Without the header the client is not logged in.
final class HistoryFixture: Sendable {
  let port: Int
  let readers: HistoryReaders
  private let task: Task<Void, Never>

  init(_ recording: String, limits: HistoryReaders.Limits = .init()) async throws {
    let readers = try HistoryReaders(recording, limits: limits)
    let router = Router(context: WebContext.self)
    router.add(middleware: TestPrincipal())
    HistoryRoutes(readers).add(to: router.group("api/v1"))
    let (ports, source) = AsyncStream<Int>.makeStream()
    let application = Application(
      router: router,
      configuration: .init(address: .hostname("127.0.0.1", port: 0), serverName: nil),
      onServerRunning: { channel in source.yield(channel.localAddress?.port ?? 0) })
    task = Task {
      do { try await application.run() } catch {}
      source.finish()
    }
    var iterator = ports.makeAsyncIterator()
    guard let port = await iterator.next() else {
      throw SystemError(operation: "start", object: "a server", code: EIO)
    }
    (self.port, self.readers) = (port, readers)
  }

  deinit {
    task.cancel()
    readers.stop()
  }

  /// - Parameter path: Path below `/api/v1/`.
  func get(_ path: String, as principal: String? = "all", knowing tag: String? = nil) throws -> HistoryAnswer
  {
    let connection = try open(path, as: principal, knowing: tag)
    return try connection.answer()
  }

  /// Sends a request without reading the answer.
  func open(
    _ path: String, as principal: String? = "all", knowing tag: String? = nil
  ) throws -> HistoryConnection {
    let who =
      (principal.map { "x-test-principal: \($0)\r\n" } ?? "") + (tag.map { "if-none-match: \($0)\r\n" } ?? "")
    return try HistoryConnection(
      port: port, "GET /api/v1/\(path) HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\(who)\r\n")
  }

  func json(_ path: String, as principal: String? = "all") throws -> JSONValue {
    try get(path, as: principal).json
  }
}

private struct TestPrincipal: RouterMiddleware {
  func handle(
    _ request: Request, context: WebContext, next: (Request, WebContext) async throws -> Response
  ) async throws -> Response {
    var context = context
    let name = request.headers[.init("x-test-principal").unsafelyUnwrapped]
    if name == "all" {
      context.principal = .local
    } else if let name {
      var scope = Scope(fleets: [])
      for part in name.split(separator: ",") {
        let names = part.split(separator: "/").map(String.init)
        if names.count == 1 {
          scope.fleets?.insert(names[0])
        } else {
          scope.vehicles.insert(VehicleKey(fleet: names[0], vehicle: names[1]))
        }
      }
      context.principal = Principal(name: "test", role: .view, scope: scope)
    }
    return try await next(request, context)
  }
}

struct HistoryAnswer {
  var status: Int
  var head: String
  var body: [UInt8]

  var headWithoutDate: [Substring] {
    head.split(separator: "\r\n").filter { !$0.lowercased().hasPrefix("date") }
  }

  var tag: String? {
    head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("etag: ") }.map {
      String($0.dropFirst(6))
    }
  }

  var text: String { String(decoding: body, as: UTF8.self) }

  var json: JSONValue {
    get throws { try JSONValue(parsing: body) }
  }

  /// The code of an error.
  var code: String? { (try? json)?["error"]?["code"]?.string }
}

/// A connection for a single request.
final class HistoryConnection {
  private var descriptor: Int32

  init(port: Int, _ request: String) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = UInt16(port).bigEndian
    let result = withUnsafePointer(to: address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw SystemError(operation: "reach", object: "port \(port)", code: errno) }
    var bytes = Array(request.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { throw SystemError(operation: "send to", object: "port \(port)", code: errno) }
      bytes = bytes.dropFirst(count)
    }
  }

  deinit { leave() }

  /// Disconnects without an answer.
  func leave() {
    if descriptor >= 0 { close(descriptor) }
    descriptor = -1
  }

  /// Reads at most `most` bytes.
  func read(_ most: Int) -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: most)
    let count = recv(descriptor, &buffer, most, 0)
    return Array(buffer.prefix(max(0, count)))
  }

  func answer() throws -> HistoryAnswer {
    var all: [UInt8] = []
    while true {
      let piece = read(65_536)
      guard !piece.isEmpty else { break }
      all += piece
    }
    let end = Array("\r\n\r\n".utf8)
    guard let split = all.firstRange(of: end) else {
      throw SystemError(operation: "read", object: "an answer of \(all.count) bytes", code: EIO)
    }
    let head = String(decoding: all[..<split.lowerBound], as: UTF8.self)
    var body = Array(all[split.upperBound...])
    if head.lowercased().contains("transfer-encoding: chunked") { body = Self.unchunked(body) }
    let status = head.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    return HistoryAnswer(status: status, head: head, body: body)
  }

  private static func unchunked(_ bytes: [UInt8]) -> [UInt8] {
    var (body, rest): ([UInt8], ArraySlice<UInt8>) = ([], bytes[...])
    while let line = rest.firstIndex(of: 13) {
      let size = Int(String(decoding: rest[..<line], as: UTF8.self), radix: 16) ?? 0
      guard size > 0, rest.count >= line - rest.startIndex + 2 + size else { break }
      let start = line + 2
      body += rest[start..<start + size]
      rest = rest[min(start + size + 2, rest.endIndex)...]
    }
    return body
  }
}

/// Messages in the recordings of these tests.
enum HistoryRows {
  static let series = "0123456789abcdef"

  /// Stores messages: topics below `odograph/v1`, and payloads.
  static func store(_ messages: [(String, String)], in address: String) throws {
    var recording = MessageRecording(root: "odograph/v1")
    let rows = messages.map { topic, text in
      recording.record(
        MQTTMessage(topic: "odograph/v1/" + topic, text: text, qos: .atLeastOnce), at: moment(0))
    }
    let store = RecordingAddress.store(for: address)
    try store.open()
    var start = 0
    while start < rows.count {
      let end = min(start + 2000, rows.count)
      _ = try store.store(Array(rows[start..<end]))
      start = end
    }
    store.close()
  }

  /// Returns a location of a vehicle, `seconds` after noon of 2026-11-21.
  static func location(
    _ vehicle: String, _ seq: Int, at seconds: Double, latitude: Double, longitude: Double = 11.5,
    altitude: Double? = nil, speed: Double? = nil
  ) -> (String, String) {
    var text = #"{"time":"\#(wireTime(seconds))","latitude":\#(latitude),"longitude":\#(longitude)"#
    if let altitude { text += #","altitude":\#(altitude)"# }
    if let speed { text += #","speed":\#(speed)"# }
    return ("\(vehicle)/location", text + #","epoch":"e","seq":\#(seq)}"#)
  }

  static func trip(
    _ vehicle: String, _ number: Int64, at seconds: Double, kind: TripMessage.Kind = .driven,
    distance: Double = 500, series: String = series, north: Double = 0
  ) -> (String, String) {
    let (begin, end) = (noon.advanced(bySeconds: seconds), noon.advanced(bySeconds: seconds + 600))
    let places = [(48.125, 11.5), (48.13, 11.51), (48.14, 11.51)].enumerated().map { index, place in
      TripMessage.Waypoint(
        time: begin.advanced(bySeconds: 300 * Double(index)),
        coordinate: PrivacyPolicy.unrestricted(Coordinate(latitude: place.0 + north, longitude: place.1)))
    }
    var trip = TripMessage(
      trip: JournalNumber(series: series, number: number), revision: 1, phase: .ended, kind: kind,
      start: .init(time: begin, coordinate: PrivacyPolicy.unrestricted(places[0].coordinate)),
      end: .init(time: end, coordinate: PrivacyPolicy.unrestricted(places[2].coordinate)), distance: distance,
      moving: 540, standing: 60,
      greatestSpeed: 13.25, way: places, bound: 5)
    trip.identity = MessageIdentity(epoch: "t", seq: UInt64(number) * 100)
    return ("\(vehicle)/trip", String(decoding: trip.payload, as: UTF8.self))
  }

  static func event(
    _ vehicle: String, _ number: Int64, at seconds: Double, kind: DrivingEventMessage.Kind = .harshBraking,
    severity: DrivingEventMessage.Severity = .medium
  ) -> (String, String) {
    var event = DrivingEventMessage(
      time: noon.advanced(bySeconds: seconds), event: kind,
      journal: JournalNumber(series: series, number: number), isOngoing: false, trip: 1,
      coordinate: PrivacyPolicy.unrestricted(Coordinate(latitude: 48.125, longitude: 11.5)),
      horizontalAccuracy: 2.5, speed: 12.5,
      peak: 4.25, limit: 3, duration: 1.5, severity: severity, confidence: 0.875, region: nil)
    event.identity = MessageIdentity(epoch: "v", seq: UInt64(number))
    return ("\(vehicle)/driving/event", String(decoding: event.payload, as: UTF8.self))
  }

  /// Returns an entry to or exit from a region.
  static func transition(
    _ vehicle: String, _ seq: Int, at seconds: Double, _ event: String, _ region: String
  ) -> (String, String) {
    let text = #"{"time":"\#(wireTime(seconds))","event":"\#(event)","region":"\#(region)","confidence":1"#
    return ("\(vehicle)/region", text + #","epoch":"r","seq":\#(seq)}"#)
  }
}

/// A temporary recording in one of the databases.
final class TestRecording: Sendable {
  enum Kind: String, CaseIterable, Sendable { case sqlite, postgreSQL }

  let address: String
  let directory: TemporaryDirectory
  let server: PostgreSQLFixture?

  init(_ kind: Kind, _ messages: [(String, String)]) throws {
    directory = try TemporaryDirectory()
    server = kind == .postgreSQL ? try PostgreSQLFixture() : nil
    address = server?.url ?? directory.file("fleet.sqlite")
    try HistoryRows.store(messages, in: address)
  }
}
