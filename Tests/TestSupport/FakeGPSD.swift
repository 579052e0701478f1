internal import Glibc
internal import Platform

/// A gpsd substitute on loopback that sends fixed lines to each client and keeps the connections open.
public final class FakeGPSD: Sendable {
  public let port: UInt16
  private let thread: ServiceThread
  private let listener: Int32

  public init(lines: [String]) throws {
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    port = UInt16(try LoopbackSocket.listen(listener))
    thread = try ServiceThread()
    let (listener, thread) = (listener, thread)
    try thread.start(name: "gpsd") { _ in
      var clients: [Int32] = []
      // Accepts more than one client: a source may abandon its first connection.
      while waitUntilReadable([listener, thread.wake.descriptor], seconds: nil) == listener {
        let client = accept(listener, nil, nil)
        _ = LoopbackSocket.sendAll(client, Array((lines.joined(separator: "\n") + "\n").utf8)[...])
        clients.append(client)
      }
      for client in clients { close(client) }
    }
  }

  public func stop() {
    thread.stop()
    close(listener)
  }
}
