internal import CMosquitto
internal import Glibc
internal import Platform

/// A libmosquitto client for a single connection, created, used and destroyed on the session's thread. A
/// failed client is never reconnected, because the library retains unsent messages in it.
///
/// The corresponding C type is `struct mosquitto`.
@safe struct Client: ~Copyable {
  /// The result of a call of the library.
  struct Outcome {
    /// A `MOSQ_ERR` code.
    var code: Int32
    /// The `errno` right after the call.
    var errno: Int32

    var isSuccess: Bool { code == MOSQ_ERR_SUCCESS.code }
    var message: String { Library.message(for: code, errno: errno) }
  }

  private let handle: OpaquePointer
  let events: ClientEvents
  /// Validates all bytes that the library reads.
  let packets: PacketGuard
  let version311: Bool

  private init(_ handle: OpaquePointer, version311: Bool, maximumPacketSize: UInt32) {
    unsafe self.handle = unsafe handle
    self.version311 = version311
    packets = PacketGuard(version311: version311, limit: Int(maximumPacketSize))
    events = ClientEvents(version311: version311, packets: packets)
    unsafe events.attach(to: handle)
  }

  /// Creates a configured client without a connection.
  /// - Parameter version311: true for MQTT 3.1.1 instead of 5.
  /// - Throws: `OperationError` if a file is unreadable or the library rejects a setting.
  static func make(
    _ configuration: MQTTConfiguration, will: MQTTMessage?, version311: Bool
  ) throws(OperationError) -> Client {
    Library.prepare()
    guard PacketGuard.isInForce else {
      throw OperationError(
        "MQTT", operation: "check what reaches", object: "libmosquitto",
        cause: "its reading cannot be redirected; link it dynamically")
    }
    guard let handle = unsafe mosquitto_new(configuration.clientID, configuration.cleanStart, nil) else {
      throw OperationError(
        "MQTT", operation: "create client", object: configuration.clientID,
        cause: SystemError.message(for: errno) + "; check the client identifier")
    }
    let client = unsafe Client(
      handle, version311: version311, maximumPacketSize: configuration.maximumPacketSize)
    client.setOptions(configuration)
    try client.setCredentials(configuration)
    try client.setTLS(configuration)
    try client.setWill(will)
    return client
  }

  deinit { unsafe mosquitto_destroy(handle) }

  /// Starts a connection without waiting for the network, except for the name lookup.
  /// - Parameter onlyIPv4: true to skip the host's IPv6 addresses.
  func connect(_ configuration: MQTTConfiguration, to broker: MQTTConfiguration.Broker, onlyIPv4: Bool)
    -> Outcome
  {
    let keepAlive = Int32(configuration.keepAlive)
    if !version311 {
      var properties = PropertyList()
      properties.add(MQTT_PROP_MAXIMUM_PACKET_SIZE, configuration.maximumPacketSize)
      if configuration.sessionExpiryInterval > 0 {
        properties.add(MQTT_PROP_SESSION_EXPIRY_INTERVAL, configuration.sessionExpiryInterval)
      }
      // The library's non-blocking connect accepts no properties, and its blocking one would wait for TCP.
      // Without a host, the blocking one fails immediately and stores the properties.
      if let list = unsafe properties.head {
        unsafe mosquitto_connect_bind_v5(handle, "", 0, keepAlive, nil, list)
      }
    }
    unsafe ClientEvents.collectComplaints(handle, true)
    Glibc.errno = 0
    // Only sockets of the bind address's family can be bound to it; the library skips addresses of another
    // family.
    let code = unsafe mosquitto_connect_bind_async(
      handle, broker.host, Int32(broker.port), keepAlive, onlyIPv4 ? "0.0.0.0" : nil)
    return Outcome(code: code, errno: Glibc.errno)
  }

  /// Stops the formatting of log lines for every packet once the connection is established.
  func connected() {
    unsafe ClientEvents.collectComplaints(handle, false)
    (events.complaints, events.certificateProblem) = ([], nil)
  }

  /// The socket; -1 if the library has closed the connection.
  var socket: Int32 { unsafe mosquitto_socket(handle) }

  var wantsToWrite: Bool { unsafe mosquitto_want_write(handle) }

