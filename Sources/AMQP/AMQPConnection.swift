internal import CRabbitMQ
internal import Glibc
internal import MQTT

/// A connection to a node with one channel, over librabbitmq. For use by one thread; each call blocks for a
/// limited time, except for DNS lookups.
@safe struct AMQPConnection: ~Copyable {
  private let state: amqp_connection_state_t
  private let node: MQTTConfiguration.Broker
  private let queue: String
  private var consumers = 0

  private static let channel: amqp_channel_t = 1
  private static let none = timeval(tv_sec: 0, tv_usec: 0)

  private init(_ state: amqp_connection_state_t, _ node: MQTTConfiguration.Broker, _ queue: String) {
    unsafe self.state = state
    (self.node, self.queue) = (node, queue)
  }

  /// Connects, logs in, and creates the queue with its bindings if they are missing.
  /// - Parameter makesQueue: false to leave the queue unchanged, whether it exists or not.
  static func opened(
    to node: MQTTConfiguration.Broker, _ configuration: AMQPConfiguration, makesQueue: Bool = true
  ) throws(AMQPDisconnection) -> AMQPConnection {
    guard let state = unsafe amqp_new_connection() else {
      throw AMQPDisconnection(node: node, phase: .connect, cause: .configuration("out of memory"))
    }
    let connection = unsafe AMQPConnection(state, node, configuration.queue)
    try connection.open(configuration)
    try connection.logIn(configuration)
    try connection.openChannel()
    if makesQueue { try connection.declare(configuration) }
    return connection
  }

  deinit { _ = unsafe amqp_destroy_connection(state) }

  /// The descriptor for `poll(2)` with `POLLIN`.
  var descriptor: Int32 { unsafe amqp_get_sockfd(state) }

  private func failure(_ phase: AMQPDisconnection.Phase, _ cause: AMQPDisconnection.Cause)
    -> AMQPDisconnection
  {
    AMQPDisconnection(node: node, phase: phase, cause: cause)
  }

  private func open(_ configuration: AMQPConfiguration) throws(AMQPDisconnection) {
    var answer = Self.time(configuration.answerTimeout)
    _ = unsafe amqp_set_handshake_timeout(state, &answer)
    _ = unsafe amqp_set_rpc_timeout(state, &answer)
    let socket = unsafe configuration.tls == nil ? amqp_tcp_socket_new(state) : amqp_ssl_socket_new(state)
    guard let socket = unsafe socket else {
      throw failure(.connect, .configuration("out of memory"))
    }
    if let tls = configuration.tls { try unsafe secure(socket, tls) }
    var limit = Self.time(configuration.connectTimeout)
    let status = unsafe amqp_socket_open_noblock(socket, node.host, Int32(node.port), &limit)
    guard status == 0 else { throw failure(.connect, Self.cause(of: status)) }
  }

  private func secure(_ socket: OpaquePointer, _ tls: MQTTTLS) throws(AMQPDisconnection) {
    func demand(_ holds: Bool, _ what: String) throws(AMQPDisconnection) {
      if !holds { throw failure(.connect, .configuration(what)) }
    }
    switch tls.trust {
    case .system:
      try demand(unsafe odograph_amqp_trust(socket, nil) == 1, "the system's authorities cannot be read")
    case .file(let path):
      try demand(
        unsafe amqp_ssl_socket_set_cacert(socket, path) == 0,
        "\(path) cannot be read, or contains no PEM certificate")
    case .directory(let path):
      try demand(unsafe odograph_amqp_trust(socket, path) == 1, "the folder \(path) cannot be read")
    case .preSharedKey: try demand(false, "a shared key is not possible with AMQP")
    }
    if let identity = tls.identity {
      try demand(
        unsafe amqp_ssl_socket_set_key(socket, identity.certificateFile, identity.keyFile) == 0,
        "\(identity.certificateFile) and \(identity.keyFile) cannot be read, or do not belong together")
    }
    unsafe amqp_ssl_socket_set_verify_peer(socket, 1)
    try demand(
      unsafe odograph_amqp_expect(socket, node.host) == 1, "\(node.host) is not a valid name in a certificate"
    )
    try demand(
      unsafe odograph_amqp_oldest(socket, tls.minimumVersion == .tls13 ? 1 : 0) == 1,
      "OpenSSL on this machine does not support this TLS version")
  }

