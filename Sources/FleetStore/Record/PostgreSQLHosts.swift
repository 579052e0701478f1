package import CPostgreSQL

/// The servers in an address, in order, with one connection attempt each.
///
/// libpq tries the next server after a rejection. A server that does not answer must be detected by the
/// caller of libpq's non-blocking functions, and the caller cannot make libpq continue with the next server.
/// Each attempt therefore gets an address with a single server.
package enum PostgreSQLHosts {
  /// Returns, for each attempt, the connection parameters that replace those of the address.
  package static func attempts(_ address: String) -> [[(key: String, value: String)]] {
    let given = parameters(of: address)
    func list(_ name: String) -> [String] {
      given[name].map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) } ?? []
    }
    let (hosts, addresses, ports) = (list("host"), list("hostaddr"), list("port"))
    let count = max(hosts.count, addresses.count)
    // If the numbers of hosts, addresses and ports differ, the address is passed unchanged, and libpq reports
    // the error.
    guard count > 1, [0, count].contains(hosts.count), [0, count].contains(addresses.count),
      [0, 1, count].contains(ports.count)
    else { return [[]] }
    func attempt(_ index: Int) -> [(key: String, value: String)] {
      var own: [(key: String, value: String)] = []
      if !hosts.isEmpty { own.append(("host", hosts[index])) }
      if !addresses.isEmpty { own.append(("hostaddr", addresses[index])) }
      if ports.count == count, !ports[index].isEmpty { own.append(("port", ports[index])) }
      return own
    }
    let each = (0..<count).map(attempt)
    // `prefer-standby` with a single server would accept a primary immediately. All servers are therefore
    // tried for a standby first, and then again for any server.
    guard given["target_session_attrs"] == "prefer-standby" else { return each }
    return ["standby", "any"].flatMap { wanted in each.map { $0 + [("target_session_attrs", wanted)] } }
  }

  /// Returns the reason why an address is invalid; nil if it is valid.
  static func problem(of address: String) -> String? {
    var message: UnsafeMutablePointer<CChar>?
    if let options = unsafe PQconninfoParse(address, &message) {
      unsafe PQconninfoFree(options)
      return nil
    }
    guard let text = unsafe message else { return "out of memory" }
    defer { unsafe PQfreemem(text) }
    // The message ends with the invalid part, or the whole address, which can contain a password.
    let line = unsafe String(cString: text).prefix { $0 != "\n" }
    return String(line[..<(line.firstRange(of: ": \"")?.lowerBound ?? line.endIndex)])
  }

  /// Returns the connection parameters of an address; empty for an invalid address.
  private static func parameters(of address: String) -> [String: String] {
    unsafe parameters(PQconninfoParse(address, nil))
  }

  /// Converts libpq's options to a dictionary by keyword, and frees them.
  package static func parameters(_ options: UnsafeMutablePointer<PQconninfoOption>?) -> [String: String] {
    guard let options = unsafe options else { return [:] }
    defer { unsafe PQconninfoFree(options) }
    var parameters: [String: String] = [:]
    var option = unsafe options
    while let keyword = unsafe option.pointee.keyword {
      if let value = unsafe option.pointee.val {
        unsafe parameters[String(cString: keyword)] = unsafe String(cString: value)
      }
      unsafe option = unsafe option + 1
    }
    return parameters
  }
}
