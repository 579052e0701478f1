internal import CFakeBroker
internal import CMosquitto
internal import Glibc

/// A load on libmosquitto: messages from a broker, or messages that the broker acknowledges.
struct Load {
  var name: String
  var count: Int
  var quality: Int32 = 0
  /// False if the client sends the messages.
  var isReceiving = true
  var properties: [UInt8] = [0]
  var size = 200
  /// Bytes per TLS record; nil for a connection without TLS.
  var record: Int?
}

/// A minimal client of libmosquitto, with or without the guard: one thread, one loop, no stored messages.
final class BareClient {
  private static let topic = "odograph/v1/munich/van-17/location"

  private let handle: OpaquePointer
  private let packets: PacketGuard?
  fileprivate var isConnected = false
  fileprivate var done = 0
  private var isDrained = true
  /// True to let messages accumulate before they are read. With acknowledgements, the broker would wait for the client.
  private var gathers = false

  private init(_ handle: OpaquePointer, isGuarded: Bool) {
    self.handle = handle
    packets = isGuarded ? PacketGuard(version311: false, limit: 1 << 28) : nil
  }

  /// Runs a load. Returns the processor time per message of the client's thread in s, including the kernel's; nil on errors.
  static func run(_ load: Load, isGuarded: Bool) -> Double? {
    if let record = load.record {
      guard let server = TLSServer(load, topic: topic, record: record) else { return nil }
      defer { server.end() }
      return run(load, port: server.port, isGuarded: isGuarded, certificate: server.certificate)
    }
    guard
      let broker = fake_broker_start(
        load.isReceiving ? Int32(load.count) : 0, load.quality, topic, load.properties,
        Int32(load.properties.count), Int32(load.size))
    else { return nil }
    defer { fake_broker_end(broker) }
    return run(load, port: fake_broker_port(broker), isGuarded: isGuarded, certificate: nil)
  }

  private static func run(
    _ load: Load, port: Int32, isGuarded: Bool, certificate: String?
  ) -> Double? {
    guard let handle = mosquitto_new("guard", true, nil) else { return nil }
    defer { mosquitto_destroy(handle) }
    let client = BareClient(handle, isGuarded: isGuarded)
    mosquitto_user_data_set(handle, Unmanaged.passUnretained(client).toOpaque())
    mosquitto_threaded_set(handle, true)
    mosquitto_int_option(handle, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5)
    mosquitto_int_option(handle, MOSQ_OPT_SEND_MAXIMUM, 65_535)
    mosquitto_int_option(handle, MOSQ_OPT_TCP_NODELAY, 1)
    if let certificate {
      mosquitto_tls_set(handle, certificate, nil, nil, nil, nil)
      mosquitto_tls_insecure_set(handle, true)
    }
    mosquitto_connect_v5_callback_set(handle) { _, context, _, _, _ in
      BareClient.of(context)?.isConnected = true
    }
    mosquitto_message_v5_callback_set(handle) { _, context, _, _ in BareClient.of(context)?.done += 1 }
    mosquitto_publish_v5_callback_set(handle) { _, context, _, _, _ in BareClient.of(context)?.done += 1 }
    // A server that has just been started may not listen yet.
    var attempts = 0
    while mosquitto_connect(handle, "127.0.0.1", port, 60) != 0 {
      attempts += 1
      guard attempts < 100 else { return nil }
      usleep(50_000)
    }
    let time = client.serve(load)
    mosquitto_disconnect(handle)
    mosquitto_loop_write(handle, 1)
    return time
  }

  private static func of(_ context: UnsafeMutableRawPointer?) -> BareClient? {
    context.map { Unmanaged<BareClient>.fromOpaque($0).takeUnretainedValue() }
  }

  private func serve(_ load: Load) -> Double? {
    let payload = [UInt8](repeating: 0x78, count: load.size)
    var sent = 0
    gathers = load.isReceiving && load.quality == 0
    // Measured from the start of the connection: with TLS, one call can read CONNACK and every message.
    let start = processorTime()
    while !isConnected { guard turn() else { return nil } }
    while done < load.count {
      while !load.isReceiving, sent < load.count, sent - done < 100 {
        mosquitto_publish_v5(handle, nil, Self.topic, Int32(load.size), payload, load.quality, false, nil)
        sent += 1
      }
      guard turn() else { return nil }
    }
    return (processorTime() - start) / Double(load.count)
  }

  /// Reads until no data is left before it polls again, with and without the guard.
  private func turn() -> Bool {
    if mosquitto_want_write(handle), mosquitto_loop_write(handle, 1) != 0 { return false }
    if isDrained {
      // Without this pause, the faster client finds less data each time and wakes more often.
      if gathers { usleep(2000) }
      let events = POLLIN | (mosquitto_want_write(handle) ? POLLOUT : 0)
      var entry = pollfd(fd: mosquitto_socket(handle), events: Int16(events), revents: 0)
      poll(&entry, 1, 1000)
    }
    errno = 0
    if let packets {
      guard packets.around({ mosquitto_loop_read(handle, 1) }) == 0 else { return false }
      isDrained = packets.isDrained
    } else {
      guard mosquitto_loop_read(handle, 1) == 0 else { return false }
      isDrained = errno == EAGAIN
    }
    return true
  }

  private func processorTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + 1e-9 * Double(time.tv_nsec)
  }
}
