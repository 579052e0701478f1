import FleetFixtures
import FleetStore
import Glibc
import TestSupport
import Testing

/// Addresses with several servers.
@Suite struct PostgreSQLHostsTests {
  /// Table: an address, and the parameters of each attempt.
  @Test(arguments: [
    ("postgres://db.example/fleet", [""]),
    ("postgres://a,b/fleet", ["host=a", "host=b"]),
    ("postgres://a:1,b:2/fleet", ["host=a port=1", "host=b port=2"]),
    ("host=a,b port=5433 dbname=fleet", ["host=a", "host=b"]),
    ("hostaddr=127.0.0.1,127.0.0.2 port=1,2", ["hostaddr=127.0.0.1 port=1", "hostaddr=127.0.0.2 port=2"]),
    ("postgres://a,b/fleet?target_session_attrs=read-write", ["host=a", "host=b"]),
    (
      "postgres://a,b/fleet?target_session_attrs=prefer-standby",
      [
        "host=a target_session_attrs=standby", "host=b target_session_attrs=standby",
        "host=a target_session_attrs=any", "host=b target_session_attrs=any",
      ]
    ),
    // libpq reports the error.
    ("host=a,b port=1,2,3", [""]), ("nothing to read", [""]),
  ])
  func eachServerIsAnAttempt(address: String, attempts: [String]) {
    let found = PostgreSQLHosts.attempts(address).map { own in
      own.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
    }
    #expect(found == attempts)
  }

  /// A server that accepts connections and never answers, like a machine that hangs, followed by one that answers.
  @Test(.timeLimit(.minutes(2)), .needs(.postgreSQL)) func aSilentServerIsSkipped() throws {
    let server = try PostgreSQLFixture()
    let silent = try SilentServer()
    let address =
      "postgres://fleet@127.0.0.1:\(silent.port),127.0.0.1:\(server.port)/postgres?connect_timeout=1"
    let store = PostgreSQLStore(address: address)
    #expect(try store.store(RecordedRows.of([RecordedRows.location(1, at: 0)])) == 1)
    // The second server is writable. It is used although the first one answers.
    let replica = try PostgreSQLFixture(replicaOf: server)
    let writing =
      "postgres://fleet@127.0.0.1:\(replica.port),127.0.0.1:\(server.port)/postgres?target_session_attrs=read-write"
    #expect(
      try PostgreSQLStore(address: writing).store(RecordedRows.of([RecordedRows.location(2, at: 1)])) == 1)
    let reading = try PostgreSQLConnection(
      "postgres://fleet@127.0.0.1:\(server.port),127.0.0.1:\(replica.port)/postgres?target_session_attrs=prefer-standby"
    )
    #expect(try reading.run("SELECT pg_is_in_recovery()").values == [["t"]])
    let alone = "postgres://fleet@127.0.0.1:\(silent.port),127.0.0.1:1/postgres?connect_timeout=1"
    #expect { try PostgreSQLStore(address: alone).open() } throws: {
      "\($0)".contains("127.0.0.1:\(silent.port): no answer within 1 s") && "\($0)".contains("port 1 failed")
    }
  }

  /// Keepalive settings in the address override the defaults.
  @Test(.needs(.postgreSQL)) func lostServersAreDetectedByKeepalives() throws {
    let server = try PostgreSQLFixture()
    func settings(_ address: String) throws -> [String: String] {
      try PostgreSQLConnection(address).parameters
    }
    let usual = try settings(server.url)
    #expect(
      usual["keepalives_idle"] == "10" && usual["keepalives_interval"] == "5"
        && usual["keepalives_count"] == "3")
    #expect(try settings(server.url + "?keepalives_idle=77")["keepalives_idle"] == "77")
  }
}

/// Accepts connections on a loopback port and never answers.
private final class SilentServer {
  let port: Int
  private let listener: Int32

  init() throws {
    port = try FreePort.next()
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    let isBound = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    try #require(isBound == 0 && listen(listener, 8) == 0)
  }

  deinit { close(listener) }
}
