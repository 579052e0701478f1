internal import Glibc

/// A mosquitto broker of the benchmark on a free loopback port, with a log that shows subscriptions.
package final class Broker {
  package let port: Int
  private let log: String
  private let process: Child

  package init(in directory: String) {
    port = freePort()
    log = directory + "/broker-\(port).log"
    let path = directory + "/broker.conf"
    write(
      """
      listener \(port) 127.0.0.1
      allow_anonymous true
      max_queued_messages 0
      max_inflight_messages 0
      log_dest file \(log)
      log_type notice
      log_type information
      log_type subscribe
      user root

      """, to: path)
    process = Child(["mosquitto", "-c", path])
    while !contents(of: log).contains("running") { usleep(20_000) }
  }

  /// Waits until the log has `times` subscriptions by clients whose ID starts with `client`.
  package func waitForSubscription(of client: String, times: Int = 1) {
    while true {
      let lines = contents(of: log).split(separator: "\n")
      if lines.filter({ $0.contains(": \(client)") && $0.contains("odograph/v1/") && $0.hasSuffix("#") })
        .count >= times
      {
        return
      }
      usleep(5000)
    }
  }

  package func end() { _ = process.end(SIGTERM) }

  package var processID: Int32 { process.processID }

  /// Processor time in s; available after the end.
  package var processorTime: Double { process.processorTime }
}

package func freePort() -> Int {
  let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  defer { close(descriptor) }
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
  var size = socklen_t(MemoryLayout<sockaddr_in>.size)
  withUnsafeMutablePointer(to: &address) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      _ = bind(descriptor, $0, size)
      _ = getsockname(descriptor, $0, &size)
    }
  }
  return Int(UInt16(bigEndian: address.sin_port))
}
