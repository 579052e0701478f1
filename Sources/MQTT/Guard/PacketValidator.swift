/// Validates a broker's data against the grammar of MQTT 5 and 3.1.1, in pieces of any size, with the state
/// of one packet and without copying it. Pure.
///
/// A broker may forward text that libmosquitto rejects, again at every connection. Such a character is
/// replaced by one of the same length. A message with such a character is `unwanted`: the library
/// acknowledges it, and `ClientEvents` drops it.
///
/// The grammar is limited to what this module's client requests: no topic aliases, no enhanced
/// authentication, and one reason for each subscription. Values of reason codes are not checked.
struct PacketValidator {
  /// A violation of the protocol, with its location.
  struct Violation: Error, Hashable, CustomStringConvertible {
    /// Packet type, as in `PUBLISH`.
    var packet: String
    /// Offset in bytes from the start of the packet.
    var offset: Int
    var cause: String

    var description: String { "\(packet), byte \(offset): \(cause)" }
  }

  /// The action for the next bytes.
  enum Step: Equatable {
    /// This number of bytes is valid.
    case pass(Int)
    /// This number of bytes belongs to a message that exceeds the size limit and must be skipped.
    case drop(Int)
    /// The bytes are an incomplete fixed header; more are required.
    case incomplete
    case refuse(Violation)
  }

  private enum Position {
    case flags, connectReason, reason, identifierHigh, identifierLow
    case topicLengthHigh, topicLengthLow, topic
    case propertyLength, property
    /// A number of `count` bytes, or of variable length.
    case number, variableInteger
    case lengthHigh, lengthLow, text, binary
    case reasons, version311Reasons, payload, end
  }

  private let version311: Bool
  /// Maximum size of a packet in bytes.
  private let limit: Int
  private var isConnected = false

  private var type = PacketType.pingAnswer
  private var quality: UInt8 = 0
  /// Number of bytes of the packet that have passed, and that remain.
  private var offset = 0
  private(set) var rest = 0
  /// Number of remaining bytes of a skipped message.
  private var dropped = 0
  /// Number of skipped messages.
  private(set) var droppedCount = 0
  private var unwanted = UnwantedMessages()
  private var place = Position.end
  private var connectFlags: UInt8 = 0
  private var identifierHigh: UInt8 = 0
  private var identifier: UInt16 = 0
  private var propertyRest = 0
  private var seen: UInt64 = 0
  private var property = PacketProperty.Value.flag
  /// Number of remaining bytes of a value.
  private var count = 0
  private var shift = 0
  private var number: UInt64 = 0
  private var isSecondOfPair = false
  private var isTopic = false
  private var isMessageTopic = false
  /// The first fault in the text of a PUBLISH.
  private var fault: TextFault?
  private var utf8 = UTF8Check()

  /// - Parameter limit: size in bytes of the largest accepted packet.
  init(version311: Bool, limit: Int) {
    self.version311 = version311
    self.limit = limit
  }

  /// Number of following payload bytes, which need no check.
  var unchecked: Int { place == .payload ? rest : 0 }

  /// Returns why the message that the library hands over must be dropped; nil if it is valid.
  mutating func unwanted(quality: UInt8, identifier: UInt16) -> TextFault? {
    unwanted.handedOver(quality: quality, identifier: identifier)
  }

  /// Records payload bytes that passed unchecked.
  mutating func skip(_ count: Int) {
    offset += count
    rest -= count
    if rest == 0 { place = .end }
  }

