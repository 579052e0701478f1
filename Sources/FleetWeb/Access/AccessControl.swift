package import Fleet
internal import FleetProgram
internal import Platform
package import Spatial

/// The credentials with which a request was authenticated. Permissions are looked up anew for each request,
/// because configuration entries change and sessions end.
package enum Identity: Hashable, Sendable {
  /// A local request without a login.
  case local
  /// The digest of a session cookie, which was issued at a login or for a share link.
  case session(SecretDigest)
  case token(SecretDigest)
  /// A user named by a trusted proxy.
  case proxy(String)

  /// True if a browser sends the credentials automatically, also for requests from other sites.
  var isAmbient: Bool { if case .token = self { false } else { true } }
}

/// The access control: configured users and tokens, sessions, share links, login delays and rate limits.
package final class AccessControl: Sendable {
  struct State {
    var configuration: AccessConfiguration {
      didSet { entries = AccessControl.entries(configuration) }
    }
    /// The digest of each user's configuration entry, by user name. A session ends when the digest changes.
    /// Computed only when the configuration changes, because every request and stream event requires it.
    private(set) var entries: [String: SecretDigest]
    var sessions: SessionTable
    var shares = ShareTable()
    var delays = LoginDelays()
    var limitsOfAddresses: RequestLimits<Address>
    var limitsOfPrincipals: RequestLimits<String>
    /// True if sessions or links have changed since they were last stored.
    var isChanged = false

    init(_ configuration: AccessConfiguration) {
      self.configuration = configuration
      entries = AccessControl.entries(configuration)
      sessions = SessionTable(idle: configuration.sessionIdle, longest: configuration.sessionLongest)
      // A burst can be 10 s of requests: a page loads about thirty files, and all users of an office can
      // share one address.
      limitsOfAddresses = RequestLimits(
        rate: configuration.requestRate, burst: configuration.requestRate * 10)
      limitsOfPrincipals = RequestLimits(
        rate: configuration.requestRate, burst: configuration.requestRate * 5)
    }

    /// Returns the digest on which a session of this holder depends: of the user's configuration entry, or of
    /// the link. Nil if the user was removed or the link has ended.
    func entry(of holder: SessionTable.Holder, at now: UTCTime) -> SecretDigest? {
      switch holder {
      case .user(let name): return entries[name]
      case .link(let link):
        guard let share = shares.share(link, at: now), holds(share, at: now) else { return nil }
        return link
      }
    }

    /// Returns whether the creator of a link can still see its vehicle.
    func holds(_ share: ShareTable.Share, at now: UTCTime) -> Bool {
      AccessControl.sees(share.maker, share.vehicle, configuration, at: now)
    }

    /// Ends links whose creator can no longer see their vehicles.
    mutating func endLostShares(at now: UTCTime) {
      let current = self
      shares.keep { current.holds($0, at: now) }
    }
  }

  let state: Locked<State>
  private struct Vehicles: Sendable {
    /// Returns whether a vehicle exists; by default always true.
    var isThere: @Sendable (VehicleKey) -> Bool = { _ in true }
  }

  private let vehicles = Locked(Vehicles())

  private struct Storage: Sendable {
    /// Stores sessions and links, and returns the error of a failure. By default, nothing is stored.
    var save: @Sendable () async -> SystemError? = { nil }
  }

  private let storage = Locked(Storage())
  /// The addresses whose proxy headers are ignored, as far as reported.
  private let ignoredProxies = Locked<Set<Address>>([])
  private let report: @Sendable (String) -> Void
  let passwords: PasswordChecker
  package let audit: AuditLog
  /// A random secret of this process, from which CSRF tokens and the choice of decoy hashes are derived.
  let processSecret = SecretText.random()

  /// Creates the access control.
  ///
  /// - Parameters:
  ///   - isAuditSaid: true to print the audit on standard error, too.
  ///   - report: logs problems with the configuration.
  /// - Throws: `FleetError` if the audit file is not writable.
  package init(
    _ configuration: AccessConfiguration, isAuditSaid: Bool = true,
    report: @escaping @Sendable (String) -> Void = { StandardError.report($0) }
  ) throws(FleetError) {
    self.report = report
    do throws(SystemError) {
      audit =
        isAuditSaid
        ? try AuditLog(path: configuration.auditFile)
        : try AuditLog(path: configuration.auditFile, report: nil)
      passwords = try PasswordChecker()
    } catch {
      var failure = FleetError(error)
      if configuration.auditFile != nil { failure.cause += "; audit in [access] names the file of the audit" }
      throw failure
    }
    state = Locked(State(configuration))
  }

  /// Stops the threads. Call it once, after the last request.
  package func stop() {
    passwords.stop()
    audit.stop()
  }

  package var configuration: AccessConfiguration { state.withLock { $0.configuration } }

  /// Replaces the configuration. The sessions and streams of users whose entries have changed end.
  package func use(_ configuration: AccessConfiguration) {
    audit.use(path: configuration.auditFile)
    state.withLock { state in
      // Links that have ended under the old configuration must not become valid again under the new one.
      state.endLostShares(at: .now)
      state.configuration = configuration
      state.sessions.idle = configuration.sessionIdle
      state.sessions.longest = configuration.sessionLongest
      state.limitsOfAddresses.rate = configuration.requestRate
      state.limitsOfAddresses.burst = configuration.requestRate * 10
      state.limitsOfPrincipals.rate = configuration.requestRate
      state.limitsOfPrincipals.burst = configuration.requestRate * 5
      let now = UTCTime.now
      state.endLostShares(at: now)
      let current = state
      state.sessions.keep { current.entry(of: $0.holder, at: now) == $0.entry }
      state.isChanged = true
    }
  }

  /// Sets the function that checks whether a vehicle exists before a link is created.
  package func know(_ isThere: @escaping @Sendable (VehicleKey) -> Bool) {
    vehicles.withLock { $0.isThere = isThere }
  }

  func knows(_ vehicle: VehicleKey) -> Bool { vehicles.withLock { $0.isThere }(vehicle) }

  /// Sets the function that stores sessions and links, and returns the error of a failure.
  func useStorage(_ save: @escaping @Sendable () async -> SystemError?) {
    storage.withLock { $0.save = save }
  }

  /// Stores sessions and links after one has ended, so that a restart does not restore it.
  /// - Parameter what: the ended object, such as "session".
  /// - Throws: `WebError` if they cannot be stored.
  func storeEnd(of what: String) async throws(WebError) {
    let save = storage.withLock { $0.save }
    if let error = await save() { throw .notStored(what, error) }
  }

  // MARK: Identities

  /// Returns the principal of an identity; nil if its session has ended, or its user or token is no longer
  /// valid.
  package func principal(of identity: Identity, at now: UTCTime) -> Principal? {
    state.withLock { state in
      let configuration = state.configuration
      switch identity {
      case .local: return configuration.hasLogin ? nil : .local
      case .token(let digest):
        guard let token = configuration.tokens[digest], token.end.map({ now < $0 }) ?? true
        else { return nil }
        return Principal(name: "token \(token.name)", role: token.role, scope: token.scope)
      case .proxy(let name):
        guard configuration.proxyHeader != nil, let user = configuration.users[name] else { return nil }
        return Principal(name: name, role: user.role, scope: user.scope)
      case .session(let digest):
        guard let session = state.sessions.use(digest, at: now) else { return nil }
        guard session.entry == state.entry(of: session.holder, at: now) else {
          state.sessions.close(digest)
          return nil
        }
        switch session.holder {
        case .user(let name):
          guard let user = configuration.users[name] else { return nil }
          return Principal(name: name, role: user.role, scope: user.scope)
        case .link(let link):
          guard let share = state.shares.share(link, at: now) else { return nil }
          return Principal(
            name: "link \(ShareTable.name(link))", role: .view,
            scope: Scope(fleets: [], vehicles: [share.vehicle]), isLink: true)
        }
      }
    }
  }

  /// Returns the digest of the configuration entry of each user with a password. A user's sessions end when
  /// the digest changes.
  private static func entries(_ configuration: AccessConfiguration) -> [String: SecretDigest] {
    var entries: [String: SecretDigest] = [:]
    for (name, user) in configuration.users {
      guard let password = user.password else { continue }
      let vehicles = user.scope.vehicles.map(\.description).sorted()
      let fleets = user.scope.fleets.map { $0.sorted() }
      entries[name] = SecretDigest(
        of: "\(name)\n\(password.text)\n\(user.role)\n\(fleets.map { "\($0)" } ?? "all")\n\(vehicles)")
    }
    return entries
  }

  /// Returns whether the creator of a link can still see a vehicle.
  private static func sees(
    _ maker: String, _ vehicle: VehicleKey, _ configuration: AccessConfiguration, at now: UTCTime
  ) -> Bool {
    if !configuration.hasLogin { return maker == Principal.local.name }
    if let user = configuration.users[maker] { return user.role >= .operate && user.scope.contains(vehicle) }
    return configuration.tokens.values.contains {
      "token \($0.name)" == maker && $0.role >= .operate && $0.scope.contains(vehicle)
        && ($0.end.map { now < $0 } ?? true)
    }
  }

  /// Returns the CSRF token that proves that a request comes from this server's own page; nil if none is
  /// required.
  func proof(of identity: Identity, cookie: String?) -> String? {
    switch identity {
    case .session: cookie.map { SecretDigest(of: "csrf \($0)").hexadecimal }
    case .proxy(let name): SecretDigest(of: "csrf \(processSecret) \(name)").hexadecimal
    case .local, .token: nil
    }
  }

  // MARK: Proxies

  /// The maximum number of addresses whose ignored headers are reported.
  private static let mostIgnoredProxies = 4

  /// Reports, once for each address, that a header is ignored because the address is not a configured proxy.
  /// Without a login nothing is reported, because such a request is refused.
  func reportIgnored(_ header: String, from peer: Address) {
    guard configuration.hasLogin else { return }
    let isNew = ignoredProxies.withLock { $0.count < Self.mostIgnoredProxies && $0.insert(peer).inserted }
    guard isNew else { return }
    report(
      "ignores \(header) from \(peer): if it is a reverse proxy, add addresses = [\"\(peer)\"] to [proxy]; until then "
        + "its clients share its address in the audit log and for failed logins, and cookies lack Secure without [tls]"
    )
  }

  // MARK: Limits

  /// Counts a request of an address. Returns the seconds that the client must wait; 0 within the rate limit.
  func waitOfAddress(_ address: Address) -> Double {
    state.withLock { $0.limitsOfAddresses.take(address.subscriber, at: .now) }
  }

  func waitOfPrincipal(_ principal: Principal) -> Double {
    state.withLock { $0.limitsOfPrincipals.take(principal.name, at: .now) }
  }
}