  private func logIn(_ configuration: AMQPConfiguration) throws(AMQPDisconnection) {
    let host = configuration.address.virtualHost
    guard let user = configuration.user else {
      return try unsafe check(odograph_amqp_login_certificate(state, host, configuration.heartbeat), .login)
    }
    var password = ""
    do { password = try configuration.password?.read() ?? "" } catch {
      throw failure(.login, .configuration("\(error)"))
    }
    try unsafe check(
      odograph_amqp_login_password(state, host, configuration.heartbeat, user, password), .login)
  }

  private func openChannel() throws(AMQPDisconnection) {
    _ = unsafe amqp_channel_open(state, Self.channel)
    try unsafe check(amqp_get_rpc_reply(state), .login)
  }

  private func declare(_ configuration: AMQPConfiguration) throws(AMQPDisconnection) {
    try unsafe check(odograph_amqp_declare(state, Self.channel, queue, "quorum"), .declare)
    for pattern in configuration.patterns {
      try unsafe check(odograph_amqp_bind(state, Self.channel, queue, configuration.exchange, pattern), .bind)
    }
  }

  /// Subscribes to the queue. Replaces an existing subscription, because the broker applies a new window only
  /// to new consumers.
  mutating func consume(prefetch: Int) throws(AMQPDisconnection) {
    _ = unsafe amqp_basic_qos(state, Self.channel, 0, UInt16(clamping: prefetch), 0)
    try unsafe check(amqp_get_rpc_reply(state), .consume)
    if consumers > 0 { try cancel() }
    consumers += 1
    try unsafe check(odograph_amqp_consume(state, Self.channel, queue, Self.tag(consumers)), .consume)
  }

  /// Cancels the subscription. Earlier deliveries can still be acknowledged.
  func cancel() throws(AMQPDisconnection) {
    try unsafe check(odograph_amqp_cancel(state, Self.channel, Self.tag(consumers)), .established)
  }

  private static func tag(_ number: Int) -> String { "odograph-\(number)" }

  /// Acknowledges all deliveries up to this one.
  func acknowledge(through tag: UInt64) throws(AMQPDisconnection) {
    let status = unsafe amqp_basic_ack(state, Self.channel, tag, 1)
    guard status == 0 else { throw failure(.established, Self.cause(of: status)) }
  }

  /// Reads the deliveries that have arrived, without waiting. Also lets the library send heartbeats and check
  /// those of the broker.
  /// - Returns: the tag of the last delivery; nil if there was none.
  func read(_ messages: inout [MQTTMessage], most: Int) throws(AMQPDisconnection) -> UInt64? {
    var last: UInt64?
    while messages.count < most {
      unsafe amqp_maybe_release_buffers(state)
      var envelope = unsafe amqp_envelope_t()
      var none = Self.none
      let reply = unsafe amqp_consume_message(state, &envelope, &none, 0)
      if unsafe reply.reply_type == AMQP_RESPONSE_NORMAL {
        unsafe messages.append(Self.message(envelope))
        last = unsafe envelope.delivery_tag
        unsafe amqp_destroy_envelope(&envelope)
        continue
      }
      guard unsafe reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION else {
        try unsafe check(reply, .established)
        continue
      }
      switch unsafe reply.library_error {
      case AMQP_STATUS_TIMEOUT.rawValue: return last
      case AMQP_STATUS_UNEXPECTED_STATE.rawValue: try takeMethod()
      case let status: throw failure(.established, Self.cause(of: status))
      }
    }
    return last
  }

  /// Handles a frame that is not a delivery: the broker closes or cancels something.
  private func takeMethod() throws(AMQPDisconnection) {
    var frame = unsafe amqp_frame_t()
    var none = Self.none
    let status = unsafe amqp_simple_wait_frame_noblock(state, &frame, &none)
    guard status == 0 else { throw failure(.established, Self.cause(of: status)) }
    guard unsafe Int32(frame.frame_type) == AMQP_FRAME_METHOD else { return }
    let method = unsafe frame.payload.method
    if let closed = unsafe Self.closed(method) { throw failure(.established, closed) }
    if unsafe method.id == odograph_amqp_cancel_method { throw failure(.established, .cancelled) }
  }

