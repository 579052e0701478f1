package import Fleet
internal import Platform
internal import Transfers

/// The address and key of a geolocation service, `https://HOST/v1/geolocate`. There is no default service.
package struct GeolocateAddress: Hashable, Sendable {
  /// The URL without the key.
  let url: String
  /// The host, with a port if the URL has one. It becomes the source of the service's entries in the map.
  package let host: String
  /// The key; nil for a service without one.
  let key: String?
  /// True if the service runs on this machine.
  let isLocal: Bool

  /// Parses the URL of a service.
  ///
  /// - Parameters:
  ///   - url: an https URL; http is only allowed for this machine, because key and scans would be visible in
  ///     transit.
  ///   - keyFile: a file with the key in its first line; nil for no key.
  /// - Throws: `FleetError` with the problem, never with the key.
  package init(_ url: String, keyFile: String?) throws(FleetError) {
    func wrong(_ cause: String) -> FleetError { .usage("ask", "\"\(url.prefix(100))\"", cause) }
    guard let parts = WebAddress(url) else {
      throw wrong("not an address; it must start with https://")
    }
    guard !url.contains(where: { "?#".contains($0) }) else {
      // The URL can contain a key, so it is not printed.
      throw .usage(
        "ask", "the address",
        "a key in it is seen by every user of this machine; put it in a file (--geolocate-key)")
    }
    guard url.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
      throw wrong("it contains an invalid character")
    }
    let (scheme, authority, host) = (parts.scheme, parts.authority, parts.host)
    guard !authority.contains("@") else {
      throw .usage(
        "ask", "the address",
        "a user and a password have no place in it; a key is put in a file (--geolocate-key)")
    }
    guard !host.isEmpty else { throw wrong("it has no host") }
    guard parts.hasSoundHost else {
      throw wrong("\"\(host.prefix(60))\" is not a host name")
    }
    guard authority.lowercased() != FleetMapFile.own else {
      throw wrong("this name is reserved for the vehicles' own reports; use the full host name")
    }
    isLocal = parts.isLoopback
    guard scheme == "https" || scheme == "http" && isLocal else {
      throw wrong("scans and the API key would be sent unencrypted; use https")
    }
    guard url[parts.authority.endIndex...].count > 1 else {
      throw wrong("it has no path; services use a path like /v1/geolocate")
    }
    (self.url, self.host) = (url, authority.lowercased())
    key = try keyFile.map { path throws(FleetError) in try Self.key(in: path) }
  }

  private static func key(in path: String) throws(FleetError) -> String {
    let bytes: [UInt8]
    do throws(SystemError) { bytes = try AtomicFile.contents(of: path, limit: 4096) } catch {
      throw .usage("read the key in", path, SystemError.message(for: error.code))
    }
    let line = bytes.prefix { $0 != 0x0a && $0 != 0x0d }
    guard !line.isEmpty, line.allSatisfy({ (0x21...0x7e).contains($0) }) else {
      throw .usage(
        "read the key in", path, "its first line is no key: visible characters of ASCII, without spaces")
    }
    return String(decoding: line, as: UTF8.self)
  }

  /// The URL of the request, including the key.
  var request: String { key.map { "\(url)?key=\(Self.escaped($0))" } ?? url }

  /// Escapes a text as in RFC 3986, section 2.
  private static func escaped(_ key: String) -> String {
    key.utf8.map { byte in
      let isPlain =
        (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
        || "-._~".utf8.contains(byte)
      if isPlain { return String(decoding: [byte], as: UTF8.self) }
      return "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }.joined()
  }
}
