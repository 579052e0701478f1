import Glibc

/// A mosquitto of the benchmark's own on a free loopback port.
final class Broker {
  let port: Int
  private var processID: pid_t = 0

  init() {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
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
    close(descriptor)
    port = Int(UInt16(bigEndian: address.sin_port))
    let path = "/tmp/benchmark-broker-\(getpid()).conf"
    if let file = fopen(path, "w") {
      fputs("listener \(port) 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\nlog_dest none\n", file)
      fputs("max_inflight_messages 0\n", file)
      fclose(file)
    }
    var argv: [UnsafeMutablePointer<CChar>?] = [strdup("mosquitto"), strdup("-c"), strdup(path), nil]
    posix_spawnp(&processID, "mosquitto", nil, nil, &argv, environ)
    usleep(500_000)
    unlink(path)
  }

  func end() {
    kill(processID, SIGTERM)
    waitpid(processID, nil, 0)
  }
}
