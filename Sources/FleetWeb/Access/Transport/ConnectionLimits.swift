internal import Platform

/// The resource limits of a connection and of an address. Times are in seconds.
package struct ConnectionLimits: Hashable, Sendable {
  /// The maximum numbers of connections in total and per address. For local clients and trusted proxies, only
  /// the total is limited.
  package var connections = 4096
  package var connectionsOfAddress = 256
  /// The time limit for receiving a request's headers, and for a connection without a request.
  package var idle = 30.0
  /// The time limit for receiving a complete request: enough for 1 MB at 17 kB/s.
  package var request = 60.0
  /// The time after which a client that does not read its response is disconnected.
  package var stall = 60.0
  /// The maximum size of a request's headers in bytes.
  package var headers = 32 * 1024
  /// The maximum size of a header in bytes, and the maximum number of headers.
  static let field = 16 * 1024
  static let fields = 100

  package init() {}
}

/// A counter of connections by address.
final class ConnectionCount: Sendable {
  private let state = Locked<(total: Int, addresses: [Address: Int])>((0, [:]))

  /// Counts a new connection.
  ///
  /// - Returns: false if there are too many.
  func open(_ address: Address, isExempt: Bool, _ limits: ConnectionLimits) -> Bool {
    state.withLock { state in
      let count = state.addresses[address] ?? 0
      guard state.total < limits.connections, isExempt || count < limits.connectionsOfAddress else {
        return false
      }
      state.total += 1
      state.addresses[address] = count + 1
      return true
    }
  }

  func close(_ address: Address) {
    state.withLock { state in
      state.total -= 1
      let count = (state.addresses[address] ?? 1) - 1
      state.addresses[address] = count > 0 ? count : nil
    }
  }

  var total: Int { state.withLock { $0.total } }
}
