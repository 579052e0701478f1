package import Fleet
internal import Platform
internal import Spatial

extension AccessControl {
  /// A session that has just begun.
  package struct Login: Sendable {
    /// The cookie's value, which nobody keeps but the client.
    package var cookie: String
    package var identity: Identity
    package var principal: Principal
  }

  /// Tries a name and a password. An unknown name takes as long as a known one.
  /// - Parameter old: the session that the client had, which ends with a new one.
  /// - Throws: `WebError`.
  package func logIn(
    name: String, password: String, from address: Address, replacing old: Identity?
  ) async throws(WebError) -> Login {
    let place = address.subscriber
    let (wait, hash, isKnown) = state.withLock { state -> (Int64, PasswordHash?, Bool) in
      let wait = state.delays.attempt(user: name, from: place, at: SystemClock.boottime)
      let own = state.configuration.users[name]?.password
      return (wait, own ?? decoy(for: name, state.configuration), own != nil)
    }
    guard wait == 0 else { throw .loginDelayed(nanoseconds: wait) }
    guard let hash else { throw .loginWrong }
    guard let isRight = await passwords.check(password, against: hash) else {
      state.withLock { $0.delays.takeBack(user: name, from: place) }
      throw .busy("too many logins are being checked")
    }
    guard isRight, isKnown else { throw .loginWrong }
    let cookie = SecretText.random()
    let digest = SecretDigest(of: cookie)
    let now = SystemClock.realtime
    let hasBegun = state.withLock { state in
      // The entry may have changed while the password was checked.
      guard state.configuration.users[name]?.password == hash,
        let entry = state.entry(of: .user(name), at: now)
      else { return false }
      state.delays.succeed(user: name, from: place, at: SystemClock.boottime)
      if case .session(let digest) = old { state.sessions.close(digest) }
      state.sessions.open(digest, .user(name), entry: entry, at: now)
      state.isChanged = true
      return true
    }
    guard hasBegun, let principal = principal(of: .session(digest), at: now) else { throw .loginWrong }
    return Login(cookie: cookie, identity: .session(digest), principal: principal)
  }

  /// A hash that an unknown name's password is compared with: always the same for the same name, so that nobody can tell it
  /// from a known one by time, and chosen by what only this process knows.
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

  /// When a session ends if it is not used; nil for what has no such end.
  package func end(of identity: Identity) -> Int64? {
    state.withLock { state in
      switch identity {
      case .session(let digest):
        guard let session = state.sessions.sessions[digest] else { return nil }
        guard case .link(let link) = session.holder, let share = state.shares.shares[link] else {
          return state.sessions.end(of: session)
        }
        return min(share.end, state.sessions.end(of: session))
      case .token(let digest): return state.configuration.tokens[digest]?.end?.nanoseconds
      case .local, .proxy: return nil
      }
    }
  }

  // MARK: Links

  /// Makes a link to a vehicle.
  /// - Returns: its secret; nil when there is no room for another.
  package func share(_ vehicle: VehicleKey, by maker: Principal, seconds: Double) -> (
    secret: String, end: Int64
  )? {
    let secret = SecretText.random()
    let now = SystemClock.realtime
    let end = now + Int64(min(max(seconds, 0), ShareTable.seconds.upperBound) * 1e9)
    let share = ShareTable.Share(vehicle: vehicle, maker: maker.name, began: now, end: end)
    let isAdded = state.withLock { state in
      state.isChanged = true
      return state.shares.add(SecretDigest(of: secret), share, at: now)
    }
    return isAdded ? (secret, end) : nil
  }

  /// The links to vehicles that somebody sees.
  package func shares(seenBy principal: Principal) -> [(name: String, share: ShareTable.Share)] {
    let now = SystemClock.realtime
    return state.withLock { state in
      state.shares.expire(at: now)
      state.endLostShares(at: now)
      return state.shares.shares.filter { principal.sees($0.value.vehicle) }
        .map { (ShareTable.name($0.key), $0.value) }
        .sorted { ($0.share.began, $0.name) < ($1.share.began, $1.name) }
    }
  }

  /// Ends a link, and the sessions that came of it.
  /// - Returns: nil for a link that there is not, or not for this principal.
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

  /// Begins a session of whoever has a link.
  /// - Returns: nil for a link that there is not, or no more.
  package func enter(_ secret: String) -> (login: Login, vehicle: VehicleKey)? {
    guard SecretText.isPlausible(secret) else { return nil }
    let link = SecretDigest(of: secret)
    let cookie = SecretText.random()
    let digest = SecretDigest(of: cookie)
    let now = SystemClock.realtime
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
