internal import COpenSSL
internal import HTTPTypes
internal import Hummingbird
internal import Platform
internal import Spatial

/// The authentication of a request's sender, and the check that a page of this server sent the request.
struct Visitor {
  struct Entry {
    var identity: Identity
    var principal: Principal
    var proof: String?
  }

  private let request: Request
  private let peer: Address
  private let control: AccessControl
  private let configuration: AccessConfiguration
  private let isProxied: Bool
  /// The client's address: that of the connection, or behind a trusted proxy the one that the proxy reports.
  let client: Address
  let isEncrypted: Bool

  init(_ request: Request, peer: Address, _ control: AccessControl, isEncrypted: Bool) {
    let configuration = control.configuration
    self.request = request
    self.peer = peer
    self.control = control
    self.configuration = configuration
    isProxied = configuration.proxyAddresses.contains { $0.contains(peer) }
    client = isProxied ? Self.client(request, behind: peer, configuration) : peer
    self.isEncrypted =
      isEncrypted || (isProxied && request.value(.forwardedProtocol)?.lowercased() == "https")
  }

  /// Returns the last address in `X-Forwarded-For` that is not a trusted proxy. A client can forge all
  /// addresses before it.
  private static func client(_ request: Request, behind peer: Address, _ configuration: AccessConfiguration)
    -> Address
  {
    guard let name = HTTPField.Name.forwardedFor else { return peer }
    let chain = request.headers[values: name].flatMap { $0.split(separator: ",") }
    var client = peer
    for text in chain.reversed().prefix(16) {
      guard let address = Address(parsing: text.filter { !$0.isWhitespace && $0 != "[" && $0 != "]" }) else {
        break
      }
      client = address
      if !configuration.proxyAddresses.contains(where: { $0.contains(address) }) { break }
    }
    return client
  }

  /// Returns the sender's identity and principal; nil if the request has no valid session or credentials.
  /// - Throws: `WebError` for invalid credentials.
  func identify() throws(WebError) -> Entry? {
    let now = UTCTime.now
    if let token = bearer {
      guard SecretText.isPlausible(token), let entry = entry(.token(SecretDigest(of: String(token))), at: now)
      else {
        throw .tokenInvalid
      }
      return entry
    }
    if isProxied, let header = configuration.proxyHeader {
      let names = request.headers[values: header]
      if !names.isEmpty {
        // A second header with a user name was sent by the client, and not removed by the proxy.
        guard names.count == 1, let entry = entry(.proxy(names[0]), at: now) else { throw .userUnknown }
        return entry
      }
    }
    for name in SessionCookie.names(isEncrypted: isEncrypted) {
      for cookie in SessionCookie.values(of: name, in: request) {
        if let entry = entry(.session(SecretDigest(of: cookie)), cookie: cookie, at: now) { return entry }
      }
    }
    return try local(at: now)
  }

  /// The name of a header that a reverse proxy adds; nil if there is none.
  private var proxyTrace: String? {
    ["X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP", "Forwarded", "Via"].first {
      request.value(HTTPField.Name($0)) != nil
    }
  }

  /// The name of a proxy's header that is ignored, because the peer is not a configured proxy; nil if there is none.
  var ignoredHeader: String? { isProxied ? nil : proxyTrace }

  private var bearer: Substring? {
    guard let text = request.headers[.authorization] else { return nil }
    let parts = text.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
    return parts[1]
  }

  private func entry(_ identity: Identity, cookie: String? = nil, at now: UTCTime) -> Entry? {
    guard let principal = control.principal(of: identity, at: now) else { return nil }
    return Entry(
      identity: identity, principal: principal, proof: control.proof(of: identity, cookie: cookie))
  }

  /// Returns the local identity while no login is configured; nil for clients on other machines.
  private func local(at now: UTCTime) throws(WebError) -> Entry? {
    guard peer.isLoopback, let entry = entry(.local, at: now) else { return nil }
    // Behind a proxy on this machine, every client would appear local.
    guard proxyTrace == nil else { throw .proxyNotConfigured }
    // If the host name of another server resolves to 127.0.0.1, the browser considers that server's page and
    // this server as one origin (DNS rebinding).
    guard let host = request.head.authority.map(Self.host), isOwn(host) else { throw .hostUnknown }
    return entry
  }

  /// Returns the host in `host:port`, in lower case and without brackets.
  private static func host(_ authority: some StringProtocol) -> String {
    let text = authority.lowercased()
    if text.hasPrefix("[") { return String(text.dropFirst().prefix { $0 != "]" }) }
    return String(text.prefix { $0 != ":" })
  }

  private func isOwn(_ host: String) -> Bool {
    host == "localhost" || Address(parsing: host)?.isLoopback == true || configuration.hosts.contains(host)
  }

  // MARK: Origin of the page

  /// Rejects requests that the browser marks as cross-site, including those from another port of this
  /// machine.
  func checkSite() throws(WebError) {
    guard let site = request.value(.fetchSite) else { return }
    guard site == "same-origin" || site == "none" else { throw .originForeign }
  }

  /// Rejects requests from pages of other servers; browsers send the origin with each change.
  func checkOrigin() throws(WebError) {
    let origins = request.headers[values: .origin]
    guard let origin = origins.first else { return }
    guard origins.count == 1, let mark = origin.range(of: "://") else { throw .originForeign }
    let place = origin[mark.upperBound...].lowercased()
    var own = [request.head.authority?.lowercased()]
    if isProxied { own.append(request.value(.forwardedHost)?.lowercased()) }
    let isNamed = configuration.hosts.contains(Self.host(place))
    guard own.contains(place) || isNamed else { throw .originForeign }
  }

  func checkProof(_ proof: String?) throws(WebError) {
    guard let proof else { return }
    guard let token = request.value(.csrfToken), SecretDigest(of: token) == SecretDigest(of: proof) else {
      throw .tokenMissing
    }
  }
}

extension Request {
  /// Returns the value of a header; the last one if the header occurs several times, nil if it is missing.
  func value(_ name: HTTPField.Name?) -> String? {
    guard let name else { return nil }
    return headers[values: name].last
  }
}

extension StringProtocol {
  /// Returns the first range of this string that is equal to `text`; nil if there is none.
  fileprivate func range(of text: String) -> Range<Index>? {
    var start = startIndex
    while start < endIndex {
      if self[start...].hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
      start = index(after: start)
    }
    return nil
  }
}