  /// True if the TLS handshake is complete. CONNECT is sent only after it.
  var isHandshakeComplete: Bool { unsafe TLSDiagnosis.isHandshakeComplete(mosquitto_ssl_get(handle)) }

  /// The broker's certificate; nil without TLS.
  var peerCertificate: MQTTPeerCertificate? { unsafe TLSDiagnosis.peerCertificate(mosquitto_ssl_get(handle)) }

  /// Reason why the broker's certificate was refused; nil if it was not.
  var certificateProblem: String? {
    if let problem = events.certificateProblem { return problem }
    return unsafe TLSDiagnosis.certificateProblem(mosquitto_ssl_get(handle))
  }

  /// Reads available data and calls back for each complete packet.
  func loopRead() -> Outcome {
    Glibc.errno = 0
    return packets.around {
      let code = unsafe mosquitto_loop_read(handle, 1)
      return Outcome(code: code, errno: Glibc.errno)
    }
  }

  /// Writes queued packets, including acknowledgements.
  func loopWrite() -> Outcome {
    Glibc.errno = 0
    let code = unsafe mosquitto_loop_write(handle, 1)
    return Outcome(code: code, errno: Glibc.errno)
  }

  /// Sends a ping if one is due, and detects a missing answer.
  func loopMisc() -> Outcome {
    Glibc.errno = 0
    let code = unsafe mosquitto_loop_misc(handle)
    return Outcome(code: code, errno: Glibc.errno)
  }

  /// Queues a message in the library; `loopWrite` sends it.
  func publish(_ message: MQTTMessage) -> (outcome: Outcome, packet: Int32) {
    var packet: Int32 = 0
    let properties =
      version311 || message.properties.isEmpty ? PropertyList() : PropertyList(message.properties)
    Glibc.errno = 0
    let code = unsafe message.payload.withUnsafeBufferPointer { payload in
      unsafe mosquitto_publish_v5(
        handle, &packet, message.topic, Int32(clamping: payload.count), payload.baseAddress,
        Int32(message.qos.rawValue), message.retain, properties.head)
    }
    return (Outcome(code: code, errno: Glibc.errno), packet)
  }

  func subscribe(_ subscription: MQTTSubscription) -> (outcome: Outcome, packet: Int32) {
    var packet: Int32 = 0
    let options = version311 ? 0 : subscription.options
    let code = unsafe mosquitto_subscribe_v5(
      handle, &packet, subscription.filter, Int32(subscription.qos.rawValue), options, nil)
    return (Outcome(code: code, errno: Glibc.errno), packet)
  }

  func unsubscribe(_ filter: String) -> (outcome: Outcome, packet: Int32) {
    var packet: Int32 = 0
    let code = unsafe mosquitto_unsubscribe_v5(handle, &packet, filter, nil)
    return (Outcome(code: code, errno: Glibc.errno), packet)
  }

  /// Queues DISCONNECT; the library closes the socket once it is written. The broker discards the will.
  /// - Parameter endsSession: true if the broker should delete the session immediately (MQTT 5).
  func disconnect(endsSession: Bool = false) {
    var properties = PropertyList()
    if endsSession, !version311 { properties.add(MQTT_PROP_SESSION_EXPIRY_INTERVAL, UInt32(0)) }
    unsafe mosquitto_disconnect_v5(handle, 0, properties.head)
  }

  /// Writes a PINGREQ directly to the socket instead of the library's queue, in which acknowledgements may
  /// wait. The library accepts a PINGRESP even if it has sent no PINGREQ. Returns whether the connection
  /// still accepts data.
  func pingDirectly() -> Bool {
    let packet: [UInt8] = [0xC0, 0]
    let sent: Int
    if let ssl = unsafe mosquitto_ssl_get(handle) {
      guard let written = unsafe TLSDiagnosis.write(packet, to: ssl) else { return true }
      sent = written
    } else {
      sent = unsafe send(socket, packet, packet.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
      if sent < 0, errno == EAGAIN || errno == EINTR { return true }
    }
    return sent == packet.count
  }
}

extension Client {
  private func setOptions(_ configuration: MQTTConfiguration) {
    // Without threaded mode, the library writes PUBACK before the message has been handed over and stored.
    unsafe mosquitto_threaded_set(handle, true)
    let version = version311 ? MQTT_PROTOCOL_V311 : MQTT_PROTOCOL_V5
    unsafe mosquitto_int_option(handle, MOSQ_OPT_PROTOCOL_VERSION, version)
    unsafe mosquitto_int_option(handle, MOSQ_OPT_RECEIVE_MAXIMUM, Int32(configuration.receiveMaximum))
    // `PublishFlow` controls the flow; the library must never delay a message on its own.
    unsafe mosquitto_int_option(handle, MOSQ_OPT_SEND_MAXIMUM, 65_535)
    unsafe mosquitto_int_option(handle, MOSQ_OPT_TCP_NODELAY, 1)
  }

