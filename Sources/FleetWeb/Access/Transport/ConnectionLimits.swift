internal import Platform

/// How much of the server one connection, and one address, may hold. Times are seconds.
package struct ConnectionLimits: Hashable, Sendable {
  /// Connections at most, in all and of one address. Who is on this machine, or a proxy, has only the first limit.
  package var connections = 4096
  package var connectionsOfAddress = 256
  /// Until a request's headers are there, and of a connection without a request.
  package var idle = 30.0
  /// Until a request is there as a whole: 1 MB at 17 kB/s.
  package var request = 60.0
  /// Of a client that takes nothing of what it asked for.
  package var stall = 60.0
  /// Bytes of all headers of a request.
  package var headers = 32 * 1024
  /// Of one of them, and how many there may be.
  static let field = 16 * 1024
  static let fields = 100

  package init() {}
}

/// Counts connections by address.
final class ConnectionCount: Sendable {
  private let state = Locked<(total: Int, addresses: [Address: Int])>((0, [:]))

  /// - Returns: false when there are too many.
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
