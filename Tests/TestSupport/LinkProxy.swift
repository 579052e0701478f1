internal import Glibc
internal import Platform

/// A network link that a test can interrupt: forwards TCP connections from a free loopback port to another port.
public final class LinkProxy: Sendable {
  private struct State {
    var isOpen = true
    var isStalled = false
    /// Bytes left to forward towards the target before the connection that carries the last of them is closed; nil for no limit.
    var budget: Int?
    /// Bytes per second towards the target; nil for no limit.
    var rate: Int?
    var pairs: [(near: Int32, far: Int32)] = []
    var cuts = 0
  }

  public let port: Int
  private let target: Int
  private let listener: Int32
  private let state = Locked(State())

  public init(to target: Int) throws {
    self.target = target
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    port = try LoopbackSocket.listen(listener)
    let (listener, state) = (listener, state)
    _ = try DedicatedThread.start(name: "proxy") {
      while true {
        let near = accept(listener, nil, nil)
        guard near >= 0 else { return }
        let far = LoopbackSocket.connect(target)
        let isWanted = state.withLock { state in
          guard state.isOpen, far >= 0 else { return false }
          state.pairs.append((near, far))
          return true
        }
        guard isWanted, (try? DedicatedThread.start(name: "link", { Self.forward(near, far, state) })) != nil
        else {
          LoopbackSocket.reset(near)
          if far >= 0 { close(far) }
          continue
        }
      }
    }
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
    cut()
  }

  /// Accepts or rejects new connections. Closing the link also closes all existing connections.
  public func setOpen(_ isOpen: Bool) {
    state.withLock { $0.isOpen = isOpen }
    if !isOpen { cut() }
  }

  /// Stops forwarding in both directions without closing connections.
  public func setStalled(_ isStalled: Bool) { state.withLock { $0.isStalled = isStalled } }

  /// Limits the rate towards the target in bytes per second, like a radio link; nil removes the limit.
  public func setRate(_ bytesPerSecond: Int?) { state.withLock { $0.rate = bytesPerSecond } }

  /// Closes a connection after `count` more bytes towards the target (on all connections together), usually within a packet.
  public func cut(afterBytes count: Int) { state.withLock { $0.budget = count } }

  /// Closes all connections.
  public func cut() {
    state.withLock { state in
      for pair in state.pairs {
        shutdown(pair.near, Int32(SHUT_RDWR))
        shutdown(pair.far, Int32(SHUT_RDWR))
      }
    }
  }

  private static func forward(_ near: Int32, _ far: Int32, _ state: Locked<State>) {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    loop: while true {
      if state.withLock({ $0.isStalled }) {
        usleep(2000)
        if !state.withLock({ state in state.pairs.contains { $0.near == near } && state.isOpen }) { break }
        continue
      }
      var entries = [
        pollfd(fd: near, events: Int16(POLLIN), revents: 0),
        pollfd(fd: far, events: Int16(POLLIN), revents: 0),
      ]
      guard poll(&entries, 2, 50) >= 0 else { break }
      for (index, (from, to)) in [(near, far), (far, near)].enumerated() where entries[index].revents != 0 {
        let rate = index == 0 ? state.withLock { $0.rate } : nil
        let count = recv(from, &buffer, rate.map { max(1, min($0 / 10, buffer.count)) } ?? buffer.count, 0)
        guard count > 0 else { break loop }
        var pass = count
        let isLast = state.withLock { state -> Bool in
          guard index == 0, let budget = state.budget else { return false }
          pass = min(count, budget)
          state.budget = budget > count ? budget - count : nil
          return state.budget == nil
        }
        guard LoopbackSocket.sendAll(to, buffer[..<pass]), !isLast else { break loop }
        if let rate { usleep(UInt32(count * 1_000_000 / rate)) }
      }
    }
    state.withLock { state in state.pairs.removeAll { $0.near == near } }
    LoopbackSocket.reset(near)
    LoopbackSocket.reset(far)
  }
}