  private func setCredentials(_ configuration: MQTTConfiguration) throws(OperationError) {
    guard let name = configuration.userName else { return }
    let password = try configuration.password.map { (secret) throws(OperationError) in try secret.read() }
    guard unsafe mosquitto_username_pw_set(handle, name, password) == MOSQ_ERR_SUCCESS.code else {
      throw OperationError(
        "MQTT", operation: "use", object: "user name", cause: "it is not UTF-8 or longer than 65535 bytes")
    }
  }

  private func setWill(_ will: MQTTMessage?) throws(OperationError) {
    guard let will else { return }
    let list = unsafe (version311 ? PropertyList() : PropertyList(will.properties)).release()
    let code = unsafe will.payload.withUnsafeBufferPointer { payload in
      unsafe mosquitto_will_set_v5(
        handle, will.topic, Int32(clamping: payload.count), payload.baseAddress,
        Int32(will.qos.rawValue), will.retain, list)
    }
    guard code == MOSQ_ERR_SUCCESS.code else {
      var list = unsafe list
      unsafe mosquitto_property_free_all(&list)
      throw OperationError(
        "MQTT", operation: "set will", object: will.topic, cause: Library.message(for: code, errno: errno))
    }
  }

  private func setTLS(_ configuration: MQTTConfiguration) throws(OperationError) {
    guard let tls = configuration.tls else { return }
    try check(unsafe mosquitto_tls_opts_set(handle, 1, tls.minimumVersion.rawValue, nil), "minimum version")
    if let alpn = tls.alpn {
      try check(unsafe mosquitto_string_option(handle, MOSQ_OPT_TLS_ALPN, alpn), "alpn")
    }
    var authorities: (file: String?, directory: String?) = (nil, nil)
    switch tls.trust {
    case .preSharedKey(let identity, let key):
      let digits = try key.read()
      return try check(
        unsafe mosquitto_tls_psk_set(handle, digits, identity, nil), "pre-shared key of \(identity)")
    case .system: authorities.directory = "/etc/ssl/certs"
    case .file(let path): authorities.file = path
    case .directory(let path): authorities.directory = path
    }
    for path in [authorities.file, tls.identity?.certificateFile, tls.identity?.keyFile] {
      if let path, unsafe access(path, R_OK) != 0 {
        throw OperationError("MQTT", operation: "read", object: path, cause: SystemError.message(for: errno))
      }
    }
    try check(
      unsafe mosquitto_tls_set(
        handle, authorities.file, authorities.directory, tls.identity?.certificateFile,
        tls.identity?.keyFile, nil), "certificates")
  }

  private func check(_ code: Int32, _ object: String) throws(OperationError) {
    guard code != MOSQ_ERR_SUCCESS.code else { return }
    throw OperationError(
      "MQTT", operation: "set up TLS with", object: object, cause: Library.message(for: code, errno: errno))
  }
}

/// Process-wide initialization before the first client.
enum Library {
  /// Initializes libmosquitto and ignores SIGPIPE, which a TLS write to a closed connection raises.
  static func prepare() { _ = once }

  private static let once: Bool = {
    signal(SIGPIPE, SIG_IGN)
    mosquitto_lib_init()
    return true
  }()

  /// Returns the library's message for a `MOSQ_ERR` code; for MOSQ_ERR_ERRNO the kernel's.
  static func message(for code: Int32, errno: Int32) -> String {
    if code == MOSQ_ERR_ERRNO.code {
      return unsafe strerror(errno).map { unsafe String(cString: $0) } ?? "error \(errno)"
    }
    if code == MOSQ_ERR_EAI.code { return unsafe String(cString: gai_strerror(errno)) }
    return unsafe mosquitto_strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
  }
}

extension mosq_err_t {
  var code: Int32 { Int32(rawValue) }
}
