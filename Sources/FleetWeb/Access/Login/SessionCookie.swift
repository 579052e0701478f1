internal import HTTPTypes
internal import Hummingbird

/// The session cookies. Users and links have separate names, so that opening a link does not log out the
/// user.
enum SessionCookie {
  enum Kind {
    case user, link
  }

  /// Returns the cookie's name. With TLS it starts with `__Host-`, so that browsers protect the cookie from
  /// other servers and unencrypted connections.
  static func name(_ kind: Kind, isEncrypted: Bool) -> String {
    (isEncrypted ? "__Host-" : "") + (kind == .user ? "odograph" : "odograph-link")
  }

  /// Returns the names in order of precedence.
  static func names(isEncrypted: Bool) -> [String] {
    [name(.user, isEncrypted: isEncrypted), name(.link, isEncrypted: isEncrypted)]
  }

  /// Returns up to four values of a request's cookies with this name. Further values and `Cookie` headers
  /// above 8 kB are ignored as an attack.
  static func values(of name: String, in request: Request) -> [String] {
    var values: [String] = []
    for header in request.headers[values: .cookie] where header.utf8.count <= 8192 {
      for part in header.split(separator: ";") {
        let pair = part.drop { $0 == " " }.split(
          separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard pair.count == 2, pair[0] == name, SecretText.isPlausible(pair[1]) else { continue }
        values.append(String(pair[1]))
        if values.count == 4 { return values }
      }
    }
    return values
  }

  /// Returns the `Set-Cookie` header.
  /// - Parameter seconds: the lifetime in the browser; 0 deletes the cookie.
  static func header(_ kind: Kind, _ value: String, seconds: Int, isEncrypted: Bool) -> String {
    "\(name(kind, isEncrypted: isEncrypted))=\(value); Path=/; Max-Age=\(max(0, seconds)); HttpOnly; SameSite=Strict"
      + (isEncrypted ? "; Secure" : "")
  }
}
