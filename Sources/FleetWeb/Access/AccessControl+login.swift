package import Fleet
internal import Platform
package import Spatial

extension AccessControl {
  /// A new session.
  package struct Login: Sendable {
    /// The cookie's value, which the server does not store.
    package var cookie: String
    package var identity: Identity
    package var principal: Principal
  }

  /// Logs in with a name and a password. An unknown name takes the same time as a known one.
  /// - Parameter old: the client's previous session, which ends.
  /// - Throws: `WebError`.
  package func logIn(
    name: String, password: String, from address: Address, replacing old: Identity?
  ) async throws(WebError) -> Login {
    let place = address.subscriber
    let (wait, hash, isKnown) = state.withLock { state -> (Double, PasswordHash?, Bool) in
      let wait = state.delays.attempt(user: name, from: place, at: .now)
      let own = state.configuration.users[name]?.password
      return (wait, own ?? decoy(for: name, state.configuration), own != nil)
    }
    guard wait == 0 else { throw .loginDelayed(seconds: wait) }
    guard let hash else { throw .loginWrong }
    guard let isRight = await passwords.check(password, against: hash) else {
      state.withLock { $0.delays.takeBack(user: name, from: place) }
      throw .busy("too many logins are being checked")
    }
    guard isRight, isKnown else { throw .loginWrong }
    let cookie = SecretText.random()
    let digest = SecretDigest(of: cookie)
    let now = UTCTime.now
    let hasBegun = state.withLock { state in
      // The user's configuration entry can have changed while the password was checked.
      guard state.configuration.users[name]?.password == hash,
        let entry = state.entry(of: .user(name), at: now)
      else { return false }
      state.delays.succeed(user: name, from: place, at: .now)
      if case .session(let digest) = old { state.sessions.close(digest) }
      state.sessions.open(digest, .user(name), entry: entry, at: now)
      state.isChanged = true
      return true
    }
    guard hasBegun, let principal = principal(of: .session(digest), at: now) else { throw .loginWrong }
    return Login(cookie: cookie, identity: .session(digest), principal: principal)
  }

  /// Returns a configured user's hash, with which the password of an unknown user is compared. The hash is
  /// constant for a name, so that response times do not reveal unknown names, and depends on a secret of this
  /// process.
  private func decoy(for name: String, _ configuration: AccessConfiguration) -> PasswordHash? {
    let hashes = configuration.users.values.compactMap(\.password).sorted { $0.text < $1.text }
    guard !hashes.isEmpty else { return nil }
    let digest = SecretDigest(of: "decoy \(processSecret) \(name)")
    return hashes[Int(digest.bytes[0]) % hashes.count]
  }

  package func logOut(_ identity: Identity) {
    guard case .session(let digest) = identity else { return }
    state.withLock { state in
      state.sessions.close(digest)
      state.isChanged = true
    }
  }

  /// Returns the time at which a session ends if it is not used again, or at which a token
  /// expires. Nil for an identity without such a time.
  package func end(of identity: Identity) -> UTCTime? {
    state.withLock { state in
      switch identity {
      case .session(let digest):
        guard let session = state.sessions.sessions[digest] else { return nil }
        guard case .link(let link) = session.holder, let share = state.shares.shares[link] else {
          return state.sessions.end(of: session)
        }
        return min(share.end, state.sessions.end(of: session))
      case .token(let digest): return state.configuration.tokens[digest]?.end
      case .local, .proxy: return nil
      }
    }
  }

  // MARK: Links

  /// Creates a link to a vehicle.
  /// - Returns: the link's secret and its end; nil if the maximum number of links is reached.
  package func share(_ vehicle: VehicleKey, by maker: Principal, seconds: Double) -> (
    secret: String, end: UTCTime
  )? {
    let secret = SecretText.random()
    let now = UTCTime.now
    let end = now.advanced(bySeconds: min(max(seconds, 0), ShareTable.seconds.upperBound))
    let share = ShareTable.Share(vehicle: vehicle, maker: maker.name, began: now, end: end)
    let isAdded = state.withLock { state in
      state.isChanged = true
      return state.shares.add(SecretDigest(of: secret), share, at: now)
    }
    return isAdded ? (secret, end) : nil
  }

  /// Returns the links to vehicles that a principal can see.
  package func shares(seenBy principal: Principal) -> [(name: String, share: ShareTable.Share)] {
    let now = UTCTime.now
    return state.withLock { state in
      state.shares.expire(at: now)
      state.endLostShares(at: now)
      return state.shares.shares.filter { principal.sees($0.value.vehicle) }
        .map { (ShareTable.name($0.key), $0.value) }
        .sorted { ($0.share.began, $0.name) < ($1.share.began, $1.name) }
    }
  }

  /// Revokes a link, and ends its sessions.
  /// - Returns: the revoked link; nil if it does not exist or its vehicle is not visible to this principal.
  package func revoke(_ name: String, by principal: Principal) -> ShareTable.Share? {
    state.withLock { state in
      guard let digest = state.shares.digest(named: name), let share = state.shares.shares[digest],
        principal.sees(share.vehicle)
      else { return nil }
      state.shares.remove(digest)
      state.sessions.keep { $0.holder != .link(digest) }
      state.isChanged = true
      return share
    }
  }

  /// Creates a session for the holder of a link.
  /// - Returns: the session and the link's vehicle; nil for a link that does not exist or has ended.
  package func enter(_ secret: String) -> (login: Login, vehicle: VehicleKey)? {
    guard SecretText.isPlausible(secret) else { return nil }
    let link = SecretDigest(of: secret)
    let cookie = SecretText.random()
    let digest = SecretDigest(of: cookie)
    let now = UTCTime.now
    let vehicle = state.withLock { state -> VehicleKey? in
      guard let share = state.shares.share(link, at: now),
        let entry = state.entry(of: .link(link), at: now)
      else { return nil }
      state.sessions.open(digest, .link(link), entry: entry, at: now)
      state.isChanged = true
      return share.vehicle
    }
    guard let vehicle, let principal = principal(of: .session(digest), at: now) else { return nil }
    return (Login(cookie: cookie, identity: .session(digest), principal: principal), vehicle)
  }
}
