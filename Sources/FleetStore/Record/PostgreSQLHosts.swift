internal import CPostgreSQL

/// The servers that an address names, in order, one for each attempt to connect.
///
/// libpq itself goes to the next one where a server refuses, but leaves it to the caller of its calls that do not block to
/// see that a server is silent, and cannot be told to go on then. So it is given one server at a time.
enum PostgreSQLHosts {
  /// Parameters that go before those of the address, for each attempt.
  static func attempts(_ address: String) -> [[(key: String, value: String)]] {
    let given = parameters(of: address)
    func list(_ name: String) -> [String] {
      given[name].map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) } ?? []
    }
    let (hosts, addresses, ports) = (list("host"), list("hostaddr"), list("port"))
    let count = max(hosts.count, addresses.count)
    // What does not fit together libpq says best.
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
    // Of one server alone it would be content with a primary at once.
    guard given["target_session_attrs"] == "prefer-standby" else { return each }
    return ["standby", "any"].flatMap { wanted in each.map { $0 + [("target_session_attrs", wanted)] } }
  }

  /// What an address says itself; nothing for one that cannot be read.
  private static func parameters(of address: String) -> [String: String] {
    unsafe parameters(PQconninfoParse(address, nil))
  }

  /// Takes what libpq has made, by keyword.
  static func parameters(_ options: UnsafeMutablePointer<PQconninfoOption>?) -> [String: String] {
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
