package import Fleet
internal import FleetCommand
internal import Platform
internal import Spatial

/// The authentication of a request. Its permissions are evaluated for each request, because entries change
/// and sessions end.
package enum Identity: Hashable, Sendable {
  /// A local request without a login.
  case local
  /// A session cookie, of a user or a link.
  case session(SecretDigest)
  case token(SecretDigest)
  /// A user named by a trusted proxy.
  case proxy(String)

  /// True if a browser sends the credentials automatically, also for requests from other sites.
  var isAmbient: Bool { if case .token = self { false } else { true } }
}

/// The access control: configured entries, sessions, links, delays and rate limits.
package final class AccessControl: Sendable {
  struct State {
    var configuration: AccessConfiguration {
      didSet { entries = AccessControl.entries(configuration) }
    }
    /// The digest of each user's entry, on which sessions depend; computed once, because every request and
    /// event needs it.
    private(set) var entries: [String: SecretDigest]
    var sessions: SessionTable
    var shares = ShareTable()
    var delays = LoginDelays()
    var limitsOfAddresses: RequestLimits<Address>
    var limitsOfPrincipals: RequestLimits<String>
    /// True if there are changes that are not stored.
    var isChanged = false

    init(_ configuration: AccessConfiguration) {
      self.configuration = configuration
      entries = AccessControl.entries(configuration)
      sessions = SessionTable(
        idle: Int64(configuration.sessionIdle * 1e9), longest: Int64(configuration.sessionLongest * 1e9))
      // A page has about thirty files, and the users of an office can share an address.
      limitsOfAddresses = RequestLimits(
        rate: configuration.requestRate, burst: configuration.requestRate * 10)
      limitsOfPrincipals = RequestLimits(
        rate: configuration.requestRate, burst: configuration.requestRate * 5)
    }

    /// Returns the entry on which a session depends; nil if it was removed.
    func entry(of holder: SessionTable.Holder, at now: Int64) -> SecretDigest? {
      switch holder {
      case .user(let name): return entries[name]
      case .link(let link):
        guard let share = shares.share(link, at: now), holds(share, at: now) else { return nil }
        return link
      }
    }

    /// Returns whether the creator of a link can still see its vehicle.
    func holds(_ share: ShareTable.Share, at now: Int64) -> Bool {
      AccessControl.sees(share.maker, share.vehicle, configuration, at: now)
    }

    /// Ends links whose creator can no longer see their vehicles.
    mutating func endLostShares(at now: Int64) {
      let current = self
      shares.keep { current.holds($0, at: now) }
    }
  }

  let state: Locked<State>
  /// A function that returns whether a vehicle exists; by default always true.
  private let vehicles = Locked<@Sendable (VehicleKey) -> Bool>({ _ in true })
  let passwords: PasswordChecker
  package let audit: AuditLog
  /// A random secret for derived values, different for each process.
  let processSecret = SecretText.random()

  /// Creates the access control.
  ///
  /// - Parameter isAuditSaid: true to print the audit on standard error, too.
  /// - Throws: `FleetError` if the audit file is not writable.
  package init(_ configuration: AccessConfiguration, isAuditSaid: Bool = true) throws(FleetError) {
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

  /// Replaces the entries; sessions and streams whose entry has changed end.
  package func use(_ configuration: AccessConfiguration) {
    audit.use(path: configuration.auditFile)
    state.withLock { state in
      // Sessions that have ended under the old settings must not become valid again.
      state.endLostShares(at: SystemClock.realtime)
      state.configuration = configuration
      state.sessions.idle = Int64(configuration.sessionIdle * 1e9)
      state.sessions.longest = Int64(configuration.sessionLongest * 1e9)
      state.limitsOfAddresses.rate = configuration.requestRate
      state.limitsOfAddresses.burst = configuration.requestRate * 10
      state.limitsOfPrincipals.rate = configuration.requestRate
      state.limitsOfPrincipals.burst = configuration.requestRate * 5
      let now = SystemClock.realtime
      state.endLostShares(at: now)
      let current = state
      state.sessions.keep { current.entry(of: $0.holder, at: now) == $0.entry }
      state.isChanged = true
    }
  }

  /// Sets the function that checks whether a vehicle exists before a link is created.
  package func know(_ isThere: @escaping @Sendable (VehicleKey) -> Bool) {
    vehicles.withLock { $0 = isThere }
  }

  func knows(_ vehicle: VehicleKey) -> Bool { vehicles.withLock { $0 }(vehicle) }

  // MARK: Identities

  /// Returns the principal of an identity; nil if it has ended.
  package func principal(of identity: Identity, at now: Int64) -> Principal? {
    state.withLock { state in
      let configuration = state.configuration
      switch identity {
      case .local: return configuration.hasLogin ? nil : .local
      case .token(let digest):
        guard let token = configuration.tokens[digest], token.end.map({ now < $0.nanoseconds }) ?? true
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

  /// Returns a digest of each user's entry; sessions end when it changes.
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
    _ maker: String, _ vehicle: VehicleKey, _ configuration: AccessConfiguration, at now: Int64
  ) -> Bool {
    if !configuration.hasLogin { return maker == Principal.local.name }
    if let user = configuration.users[maker] { return user.role >= .operate && user.scope.contains(vehicle) }
    return configuration.tokens.values.contains {
      "token \($0.name)" == maker && $0.role >= .operate && $0.scope.contains(vehicle)
        && ($0.end.map { now < $0.nanoseconds } ?? true)
    }
  }

  /// Returns the token that proves that a request comes from the server's own page.
  func proof(of identity: Identity, cookie: String?) -> String? {
    switch identity {
    case .session: cookie.map { SecretDigest(of: "csrf \($0)").hexadecimal }
    case .proxy(let name): SecretDigest(of: "csrf \(processSecret) \(name)").hexadecimal
    case .local, .token: nil
    }
  }

  // MARK: Limits

  /// Returns the seconds to wait; 0 to continue.
  func waitOfAddress(_ address: Address) -> Double {
    state.withLock { $0.limitsOfAddresses.take(address.subscriber, at: SystemClock.boottime) }
  }

  func waitOfPrincipal(_ principal: Principal) -> Double {
    state.withLock { $0.limitsOfPrincipals.take(principal.name, at: SystemClock.boottime) }
  }
}
