internal import HTTPTypes
internal import Hummingbird

/// The cookies that sessions are known by. A user's and a link's have names of their own, so that opening a link logs nobody
/// out.
enum SessionCookie {
  enum Kind {
    case user, link
  }

  /// With TLS the browser itself takes care that no other server, and no plain connection, sets it (`__Host-`).
  static func name(_ kind: Kind, isEncrypted: Bool) -> String {
    (isEncrypted ? "__Host-" : "") + (kind == .user ? "odograph" : "odograph-link")
  }

  /// In the order in which they count.
  static func names(isEncrypted: Bool) -> [String] {
    [name(.user, isEncrypted: isEncrypted), name(.link, isEncrypted: isEncrypted)]
  }

  /// The values that a request has for a name. Of more than some, the rest is somebody's attempt.
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

  /// What sets it.
  /// - Parameter seconds: until the browser forgets it; 0 lets it forget at once.
  static func header(_ kind: Kind, _ value: String, seconds: Int, isEncrypted: Bool) -> String {
    "\(name(kind, isEncrypted: isEncrypted))=\(value); Path=/; Max-Age=\(max(0, seconds)); HttpOnly; SameSite=Strict"
      + (isEncrypted ? "; Secure" : "")
  }
}
