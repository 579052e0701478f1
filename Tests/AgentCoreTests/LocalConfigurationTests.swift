import LocalProtocols
import Pipeline
import Settings
import TestSupport
import Testing

@testable import AgentCore

/// The keys of the services for programs on the same machine.
@Suite struct LocalConfigurationTests {
  private func services(_ settings: String...) throws -> [AgentConfiguration.LocalService] {
    let layer = try ConfigurationLayer(assignments: ["vehicle.id=v"] + settings)
    return try AgentConfiguration(layers: [layer], file: nil).local
  }

  @Test func servicesAreOffByDefault() throws {
    #expect(try services() == [])
    let layer = try ConfigurationLayer(assignments: ["vehicle.id=v"])
    #expect(try !AgentConfiguration(layers: [layer], file: nil).hasSensorProxy)
  }

  @Test func keysReachTheService() throws {
    let service = try #require(
      try services(
        "nmea.listen=127.0.0.1:10110,[::1]:10111", "nmea.socket=/run/n", "nmea.socket_mode=0600",
        "nmea.socket_group=staff", "nmea.accuracy=reduced", "nmea.access=alice=exact,@staff=none",
        "nmea.privacy=ignore",
        "nmea.rate=5", "nmea.clients=7", "nmea.sentences=RMC,GGA"
      ).first)
    #expect(service.addresses.map(\.description) == ["127.0.0.1:10110", "[::1]:10111"])
    #expect(service.socket == "/run/n" && service.mode == 0o600 && service.group == "staff")
    #expect(service.access == LocalAccess(.reduced, privacy: .ignore))
    #expect(
      service.rules == [
        .init(name: "alice", isGroup: false, accuracy: .exact),
        .init(name: "staff", isGroup: true, accuracy: .none),
      ])
    #expect(service.interval == 0.2 && service.capacity == 7 && service.sentences == [.rmc, .gga])
    #expect(try services("gpsd_server.socket=/run/g").map(\.dialect) == [.gpsd])
  }

  @Test(
    arguments: [
      (
        "nmea.listen=10110",
        "--set nmea.listen: key nmea.listen: \"10110\" is not a numeric address with a port"
      ),
      ("nmea.listen=example.org:1", "is not a numeric address"),
      ("nmea.listen=127.0.0.1:0", "is not a numeric address"),
      ("nmea.listen=::1:10110", "is not a numeric address"),
      ("nmea.listen=127.0.0.1:99999", "is not a numeric address"),
      ("nmea.socket=n", "\"n\" is not an absolute path"),
      ("nmea.socket_mode=0999", "\"0999\" is not an octal file mode"),
      ("nmea.socket_mode=1777", "\"1777\" is not an octal file mode"),
      ("nmea.access=alice", "\"alice\" is not a rule"),
      ("nmea.access=alice=some", "\"alice=some\" is not a rule"),
      ("nmea.access=@=exact", "\"@=exact\" is not a rule"),
      ("nmea.accuracy=exakt", "did you mean \"exact\"?"), ("nmea.rate=11", "is not a number from 0.01 to 10"),
      ("nmea.sentences=GGA,ABC", "\"ABC\" is not one of \"GGA\""),
      (
        "gpsd_server.listen=127.0.0.1:2947",
        "127.0.0.1:2947 is the port of the gpsd that the agent reads (gpsd.port)"
      ),
    ]) func invalidValueIsAnErrorWithTheRemedy(_ setting: String, _ message: String) throws
  {
    do {
      _ = try services(setting)
      Issue.record("\(setting) was accepted")
    } catch {
      #expect("\(error)".contains(message), "\(error)")
    }
  }

  @Test func anotherGPSDMayHaveThePort() throws {
    #expect(try services("gpsd_server.listen=127.0.0.1:2947", "gpsd.enabled=false").count == 1)
    #expect(try services("gpsd_server.listen=127.0.0.1:2947", "gpsd.host=gps.example").count == 1)
  }

  /// No remote setting can open the service or change its permissions.
  @Test func keysCannotBeChangedRemotely() {
    let keys = ConfigurationKey.all.map(\.path).filter {
      $0.hasPrefix("nmea.") || $0.hasPrefix("gpsd_server.") || $0.hasPrefix("sensor_proxy.")
    }
    #expect(keys.count == 20)
    for key in keys { #expect(RemoteKeys.problem(with: key) != nil, "\(key)") }
  }

  @Test func checkReportsProblemsOfTheService() throws {
    let directory = try TemporaryDirectory()
    let port: UInt16 = try FreePort.next()
    let address = try #require(ListeningAddress("127.0.0.1:\(port)"))
    let free = try #require(
      try services("nmea.listen=\(address)", "nmea.socket=\(directory.file("s"))").first)
    #expect(
      free.findings() == [Finding(.ok, "nmea", "\(address) \(directory.file("s")): exact positions")])
    let socket = try ListeningSocket.tcp(address)
    let used = free.findings()
    #expect(used.map(\.severity) == [.warning])
    #expect(
      used.first?.line.contains(
        "\(address): Address already in use by the running agent or another program; if") == true)
    withExtendedLifetime(socket) {}
    let open: UInt16 = try FreePort.next()
    let other = try #require(
      try services(
        "gpsd_server.listen=0.0.0.0:\(open)", "gpsd_server.socket=/nonexistent/folder/s",
        "gpsd_server.socket_group=no-such-group", "gpsd_server.access=no-such-user=exact,@no-such-group=none"
      ).first
    ).findings().map(\.message)
    #expect(other.count == 5, "\(other)")
    #expect(other.first?.contains("every program that reaches this address receives exact positions") == true)
    #expect(other.contains { $0.contains("/nonexistent/folder: No such file or directory") })
    #expect(other.contains("no group no-such-group on this machine"))
    #expect(other.contains("no-such-user is neither a user nor a group of this machine"))
  }

  /// The limit on open files reserves descriptors for sensors, brokers and stores.
  @Test func programsAreLimitedByOpenFiles() throws {
    let both = try services(
      "nmea.listen=127.0.0.1:1", "nmea.clients=1000", "gpsd_server.listen=127.0.0.1:2",
      "gpsd_server.clients=600")
    #expect(both.limited(openFiles: 2000) == both && both.limitFindings(openFiles: 2000).isEmpty)
    #expect(both.limited(openFiles: 1024).map(\.capacity) == [520, 312])
    #expect(both.limited(openFiles: 10).map(\.capacity) == [1, 1])
    let findings = both.limitFindings(openFiles: 1024)
    #expect(
      findings.map(\.line) == [
        "warning  nmea: 520 programs instead of 1000: the process may open 1024 files; raise LimitNOFILE of the service, or reduce nmea.clients",
        "warning  gpsd_server: 312 programs instead of 600: the process may open 1024 files; raise LimitNOFILE of the service, or reduce gpsd_server.clients",
      ])
    #expect(try services("nmea.socket=/run/n").limitFindings(openFiles: 1024).isEmpty)
  }

  /// A rule for an account that does not exist must not leave the service open to others.
  @Test func unknownAccountsPreventTheService() throws {
    let directory = try TemporaryDirectory()
    for setting in ["nmea.access=no-such-user=none", "nmea.socket_group=no-such-group"] {
      let service = try #require(try services("nmea.socket=\(directory.file("s"))", setting).first)
      #expect(throws: ConfigurationError.self) { _ = try LocalListeners(service, version: "1") }
    }
  }
}
