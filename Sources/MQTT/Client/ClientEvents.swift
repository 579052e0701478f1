internal import CMosquitto

/// Callbacks of the library since the last check. Filled on the session's thread during `loopRead` and
/// `loopWrite`, then processed and cleared by the session.
final class ClientEvents {
  /// The answer to CONNECT.
  struct ConnectAnswer {
    var reason: MQTTReasonCode
    var flags: Int32
    var grants: Grants
  }

  /// Properties of a CONNACK.
  struct Grants {
    var receiveMaximum: UInt16?
    var maximumPacketSize: UInt32?
    var maximumQoS: UInt8?
    var retainAvailable: UInt8?
    var sharedSubscriptionsAvailable: UInt8?
    var keepAlive: UInt16?
    var assignedClientID: String?
    var reasonString: String?
    var serverReference: String?
  }

  struct Published {
    var packet: Int32
    var reason: MQTTReasonCode
  }

  struct Subscribed {
    var packet: Int32
    var reason: MQTTReasonCode
  }

  var connectAnswer: ConnectAnswer?
  /// Reason code of the broker's DISCONNECT.
  var serverDisconnect: MQTTReasonCode?
  var published: [Published] = []
  var subscribed: [Subscribed] = []
  var unsubscribed: [Int32] = []
  var inbound: [MQTTMessage] = []
  var inboundBytes = 0
  /// Errors that the library logged while connecting.
  var complaints: [String] = []
  /// The reason why the broker's certificate was refused; nil if it was not. Read when the library logs the
  /// error, because the library then releases the TLS session.
  var certificateProblem: String?
  /// Messages dropped for a character that libmosquitto rejects.
  var malformedCount = 0
  /// Description of the first such message, for the log; nil for none.
  var firstMalformed: String?
  let version311: Bool
  private let packets: PacketGuard
  private var strings = StringCache()

  init(version311: Bool, packets: PacketGuard) {
    self.version311 = version311
    self.packets = packets
  }

  func clearInbound() {
    inbound.removeAll(keepingCapacity: true)
    inboundBytes = 0
  }

  fileprivate func received(_ message: mosquitto_message, _ properties: OpaquePointer?) {
    guard let topic = unsafe message.topic else { return }
    let fault = unsafe packets.handedOver(
      quality: UInt8(clamping: message.qos), identifier: UInt16(truncatingIfNeeded: message.mid))
    if let fault {
      malformedCount += 1
      if firstMalformed == nil { firstMalformed = unsafe "\(fault) (\(String(cString: topic)))" }
      return
    }
    let count = unsafe Int(message.payloadlen)
    let payload = unsafe Array(UnsafeRawBufferPointer(start: message.payload, count: count))
    let reader = unsafe PropertyReader(properties)
    let properties = reader.isEmpty ? MQTTMessageProperties() : reader.messageProperties(&strings)
    inbound.append(
      unsafe MQTTMessage(
        topic: strings.string(topic), payload: payload,
        qos: QoS(rawValue: UInt8(clamping: message.qos)) ?? .atMostOnce, retain: message.retain,
        properties: properties))
    inboundBytes += count
  }
}

extension ClientEvents {
  /// Registers this object for the library's callbacks. It must outlive the handle.
  func attach(to handle: OpaquePointer) {
    unsafe mosquitto_user_data_set(handle, Unmanaged.passUnretained(self).toOpaque())
    unsafe mosquitto_connect_v5_callback_set(handle) { _, context, code, flags, list in
      guard let events = unsafe ClientEvents.from(context) else { return }
      let byte = UInt8(truncatingIfNeeded: code)
      let reason =
        events.version311 ? MQTTReasonCode(version311ReturnCode: byte) : MQTTReasonCode(rawValue: byte)
      let grants = unsafe Grants(PropertyReader(list))
      events.connectAnswer = ConnectAnswer(reason: reason, flags: flags, grants: grants)
    }
    unsafe mosquitto_disconnect_v5_callback_set(handle) { _, context, code, _ in
      // The library reports its own error codes, all below 0x80, by the same callback.
      guard code >= 0x80 else { return }
      unsafe ClientEvents.from(context)?.serverDisconnect =
        MQTTReasonCode(rawValue: UInt8(truncatingIfNeeded: code))
    }
    unsafe mosquitto_publish_v5_callback_set(handle) { _, context, packet, reason, _ in
      unsafe ClientEvents.from(context)?.published.append(
        Published(packet: packet, reason: MQTTReasonCode(rawValue: UInt8(truncatingIfNeeded: reason))))
    }
    unsafe mosquitto_message_v5_callback_set(handle) { _, context, message, properties in
      guard let message = unsafe message else { return }
      unsafe ClientEvents.from(context)?.received(message.pointee, properties)
    }
    unsafe mosquitto_subscribe_v5_callback_set(handle) { _, context, packet, count, granted, _ in
      let code = unsafe count > 0 ? granted?.pointee ?? 0x80 : 0x80
      unsafe ClientEvents.from(context)?.subscribed.append(
        Subscribed(packet: packet, reason: MQTTReasonCode(rawValue: UInt8(truncatingIfNeeded: code))))
    }
    unsafe mosquitto_unsubscribe_v5_callback_set(handle) { _, context, packet, _ in
      unsafe ClientEvents.from(context)?.unsubscribed.append(packet)
    }
  }

  /// Collects the library's error messages while connecting. At other times this is off, because with a log
  /// callback the library formats a line for every packet.
  static func collectComplaints(_ handle: OpaquePointer, _ collect: Bool) {
    guard collect else {
      unsafe mosquitto_log_callback_set(handle, nil)
      return
    }
    unsafe mosquitto_log_callback_set(handle) { handle, context, level, text in
      guard level == MOSQ_LOG_ERR || level == MOSQ_LOG_WARNING, let text = unsafe text else { return }
      guard let events = unsafe ClientEvents.from(context) else { return }
      unsafe events.complaints.append(String(cString: text))
      guard events.certificateProblem == nil, let handle = unsafe handle else { return }
      events.certificateProblem = unsafe TLSDiagnosis.certificateProblem(mosquitto_ssl_get(handle))
    }
  }

  private static func from(_ context: UnsafeMutableRawPointer?) -> ClientEvents? {
    unsafe context.map { unsafe Unmanaged<ClientEvents>.fromOpaque($0).takeUnretainedValue() }
  }
}

extension ClientEvents.Grants {
  init(_ reader: PropertyReader) {
    guard !reader.isEmpty else { return }
    receiveMaximum = reader.integer16(MQTT_PROP_RECEIVE_MAXIMUM)
    maximumPacketSize = reader.integer32(MQTT_PROP_MAXIMUM_PACKET_SIZE)
    maximumQoS = reader.byte(MQTT_PROP_MAXIMUM_QOS)
    retainAvailable = reader.byte(MQTT_PROP_RETAIN_AVAILABLE)
    sharedSubscriptionsAvailable = reader.byte(MQTT_PROP_SHARED_SUB_AVAILABLE)
    keepAlive = reader.integer16(MQTT_PROP_SERVER_KEEP_ALIVE)
    assignedClientID = reader.string(MQTT_PROP_ASSIGNED_CLIENT_IDENTIFIER)
    reasonString = reader.string(MQTT_PROP_REASON_STRING)
    serverReference = reader.string(MQTT_PROP_SERVER_REFERENCE)
  }
}
