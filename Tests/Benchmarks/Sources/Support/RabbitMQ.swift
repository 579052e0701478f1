internal import Glibc

/// A RabbitMQ node of the benchmark on free loopback ports, with the MQTT plugin and without TLS.
package final class RabbitMQ {
  /// Ports of MQTT and of AMQP.
  package let port: Int
  package let queuePort: Int
  private let process: Child
  private let nameService: Child
  private let folder: String
  private let environment: String

  /// Starts the node; nil if RabbitMQ is not installed or does not start.
  package init?(in directory: String) {
    let programs = "/usr/lib/rabbitmq/bin"
    guard access("\(programs)/rabbitmq-server", X_OK) == 0 else { return nil }
    folder = "\(directory)/rabbitmq"
    mkdir(folder, 0o755)
    let (distribution, names) = (freePort(), freePort())
    (port, queuePort) = (freePort(), freePort())
    write(
      """
      listeners.tcp.default = 127.0.0.1:\(queuePort)
      mqtt.listeners.tcp.default = 127.0.0.1:\(port)
      mqtt.allow_anonymous = true
      mqtt.exchange = amq.topic
      disk_free_limit.absolute = 50MB

      """, to: "\(folder)/rabbitmq.conf")
    write("[rabbitmq_mqtt].\n", to: "\(folder)/enabled_plugins")
    environment = """
      export HOME=\(folder) ERL_EPMD_ADDRESS=127.0.0.1 ERL_EPMD_PORT=\(names) RABBITMQ_CONF_ENV_FILE=/dev/null \
        RABBITMQ_NODENAME=bench@localhost RABBITMQ_USE_LONGNAME=false RABBITMQ_CONFIG_FILE=\(folder)/rabbitmq.conf \
        RABBITMQ_ENABLED_PLUGINS_FILE=\(folder)/enabled_plugins RABBITMQ_MNESIA_BASE=\(folder)/data \
        RABBITMQ_LOG_BASE=\(folder) RABBITMQ_DIST_PORT=\(distribution) RABBITMQ_NODE_PORT=\(queuePort) \
        RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS='-kernel inet_dist_use_interface {127,0,0,1} +sbwt none';
      """
    nameService = Child(["epmd", "-address", "127.0.0.1", "-port", "\(names)"], quietly: true)
    process = Child(["sh", "-c", environment + "exec \(programs)/rabbitmq-server"], quietly: true)
    let deadline = now() + 120
    while !isOpen(port) || !isOpen(queuePort) {
      guard now() < deadline else { return nil }
      usleep(300_000)
    }
  }

  package var processID: Int32 { process.processID }

  /// Returns the numbers of messages and consumers of a queue; nil if it does not exist.
  package func queue(_ name: String) -> (messages: Int, consumers: Int)? {
    let output = "\(folder)/queues"
    let command = "exec /usr/lib/rabbitmq/bin/rabbitmqctl -q list_queues name messages consumers >\(output)"
    guard Child(["sh", "-c", environment + command], quietly: true).wait(atMost: 60) else { return nil }
    for line in contents(of: output).split(separator: "\n") {
      let fields = line.split(separator: "\t")
      if fields.count == 3, fields[0] == name, let messages = Int(fields[1]), let consumers = Int(fields[2]) {
        return (messages, consumers)
      }
    }
    return nil
  }

  package func end() {
    _ = process.end(SIGTERM)
    _ = nameService.end(SIGTERM)
  }

  private func isOpen(_ port: Int) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = UInt16(port).bigEndian
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) == 0 }
    }
  }
}