  /// Closes the connection; unacknowledged messages return to the queue.
  func close() { _ = unsafe amqp_connection_close(state, 200) }

  /// Returns whether the queue exists. If not, the broker has closed the channel, and the connection is
  /// unusable.
  func hasQueue() throws(AMQPDisconnection) -> Bool {
    do throws(AMQPDisconnection) {
      try unsafe check(odograph_amqp_find(state, Self.channel, queue), .declare)
      return true
    } catch {
      guard case .refused(404, _) = error.cause else { throw error }
      return false
    }
  }

  /// Deletes the queue with its messages.
  func deleteQueue() throws(AMQPDisconnection) {
    try unsafe check(odograph_amqp_delete(state, Self.channel, queue), .declare)
  }
}

extension AMQPConnection {
  private static func time(_ seconds: Double) -> timeval {
    timeval(tv_sec: Int(seconds), tv_usec: Int((seconds - seconds.rounded(.down)) * 1e6))
  }

  private func check(_ reply: amqp_rpc_reply_t, _ phase: AMQPDisconnection.Phase) throws(AMQPDisconnection) {
    switch unsafe reply.reply_type {
    case AMQP_RESPONSE_NORMAL: return
    case AMQP_RESPONSE_SERVER_EXCEPTION:
      throw failure(
        phase, unsafe Self.closed(reply.reply) ?? .network("unexpected response of the broker"))
    case AMQP_RESPONSE_LIBRARY_EXCEPTION: throw failure(phase, unsafe Self.cause(of: reply.library_error))
    default: throw failure(phase, .network("the broker did not answer"))
    }
  }

  private static func closed(_ method: amqp_method_t) -> AMQPDisconnection.Cause? {
    var words = unsafe amqp_bytes_t()
    let code = unsafe odograph_amqp_closed(method, &words)
    return code == 0 ? nil : .refused(code: Int(code), text: unsafe text(words))
  }

  private static func cause(of status: Int32) -> AMQPDisconnection.Cause {
    switch status {
    case AMQP_STATUS_TIMEOUT.rawValue, AMQP_STATUS_HEARTBEAT_TIMEOUT.rawValue: return .timedOut
    case AMQP_STATUS_BROKER_UNSUPPORTED_SASL_METHOD.rawValue:
      return .refused(code: 403, text: "the broker does not support this authentication mechanism")
    default: break
    }
    let words = unsafe amqp_error_string2(status).map { unsafe String(cString: $0) } ?? "error \(status)"
    let isTLS = (AMQP_STATUS_SSL_CONNECTION_FAILED.rawValue...AMQP_STATUS_SSL_ERROR.rawValue).contains(status)
    return isTLS ? .tls(words) : .network(words)
  }

  private static func text(_ bytes: amqp_bytes_t) -> String {
    unsafe String(decoding: Self.bytes(bytes), as: UTF8.self)
  }

  private static func bytes(_ bytes: amqp_bytes_t) -> [UInt8] {
    unsafe Array(UnsafeRawBufferPointer(start: bytes.bytes, count: bytes.len))
  }

  /// Converts a delivery to the message that MQTT would have delivered. The plugin adds the quality of
  /// service as a header. It does not transfer the retain flag, as MQTT does not for existing subscribers.
  private static func message(_ envelope: amqp_envelope_t) -> MQTTMessage {
    let properties = unsafe envelope.message.properties
    let level = unsafe withUnsafePointer(to: properties) {
      unsafe odograph_amqp_header($0, "x-mqtt-publish-qos", 1)
    }
    return MQTTMessage(
      topic: RoutingKey.topic(of: unsafe text(envelope.routing_key)),
      payload: unsafe bytes(envelope.message.body),
      qos: QoS(rawValue: UInt8(clamping: level)) ?? .atLeastOnce)
  }
}