  /// Validates the next bytes, at most to the end of the packet, and replaces characters that libmosquitto
  /// rejects.
  mutating func check(_ bytes: UnsafeMutableRawBufferPointer) -> Step {
    if dropped > 0 {
      let count = min(dropped, bytes.count)
      dropped -= count
      return .drop(count)
    }
    do throws(Violation) {
      var index = 0
      if rest == 0 {
        guard let header = unsafe try begin(UnsafeRawBufferPointer(bytes)) else { return .incomplete }
        if rest + header > limit {
          guard type == .publish, quality == 0 || version311 else {
            throw violation("\(rest + header) bytes exceed this side's limit of \(limit)")
          }
          droppedCount += 1
          dropped = rest
          rest = 0
          place = .end
          return .drop(header)
        }
        index = header
        offset = header
        if type == .publish { unwanted.began(quality) }
        if type == .publish, let plain = unsafe plainPublish(UnsafeRawBufferPointer(bytes), from: header) {
          advance(plain.size)
          index += plain.size
          place = rest == 0 ? .end : .payload
        }
      }
      let end = min(bytes.count, index + rest)
      while index < end {
        switch place {
        case .payload:
          skip(end - index)
          index = end
        case .topic, .text, .binary:
          let count = min(self.count, end - index)
          let text = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[index..<index + count])
          if place != .binary { unsafe try look(atText: text) }
          advance(count)
          self.count -= count
          index += count
          if self.count == 0 { try endText() }
        default:
          let byte = unsafe bytes[index]
          try look(at: byte)
          index += 1
        }
      }
      if rest == 0, place != .end { throw violation("it ends too early") }
      return .pass(index)
    } catch {
      return .refuse(error)
    }
  }

  // MARK: The fixed header

  /// Processes the fixed header of a packet. Returns the number of the header's bytes; nil if it is
  /// incomplete.
  private mutating func begin(_ bytes: UnsafeRawBufferPointer) throws(Violation) -> Int? {
    let header = unsafe try FixedHeader(bytes, version311: version311)
    guard let header else { return nil }
    type = header.type
    quality = header.quality
    // A violation that is found in the header is reported at offset 0.
    offset = 0
    guard isConnected || type == .connectAnswer else { throw violation("it came before CONNACK") }
    guard !isConnected || type != .connectAnswer else { throw violation("a second one") }
    offset = header.size - 1
    rest = header.length
    try start()
    return header.size
  }

  private func plainPublish(_ bytes: UnsafeRawBufferPointer, from start: Int) -> PlainPublish? {
    unsafe PlainPublish(
      UnsafeRawBufferPointer(rebasing: bytes[start...]), length: rest, quality: quality,
      version311: version311)
  }

  private mutating func start() throws(Violation) {
    (number, shift, seen) = (0, 0, 0)
    (identifier, fault) = (0, nil)
    switch type {
    case .publish:
      place = .topicLengthHigh
    case .connectAnswer:
      isConnected = true
      place = .flags
      if version311, rest != 2 { throw violation("it has \(rest) bytes instead of 2") }
    case .publishAcknowledged, .publishReceived, .publishRelease, .publishComplete:
      place = .identifierHigh
      if version311, rest != 2 { throw violation("it has \(rest) bytes instead of 2") }
    case .subscribeAnswer: place = .identifierHigh
    case .unsubscribeAnswer:
      place = .identifierHigh
      if version311, rest != 2 { throw violation("it has \(rest) bytes instead of 2") }
    case .pingAnswer:
      if rest != 0 { throw violation("it has \(rest) bytes instead of 0") }
      place = .end
    case .disconnect, .authentication: place = rest == 0 ? .end : .reason
    }
    if rest == 0, place != .end { throw violation("it is empty") }
  }

  // MARK: The rest

  private mutating func advance(_ count: Int) {
    offset += count
    rest -= count
    propertyRest -= count
  }

  private func violation(_ cause: String) -> Violation {
    Violation(packet: type.name, offset: offset, cause: cause)
  }

  private mutating func look(atText bytes: UnsafeMutableRawBufferPointer) throws(Violation) {
    for index in 0..<bytes.count {
      let byte = unsafe bytes[index]
      let fault: UTF8Check.Fault
      if isTopic, byte == UInt8(ascii: "#") || byte == UInt8(ascii: "+") {
        // RabbitMQ forwards the AMQP routing key `a.#` as the topic `a/#`.
        fault = UTF8Check.Fault(codePoint: UInt32(byte), replacement: UInt8(ascii: "?"))
      } else if let found = utf8.fault(at: byte, following: count - 1 - index) {
        fault = found
      } else {
        continue
      }
      if type == .publish {
        note(fault)
      } else if fault.codePoint == nil {
        advance(index)
        throw violation("invalid UTF-8")
      }
      unsafe bytes[index] = fault.replacement
    }
  }

  private mutating func note(_ fault: UTF8Check.Fault) {
    guard self.fault == nil else { return }
    let text = TextFault(codePoint: fault.codePoint, isInTopic: isMessageTopic)
    self.fault = text
    // The packet identifier follows the topic. For QoS 2 a fault in the topic is marked only after the
    // identifier was read.
    if quality < 2 || identifier > 0 { unwanted.mark(text, quality: quality, identifier: identifier) }
  }

  private mutating func look(at byte: UInt8) throws(Violation) {
    switch place {
    case .flags:
      if byte > 1 { throw violation("reserved bits") }
      connectFlags = byte
      place = .connectReason
    case .connectReason:
      if connectFlags == 1, byte != 0 { throw violation("session present in a refused connection") }
      if version311 {
        place = .end
      } else if rest == 1, byte == 1, connectFlags == 0 {
        // A broker that supports only 3.1.1 answers with return code 1, "unacceptable protocol version",
        // without properties.
        place = .end
      } else {
        place = .propertyLength
      }
    case .identifierHigh:
      identifierHigh = byte
      place = .identifierLow
    case .identifierLow:
      identifier = UInt16(identifierHigh) << 8 | UInt16(byte)
      if identifier == 0 { throw violation("packet identifier 0") }
      if type == .publish, quality == 2 {
        unwanted.restarted(identifier)
        if let fault { unwanted.mark(fault, quality: quality, identifier: identifier) }
      }
      placeAfterIdentifier()
    case .reason: place = rest == 1 ? .end : .propertyLength
    case .reasons: if rest == 1 { place = .end }
    case .version311Reasons:
      if byte > 2, byte != 0x80 { throw violation("return code \(byte)") }
      if rest == 1 { place = .end }
    case .topicLengthHigh, .lengthHigh:
      count = Int(byte) << 8
      place = place == .lengthHigh ? .lengthLow : .topicLengthLow
    case .topicLengthLow:
      count |= Int(byte)
      if count == 0 { throw violation("an empty topic name") }
      if count >= rest { throw violation("a topic name that is longer than the packet") }
      place = .topic
      (isTopic, isMessageTopic) = (true, true)
      utf8 = UTF8Check()
    default: return try lookInProperties(at: byte)
    }
    advance(1)
  }

  private mutating func placeAfterIdentifier() {
    switch type {
    // `rest` still includes the last byte of the identifier.
    case .publish: place = !version311 ? .propertyLength : rest == 1 ? .end : .payload
    case .subscribeAnswer: place = version311 ? .version311Reasons : .propertyLength
    case .unsubscribeAnswer: place = version311 ? .end : .propertyLength
    default: place = rest == 1 ? .end : .reason
    }
  }

  private mutating func placeAfterProperties() throws(Violation) {
    // `rest` still includes the current byte.
    let left = rest - 1
    switch type {
    case .publish: place = left == 0 ? .end : .payload
    case .subscribeAnswer, .unsubscribeAnswer: place = .reasons
    default:
      if left > 0 { throw violation("\(left) bytes after the properties") }
      place = .end
    }
  }

  private mutating func lookInProperties(at byte: UInt8) throws(Violation) {
    switch place {
    case .propertyLength:
      guard try hasContinuationByte(byte) else {
        propertyRest = Int(number) + 1
        if propertyRest > rest { throw violation("properties that are longer than the packet") }
        place = .property
        if propertyRest == 1 { try placeAfterProperties() }
        break
      }
    case .property: try beginProperty(byte)
    case .number:
      number = number << 8 | UInt64(byte)
      count -= 1
      if count == 0 { try endNumber() }
    case .variableInteger: if try !hasContinuationByte(byte) { try endNumber() }
    case .lengthLow:
      count |= Int(byte)
      if count > propertyRest - 1 { throw violation("a value that extends beyond the end of the properties") }
      utf8 = UTF8Check()
      (isTopic, isMessageTopic) = (property == .topic, false)
      place = property == .binary ? .binary : .text
      if count == 0 {
        advance(1)
        return try endText()
      }
    default: throw violation("unexpected trailing bytes")
    }
    advance(1)
  }

  /// Processes a byte of a variable byte integer. Returns true if more bytes follow.
  private mutating func hasContinuationByte(_ byte: UInt8) throws(Violation) -> Bool {
    if shift > 21 { throw violation("a number above four bytes") }
    number |= UInt64(byte & 127) << UInt64(shift)
    if byte & 128 != 0 {
      shift += 7
      return true
    }
    if shift > 0, byte == 0 { throw violation("an overlong number encoding") }
    return false
  }

  private mutating func beginProperty(_ identifier: UInt8) throws(Violation) {
    if identifier == 0x23 { throw violation("a topic alias, of which this side allows none") }
    guard let known = PacketProperty.known(identifier) else {
      throw violation("unknown property 0x\(String(identifier, radix: 16))")
    }
    guard known.packets & 1 << UInt16(type.rawValue) != 0 else {
      throw violation("property 0x\(String(identifier, radix: 16)) does not belong here")
    }
    if !known.mayRepeat, seen & 1 << UInt64(identifier) != 0 {
      throw violation("property 0x\(String(identifier, radix: 16)) twice")
    }
    seen |= 1 << UInt64(identifier)
    property = known.value
    number = 0
    shift = 0
    isSecondOfPair = false
    switch known.value {
    case .flag: (place, count) = (.number, 1)
    case .twoBytes, .nonzeroTwoBytes: (place, count) = (.number, 2)
    case .fourBytes, .nonzeroFourBytes: (place, count) = (.number, 4)
    case .variableInteger, .nonzeroVariableInteger: (place, count) = (.variableInteger, 1)
    case .text, .textPair, .binary, .topic: (place, count) = (.lengthHigh, 2)
    }
    if count > propertyRest - 1 { throw violation("a property that is longer than the properties") }
  }

  private mutating func endNumber() throws(Violation) {
    switch property {
    case .flag where number > 1: throw violation("\(number) where only 0 and 1 are allowed")
    case .nonzeroTwoBytes where number == 0, .nonzeroFourBytes where number == 0,
      .nonzeroVariableInteger where number == 0:
      throw violation("a limit of zero")
    default: break
    }
    try endProperty(propertyRest - 1)
  }

  /// Returns the state after a counted text or binary value.
  private mutating func endText() throws(Violation) {
    if place == .topic {
      place = quality > 0 ? .identifierHigh : !version311 ? .propertyLength : rest == 0 ? .end : .payload
      return
    }
    if property == .textPair, !isSecondOfPair {
      isSecondOfPair = true
      place = .lengthHigh
      if propertyRest < 2 { throw violation("an incomplete pair") }
      return
    }
    rest += 1
    defer { rest -= 1 }
    try endProperty(propertyRest)
  }

  private mutating func endProperty(_ left: Int) throws(Violation) {
    place = .property
    if left == 0 { try placeAfterProperties() }
  }
}
