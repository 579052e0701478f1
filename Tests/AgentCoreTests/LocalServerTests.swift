import AgentCore
import Foundation
import JSON
import LocalProtocols
import Pipeline
import Platform
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing
import VehicleData

/// The server for programs on the same machine, over real sockets.
@Suite struct LocalServerTests {
  private static let exact = LocalAccess(.exact)

  /// A server with services on free ports and sockets in its own folder.
  private final class Fixture: Sendable {
    let directory: TemporaryDirectory
    let server: LocalServer
    let nmeaPort: UInt16
    let gpsdPort: UInt16
    let demands = Locked<[LocalDemand]>([])

    init(_ settings: String...) throws {
      directory = try TemporaryDirectory()
      nmeaPort = try FreePort.next()
      gpsdPort = try FreePort.next()
      let layer = try ConfigurationLayer(
        assignments: [
          "vehicle.id=v", "nmea.listen=127.0.0.1:\(nmeaPort)", "gpsd_server.listen=127.0.0.1:\(gpsdPort)",
          "nmea.socket=\(directory.file("nmea.socket"))",
          "gpsd_server.socket=\(directory.file("gpsd.socket"))",
        ] + settings)
      let configuration = try AgentConfiguration(layers: [layer], file: nil)
      server = try LocalServer()
      try server.start(try configuration.local.map { try LocalListeners($0, version: "1.2.3") }) {
        [demands] demand in
        demands.withLock { $0.append(demand) }
      }
    }

    deinit { server.stop() }

    /// The last demand, without the number of arrivals.
    var demand: LocalDemand {
      var demand = demands.withLock { $0.last ?? LocalDemand() }
      demand.arrivals = 0
      return demand
    }

    var arrivals: Int { demands.withLock { $0.last?.arrivals ?? 0 } }

    /// Publishes a position; `second` is its time.
    func publish(_ second: Int, to accesses: [LocalAccess] = [exact]) {
      var location = Location(
        timestamp: Timestamp(seconds: Double(second)),
        coordinate: Coordinate(latitude: 48 + Double(second % 1000) / 1e4, longitude: 11))
      (location.horizontalAccuracy, location.altitude, location.speed, location.course) = (4, 500, 10, 90)
      let report = LocalReport(
        time: UTCTime(nanoseconds: 1_795_248_000_000_000_000).advanced(bySeconds: Double(second)),
        location: PrivacyPolicy.unrestricted(location))
      server.publish(
        LocalEpoch(
          timestamp: location.timestamp,
          reports: Dictionary(uniqueKeysWithValues: accesses.map { ($0, report) })))
    }

    func waitForConnections(_ count: Int) {
      waitUntil { self.server.reports.reduce(0) { $0 + $1.connections } == count }
      #expect(server.reports.reduce(0) { $0 + $1.connections } == count)
    }

    func waitForDemand(_ condition: (LocalDemand) -> Bool) {
      waitUntil { condition(self.demand) }
      #expect(condition(demand), "\(demand)")
    }
  }

  // MARK: Protocols

  @Test func nmeaClientsReceiveEachReport() throws {
    let fixture = try Fixture()
    let clients = [
      try LocalClient(port: fixture.nmeaPort), try LocalClient(fixture.directory.file("nmea.socket")),
    ]
    fixture.waitForConnections(2)
    fixture.waitForDemand { $0 == LocalDemand([Self.exact]) }
    #expect(waitUntil { fixture.arrivals == 2 })
    for second in 1...3 { fixture.publish(second) }
    for client in clients {
      var count = 0
      let lines = client.readLines { line in
        count += line.hasPrefix("$GNZDA") ? 1 : 0
        return count == 3
      }
      for name in ["GGA", "RMC", "VTG", "GST", "ZDA"] {
        #expect(lines.count { $0.hasPrefix("$GN\(name),") } == 3, "\(name)")
      }
      #expect(lines.allSatisfy { $0.hasPrefix("$") && $0.hasSuffix("\r") })
    }
  }

