package import Fleet
package import FleetProgram
package import HTTPTypes
package import Spatial
internal import TOML

/// The access settings: the tables `access`, `users`, `tokens` and `proxy` of the configuration.
package struct AccessConfiguration: Hashable, Sendable {
  package struct User: Hashable, Sendable {
    /// The password hash; nil for a user who only logs in through the proxy.
    package var password: PasswordHash?
    package var role: Role
    package var scope: Scope
  }

  package struct Token: Hashable, Sendable {
    package var name: String
    package var role: Role
    package var scope: Scope
    /// The expiry; nil for a token without one.
    package var end: UTCTime?
  }

  package var users: [String: User] = [:]
  /// The tokens by their digests.
  package var tokens: [SecretDigest: Token] = [:]
  /// The header in which a trusted proxy names the user; nil if proxies name no users.
  package var proxyHeader: HTTPField.Name?
  /// The addresses of proxies whose user and forwarding headers are trusted.
  package var proxyAddresses: [AddressRange] = []
  /// Further names of this server that a request's `Host` header may contain.
  package var hosts: Set<String> = []
  /// The folder for sessions and links; nil to hold them in memory.
  package var stateFolder: String?
  /// The audit file; nil for standard error only.
  package var auditFile: String?
  /// The time in seconds after which an unused session ends, and the maximum lifetime of a session in
  /// seconds.
  package var sessionIdle = 12 * 3600.0
  package var sessionLongest = 30 * 86_400.0
  /// The maximum rate in requests per second: of each logged-in user, and of each address without a login.
  package var requestRate = 100.0

  /// Settings without a login.
  package static let none = AccessConfiguration()

  private init() {}

  package static let tables = ["access", "users", "tokens", "proxy", "tls"]
  private static let accessKeys = [
    "state", "audit", "hosts", "session_idle", "session_longest", "requests_per_second",
  ]
  private static let scopeKeys = ["role", "fleets", "vehicles"]
  private static let userKeys = scopeKeys + ["password", "password_file"]
  private static let tokenKeys = scopeKeys + ["sha256", "expires"]
  private static let proxyKeys = ["header", "addresses"]
  /// The keys that the tables in `tables` can contain.
  package static let keys = accessKeys + userKeys + tokenKeys + proxyKeys + CertificateStore.keys
  /// The maximum length of a user or token name in bytes.
  static let longestName = 64

  /// Reads the settings.
  ///
  /// - Throws: `FleetError` with file, line and column of an error.
  package init(_ file: SettingsFile) throws(FleetError) {
    let access = try file.table("access", keys: Self.accessKeys)
    stateFolder = try access.stateFile("state")
    auditFile = try access.stateFile("audit")
    for host in try access.texts("hosts") ?? [] {
      guard host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), !host.contains("/"), !host.contains(":") else {
        throw access.wrong("hosts", "\(host.prefix(80)) is not a host name; leave out scheme and port")
      }
      hosts.insert(host.lowercased())
    }
    if let seconds = try access.duration("session_idle") { sessionIdle = seconds }
    if let seconds = try access.duration("session_longest") { sessionLongest = seconds }
    if let rate = try access.number("requests_per_second", in: 1...100_000) { requestRate = rate }
    try readProxy(file.table("proxy", keys: Self.proxyKeys))
    for table in try file.tables(in: "users", keys: Self.userKeys) {
      try Self.check(name: table)
      let user = User(
        password: try Self.password(table), role: try table.word("role") ?? .view,
        scope: try Self.scope(table))
      if user.password == nil, proxyHeader == nil {
        throw table.wrong("password", "it is missing; `odograph access password \(table.name)` makes one")
      }
      users[table.name] = user
    }
    for table in try file.tables(in: "tokens", keys: Self.tokenKeys) {
      try Self.check(name: table)
      guard let text = try table.text("sha256"), let digest = SecretDigest(hexadecimal: text) else {
        throw table.wrong(
          "sha256",
          "must be the token's SHA-256 in 64 hexadecimal digits; `odograph access token \(table.name)` makes one"
        )
      }
      if let other = tokens[digest] {
        throw table.wrong(
          "sha256", "the entry of \(other.name) has the same digest; write one entry per token")
      }
      tokens[digest] = Token(
        name: table.name, role: try table.word("role") ?? .view, scope: try Self.scope(table),
        end: try Self.end(table))
    }
  }

  private mutating func readProxy(_ table: SettingsTable) throws(FleetError) {
    for text in try table.texts("addresses") ?? [] {
      guard let range = AddressRange(parsing: text) else {
        throw table.wrong("addresses", "\(text.prefix(80)) is not an address; write 10.0.0.5 or 10.0.0.0/8")
      }
      proxyAddresses.append(range)
    }
    if let text = try table.text("header") {
      guard let name = HTTPField.Name(text), ![.authorization, .cookie, .origin].contains(name) else {
        throw table.wrong("header", "\(text.prefix(80)) is not a header name; write one as X-Remote-User")
      }
      proxyHeader = name
    }
    if proxyHeader != nil, proxyAddresses.isEmpty {
      throw table.wrong(
        "addresses", "required: the addresses from which the header is accepted, for example 127.0.0.1")
    }
  }

  private static func check(name table: SettingsTable) throws(FleetError) {
    let isPlain = table.name.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F }
    guard isPlain, !table.name.isEmpty, table.name.utf8.count <= longestName else {
      throw table.wrong("role", "the entry's name has spaces, or more than \(longestName) bytes")
    }
  }

  private static func password(_ table: SettingsTable) throws(FleetError) -> PasswordHash? {
    let text = try table.text("password")
    let path = try table.file("password_file")
    if text != nil, path != nil {
      throw table.wrong("password_file", "password is set, too; remove one of them")
    }
    if let text {
      do throws(FleetError) { return try PasswordHash(parsing: text) } catch {
        throw table.wrong("password", error.cause)
      }
    }
    guard let path else { return nil }
    let content: String
    do throws(TOMLError) { content = try TOMLFile.read(path) } catch {
      throw table.wrong("password_file", "\(path) \(error.problem)")
    }
    do throws(FleetError) {
      return try PasswordHash(parsing: String(content.prefix { !$0.isNewline }))
    } catch {
      throw table.wrong("password_file", "\(path): \(error.cause)")
    }
  }

  private static func scope(_ table: SettingsTable) throws(FleetError) -> Scope {
    let fleets = try table.texts("fleets")
    guard let texts = try table.texts("vehicles") else { return Scope(fleets: fleets.map { Set($0) }) }
    var vehicles: Set<VehicleKey> = []
    for text in texts {
      let parts = text.split(separator: "/", omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else {
        throw table.wrong("vehicles", "\(text.prefix(80)) is not a vehicle; write fleet/vehicle")
      }
      vehicles.insert(VehicleKey(fleet: String(parts[0]), vehicle: String(parts[1])))
    }
    return Scope(fleets: Set(fleets ?? []), vehicles: vehicles)
  }

  private static func end(_ table: SettingsTable) throws(FleetError) -> UTCTime? {
    guard let text = try table.text("expires") else { return nil }
    guard let time = UTCTime(rfc3339: text) ?? UTCTime(rfc3339: text + "T00:00:00Z") else {
      throw table.wrong(
        "expires", "must be a date or a time as in \"2027-01-31\" or \"2027-01-31T18:00:00Z\"")
    }
    return time
  }

  /// True if any user can log in, so that a login is required.
  package var hasLogin: Bool {
    proxyHeader != nil || !tokens.isEmpty || users.values.contains { $0.password != nil }
  }

  /// Checks the listening address.
  ///
  /// - Throws: `FleetError` for an address that other machines can reach, if no login is required.
  package func check(listening address: ListenAddress) throws(FleetError) {
    guard !hasLogin, !address.isLoopback else { return }
    throw .usage(
      "listen at", "\(address.host):\(address.port)",
      "everybody there could send commands to vehicles; give --config a file with a login ([users.NAME] with what "
        + "`odograph access password NAME` prints), or listen at 127.0.0.1")
  }
}
