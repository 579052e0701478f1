package import Fleet
internal import FleetConsole
internal import Platform
internal import Spatial

/// As whom a request comes. What that is worth is found out anew each time: entries change, sessions end.
package enum Identity: Hashable, Sendable {
  /// By the loopback interface, without a login.
  case local
  /// A cookie's: a user's session, or that of a link.
  case session(SecretDigest)
  case token(SecretDigest)
  /// A user whom a trusted proxy names.
  case proxy(String)

  /// Whether a browser sends it by itself, also from foreign pages.
  var isAmbient: Bool { if case .token = self { false } else { true } }
}

/// Knows who may do what: entries of the configuration, sessions, links, delays and limits.
package final class AccessControl: Sendable {
  struct State {
    var configuration: AccessConfiguration {
      didSet { entries = AccessControl.entries(configuration) }
    }
    /// What sessions of each user rest on, made once, as every request and every event asks for it.
    private(set) var entries: [String: SecretDigest]
    var sessions: SessionTable
    var shares = ShareTable()
    var delays = LoginDelays()
    var limitsOfAddresses: RequestLimits<Address>
    var limitsOfPrincipals: RequestLimits<String>
    /// Whether there is something to keep that the disk does not have.
    var isChanged = false

    init(_ configuration: AccessConfiguration) {
      self.configuration = configuration
      entries = AccessControl.entries(configuration)
      sessions = SessionTable(
        idle: Int64(configuration.sessionIdle * 1e9), longest: Int64(configuration.sessionLongest * 1e9))
      // A page is some thirty files, and an office of people may have one address.
      limitsOfAddresses = RequestLimits(
        rate: configuration.requestRate, burst: configuration.requestRate * 10)
      limitsOfPrincipals = RequestLimits(
        rate: configuration.requestRate, burst: configuration.requestRate * 5)
    }

    /// What a session rests on; nil when that is gone.
    func entry(of holder: SessionTable.Holder, at now: Int64) -> SecretDigest? {
      switch holder {
      case .user(let name): return entries[name]
      case .link(let link):
        guard let share = shares.share(link, at: now), holds(share, at: now) else { return nil }
        return link
      }
    }

    /// Whether whoever made a link may still show its vehicle.
    func holds(_ share: ShareTable.Share, at now: Int64) -> Bool {
      AccessControl.sees(share.maker, share.vehicle, configuration, at: now)
    }

    /// Ends links whose maker has lost the right to show their vehicles.
    mutating func endLostShares(at now: Int64) {
      let current = self
      shares.keep { current.holds($0, at: now) }
    }
  }

  let state: Locked<State>
  /// Whether there is such a vehicle; every name is, until somebody knows better.
  private let vehicles = Locked<@Sendable (VehicleKey) -> Bool>({ _ in true })
  let passwords: PasswordChecker
  package let audit: AuditLog
  /// For what is derived and must not be guessed; another one with each start.
  let processSecret = SecretText.random()

  /// - Parameter isAuditSaid: whether the audit goes to standard error, too.
  /// - Throws: `FleetError` for a file of the audit that cannot be written.
  package init(_ configuration: AccessConfiguration, isAuditSaid: Bool = true) throws(FleetError) {
    do throws(SystemError) {
      audit =
        isAuditSaid
        ? try AuditLog(path: configuration.auditFile)
        : try AuditLog(path: configuration.auditFile, said: nil)
      passwords = try PasswordChecker()
    } catch {
      var failure = FleetError(error)
      if configuration.auditFile != nil { failure.cause += "; audit in [access] names the file of the audit" }
      throw failure
    }
    state = Locked(State(configuration))
  }

  /// Call it once, when nothing is asked any more.
  package func stop() {
    passwords.stop()
    audit.stop()
  }

  package var configuration: AccessConfiguration { state.withLock { $0.configuration } }

  /// Goes on with other entries: what has changed of them ends the sessions and streams that rest on it.
  package func use(_ configuration: AccessConfiguration) {
    audit.use(path: configuration.auditFile)
    state.withLock { state in
      // What has ended by the entries that held is not to wake up by the new ones.
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

  /// Has somebody asked whether a vehicle is there before a link to it is made.
  package func know(_ isThere: @escaping @Sendable (VehicleKey) -> Bool) {
    vehicles.withLock { $0 = isThere }
  }

  func knows(_ vehicle: VehicleKey) -> Bool { vehicles.withLock { $0 }(vehicle) }

  // MARK: Who somebody is

  /// What an identity is worth now; nil when it has ended.
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

  /// What each user's entry is, in one text: a session of another one is over.
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

  /// Whether whoever made a link may still show a vehicle.
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

  /// The text that proves that a request is made by the server's own page.
  func proof(of identity: Identity, cookie: String?) -> String? {
    switch identity {
    case .session: cookie.map { SecretDigest(of: "csrf \($0)").hexadecimal }
    case .proxy(let name): SecretDigest(of: "csrf \(processSecret) \(name)").hexadecimal
    case .local, .token: nil
    }
  }

  // MARK: Limits

  /// Seconds to wait, 0 to go on.
  func waitOfAddress(_ address: Address) -> Double {
    state.withLock { $0.limitsOfAddresses.take(address.subscriber, at: SystemClock.boottime) }
  }

  func waitOfPrincipal(_ principal: Principal) -> Double {
    state.withLock { $0.limitsOfPrincipals.take(principal.name, at: SystemClock.boottime) }
  }
}