  @Test func gpsdClientsReceiveWhatTheyWatch() throws {
    let fixture = try Fixture()
    let client = try LocalClient(port: fixture.gpsdPort)
    #expect(client.readLines { $0.contains("VERSION") }.count == 1)
    fixture.waitForConnections(1)
    #expect(fixture.demand == LocalDemand())
    client.write(Array("?WATCH={\"enable\":true,\"json\":true};\n".utf8))
    fixture.waitForDemand { !$0.accesses.isEmpty }
    fixture.publish(1)
    let lines = client.readLines { $0.contains("\"TPV\"") }
    #expect(lines.contains { $0.hasPrefix("{\"class\":\"DEVICES\"") })
    let position = try JSONValue(parsing: Array(try #require(lines.last).utf8))
    #expect(position["lat"]?.double == 48.0001 && position["mode"]?.integer == 3)
    client.write(Array("?WATCH={\"enable\":false};\n".utf8))
    fixture.waitForDemand { $0 == LocalDemand() }
  }

  @Test func disconnectedProgramEndsItsDemand() throws {
    let fixture = try Fixture("nmea.rate=5")
    do {
      let client = try LocalClient(port: fixture.nmeaPort)
      fixture.waitForDemand { $0 == LocalDemand([Self.exact], interval: 0.2) }
      withExtendedLifetime(client) {}
    }
    fixture.waitForDemand { $0 == LocalDemand() }
    fixture.waitForConnections(0)
  }

  /// The attitude is required for reports that contain it.
  @Test func attitudeIsRequiredByItsReaders() throws {
    for (settings, watch, isRequired) in [
      ("nmea.rate=1", nil, false), ("nmea.sentences=RMC,PASHR", nil, true),
      ("nmea.rate=1", "\"json\":true", true), ("nmea.rate=1", "\"nmea\":true", true),
      ("gpsd_server.accuracy=reduced", "\"json\":true", false), ("nmea.rate=1", "\"json\":false", false),
    ] as [(String, String?, Bool)] {
      let fixture = try Fixture(settings)
      let client = try LocalClient(port: watch == nil ? fixture.nmeaPort : fixture.gpsdPort)
      if let watch { client.write(Array("?WATCH={\"enable\":true,\(watch)};\n".utf8)) }
      fixture.waitForDemand { !$0.accesses.isEmpty }
      #expect(fixture.demand.attitude == isRequired, "\(settings) \(watch ?? "")")
      withExtendedLifetime(client) {}
    }
  }

  @Test func reportsAreLimitedToTheConfiguredRate() throws {
    let fixture = try Fixture("nmea.rate=0.1")
    let client = try LocalClient(port: fixture.nmeaPort)
    fixture.waitForConnections(1)
    for second in 0...31 { fixture.publish(second) }
    fixture.publish(100)
    let lines = client.readLines { $0.hasPrefix("$GNZDA,080140") }
    #expect(lines.count { $0.hasPrefix("$GNZDA") } == 5)
  }

  // MARK: Access

  @Test func rulesGiveUsersAndGroupsTheirAccess() throws {
    let passwd = try TemporaryDirectory()
    let file = passwd.file("passwd")
    try "root:x:0:0::/:/bin/sh\nalice:x:1001:1001::/:/bin/sh\n".write(
      toFile: file, atomically: true, encoding: .utf8)
    #expect(AccountNames.number(of: "alice", in: file) == 1001)
    #expect(AccountNames.number(of: "ali", in: file) == nil && AccountNames.number(of: "77", in: file) == 77)
    let layer = try ConfigurationLayer(assignments: [
      "vehicle.id=v", "nmea.socket=/run/n", "nmea.accuracy=none", "nmea.access=7=exact,@8=reduced",
      "nmea.privacy=ignore",
    ])
    let rules = AccessRules(try #require(try AgentConfiguration(layers: [layer], file: nil).local.first))
    func access(_ user: UInt32, _ groups: Set<UInt32>) -> LocalAccess {
      rules.access(of: PeerCredentials(user: user, groups: groups))
    }
    #expect(access(7, [8]) == LocalAccess(.exact, privacy: .ignore))
    #expect(access(9, [3, 8]) == LocalAccess(.reduced, privacy: .ignore))
    #expect(access(9, [9]) == LocalAccess(.none, privacy: .ignore))
    #expect(rules.access(of: nil) == LocalAccess(.none, privacy: .ignore))
  }

  /// In a user namespace, a restricted user looks like any other, so none receives positions.
  @Test func usersMissingInANamespaceReceiveNoPositions() throws {
    func access(_ rules: String, lacksUsers: Bool) throws -> LocalAccess.Accuracy {
      let layer = try ConfigurationLayer(
        assignments: ["vehicle.id=v", "nmea.socket=/run/n", "nmea.accuracy=exact"]
          + (rules.isEmpty ? [] : ["nmea.access=\(rules)"]))
      let service = try #require(try AgentConfiguration(layers: [layer], file: nil).local.first)
      return AccessRules(service, lacksUsers: lacksUsers).access(
        of: PeerCredentials(user: 65_534, groups: [65_534])
      ).accuracy
    }
    #expect(try access("1000=none", lacksUsers: true) == .none)
    #expect(try access("1000=none", lacksUsers: false) == .exact)
    #expect(try access("", lacksUsers: true) == .exact)
  }

  /// The kernel reports the credentials of a client.
  @Test func ownCredentialsSelectTheRule() throws {
    let fixture = try Fixture(
      "gpsd_server.accuracy=none", "gpsd_server.access=\(getuid())=reduced", "nmea.accuracy=none",
      "nmea.access=@\(getegid())=exact")
    let byUser = try LocalClient(fixture.directory.file("gpsd.socket"))
    byUser.write(Array("?WATCH={\"enable\":true};\n".utf8))
    fixture.waitForDemand { $0.accesses == [LocalAccess(.reduced)] }
    let byGroup = try LocalClient(fixture.directory.file("nmea.socket"))
    fixture.waitForDemand { $0.accesses == [LocalAccess(.reduced), Self.exact] }
    withExtendedLifetime((byUser, byGroup)) {}
  }

  @Test func accessWithoutPositionsReportsNoFix() throws {
    let fixture = try Fixture("nmea.accuracy=none", "gpsd_server.accuracy=none")
    let client = try LocalClient(port: fixture.nmeaPort)
    let lines = client.readLines { $0.hasPrefix("$GNZDA") }
    #expect(
      lines.contains {
        $0.hasPrefix("$GNRMC,") && $0.split(separator: ",", omittingEmptySubsequences: false)[2] == "V"
      })
    let watcher = try LocalClient(port: fixture.gpsdPort)
    watcher.write(Array("?WATCH={\"enable\":true,\"json\":true};\n".utf8))
    let report = watcher.readLines { $0.contains("\"TPV\"") }.last ?? ""
    #expect(report.contains("\"mode\":1") && !report.contains("\"lat\""))
    #expect(fixture.demand == LocalDemand())
  }

  @Test func socketHasItsModeAndIsRemovedAtTheEnd() throws {
    var path = ""
    do {
      let fixture = try Fixture("nmea.socket_mode=0606", "nmea.socket_group=\(getegid())")
      path = fixture.directory.file("nmea.socket")
      var status = stat()
      #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o606 && status.st_gid == getegid())
      fixture.server.stop()
      #expect(access(path, F_OK) != 0)
    }
  }

  // MARK: Bad clients

  /// A program that does not read is disconnected; others receive everything meanwhile.
  @Test func programThatDoesNotReadIsDisconnected() throws {
    let fixture = try Fixture()
    let deaf = try LocalClient(fixture.directory.file("nmea.socket"))
    let reader = try LocalClient(port: fixture.nmeaPort)
    fixture.waitForConnections(2)
    var second = 0
    while fixture.server.reports[0].disconnected == 0, second < 5000 {
      second += 1
      fixture.publish(second)
      let lines = reader.readLines { $0.hasPrefix("$GNZDA") }
      if lines.count < 4 { break }
    }
    let report = fixture.server.reports[0]
    #expect(
      report.disconnected == 1 && report.connections == 1 && report.dropped >= LocalConnection.dropLimit)
    #expect(second > LocalConnection.dropLimit && second < 5000, "\(second)")
    // The unread data consists of complete sentences.
    let rest = String(decoding: deaf.readAll(), as: UTF8.self)
    #expect(
      rest.hasSuffix("\r\n")
        && rest.split(separator: "\r\n").allSatisfy { $0.hasPrefix("$") && $0.dropLast(2).hasSuffix("*") })
  }

  @Test func programsAboveTheLimitAreRefusedWithTheReason() throws {
    let fixture = try Fixture("nmea.clients=3", "gpsd_server.clients=1")
    let clients = try (0..<3).map { _ in try LocalClient(port: fixture.nmeaPort) }
    fixture.waitForConnections(3)
    let refused = try LocalClient(port: fixture.nmeaPort)
    #expect(
      String(decoding: refused.readAll(), as: UTF8.self)
        == "$GPTXT,01,01,00,too many connections (nmea.clients = 3)*29\r\n")
    let first = try LocalClient(port: fixture.gpsdPort)
    #expect(!first.readLines { $0.contains("VERSION") }.isEmpty)
    let second = try LocalClient(port: fixture.gpsdPort)
    #expect(
      String(decoding: second.readAll(), as: UTF8.self).hasPrefix(
        "{\"class\":\"ERROR\",\"message\":\"too many connections"))
    waitUntil { fixture.server.reports.map(\.refused) == [1, 1] }
    #expect(fixture.server.reports.map(\.refused) == [1, 1])
    withExtendedLifetime((clients, first)) {}
  }

  @Test func manyProgramsAreServed() throws {
    let fixture = try Fixture("nmea.clients=200")
    let clients = try (0..<200).map { _ in try LocalClient(port: fixture.nmeaPort) }
    fixture.waitForConnections(200)
    fixture.publish(1)
    for client in clients {
      #expect(client.readLines { $0.hasPrefix("$GNZDA") }.count >= 4)
    }
  }

  @Test func invalidRequestsAreAnsweredOrDropped() throws {
    let fixture = try Fixture()
    var generator = SeededGenerator.announced()
    for _ in 0..<50 {
      let client = try LocalClient(port: fixture.gpsdPort)
      let length = Int.random(in: 1...3000, using: &generator)
      client.write((0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }
    let nmea = try LocalClient(port: fixture.nmeaPort)
    nmea.write([UInt8](repeating: 0xFF, count: 2000))
    let client = try LocalClient(port: fixture.gpsdPort)
    for request in [
      "?NOTHING;", "?WATCH={\"enable\":;", "?WATCH=[];", "?DEVICE={\"path\":7};",
      String(repeating: "x", count: 5000),
    ] {
      client.write(Array("\(request)\n".utf8))
    }
    client.write(Array("?VERSION;\n".utf8))
    let lines =
      client.readLines { $0.contains("VERSION") && !$0.contains("ERROR") }
      + client.readLines { $0.contains("VERSION") && !$0.contains("ERROR") }
    #expect(lines.contains { $0.contains("\"ERROR\"") })
    fixture.publish(1)
    #expect(nmea.readLines { $0.hasPrefix("$GNZDA") }.count >= 4)
  }

  /// A program that sends without end is disconnected.
  @Test func floodEndsTheConnection() throws {
    let fixture = try Fixture()
    let client = try LocalClient(port: fixture.nmeaPort)
    fixture.waitForConnections(1)
    waitUntil {
      client.write([UInt8](repeating: 0x20, count: 4096))
      return fixture.server.reports[0].disconnected == 1
    }
    #expect(fixture.server.reports[0].disconnected == 1)
  }

  // MARK: Sockets

  @Test func staleSocketIsReplacedAndALiveOneIsNot() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("s")
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    #expect(LocalSocket.withAddress(path) { bind(descriptor, $0, $1) } == 0)
    close(descriptor)
    let socket = try ListeningSocket.unix(path, mode: 0o660)
    #expect(throws: SystemError.self) { _ = try ListeningSocket.unix(path, mode: 0o660) }
    withExtendedLifetime(socket) {}
    let file = try directory.write("track.nmea", "content")
    #expect(throws: SystemError.self) { _ = try ListeningSocket.unix(file, mode: 0o660) }
    #expect(try AtomicFile.read(file, limit: 100) == Array("content".utf8))
  }

  @Test func usedPortIsAnError() throws {
    let port: UInt16 = try FreePort.next()
    let address = try #require(ListeningAddress("127.0.0.1:\(port)"))
    let socket = try ListeningSocket.tcp(address)
    #expect(throws: SystemError(operation: "listen on", object: "127.0.0.1:\(port)", code: EADDRINUSE)) {
      _ = try ListeningSocket.tcp(address)
    }
    withExtendedLifetime(socket) {}
  }
}
