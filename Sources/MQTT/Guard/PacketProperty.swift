/// A property of MQTT 5 (section 2.2.2.2): the encoding of its value, and the broker packets in which it is
/// allowed.
struct PacketProperty {
  enum Value: UInt8 {
    /// One byte, 0 or 1.
    case flag
    case twoBytes, fourBytes, variableInteger, text, textPair, binary
    /// A value for which zero is a protocol error.
    case nonzeroTwoBytes, nonzeroFourBytes, nonzeroVariableInteger
    /// Text that is a topic name.
    case topic
  }

  var value: Value
  /// Bit set of packet types.
  var packets: UInt16
  var mayRepeat = false

  /// Returns a property by its identifier; nil if it is undefined or only a client may send it.
  static func known(_ identifier: UInt8) -> PacketProperty? {
    identifier < table.count ? table[Int(identifier)] : nil
  }

  private static let table: [PacketProperty?] = {
    var table = [PacketProperty?](repeating: nil, count: 0x2B)
    func set(_ identifier: Int, _ value: Value, _ packets: [PacketType], mayRepeat: Bool = false) {
      table[identifier] = PacketProperty(
        value: value, packets: packets.reduce(0) { $0 | 1 << UInt16($1.rawValue) }, mayRepeat: mayRepeat)
    }
    set(0x01, .flag, [.publish])
    set(0x02, .fourBytes, [.publish])
    set(0x03, .text, [.publish])
    set(0x08, .topic, [.publish])
    set(0x09, .binary, [.publish])
    set(0x0B, .nonzeroVariableInteger, [.publish], mayRepeat: true)
    set(0x11, .fourBytes, [.connectAnswer])
    set(0x12, .text, [.connectAnswer])
    set(0x13, .twoBytes, [.connectAnswer])
    set(0x15, .text, [.connectAnswer])
    set(0x16, .binary, [.connectAnswer])
    set(0x1A, .text, [.connectAnswer])
    set(0x1C, .text, [.connectAnswer, .disconnect])
    let answers: [PacketType] = [
      .connectAnswer, .publishAcknowledged, .publishReceived, .publishRelease, .publishComplete,
      .subscribeAnswer, .unsubscribeAnswer, .disconnect,
    ]
    set(0x1F, .text, answers)
    set(0x21, .nonzeroTwoBytes, [.connectAnswer])
    set(0x22, .twoBytes, [.connectAnswer])
    set(0x24, .flag, [.connectAnswer])
    set(0x25, .flag, [.connectAnswer])
    set(0x26, .textPair, answers + [.publish], mayRepeat: true)
    set(0x27, .nonzeroFourBytes, [.connectAnswer])
    set(0x28, .flag, [.connectAnswer])
    set(0x29, .flag, [.connectAnswer])
    set(0x2A, .flag, [.connectAnswer])
    return table
  }()
}

/// The packet types of section 2.1.2.
enum PacketType: UInt8 {
  case connectAnswer = 2
  case publish, publishAcknowledged, publishReceived, publishRelease, publishComplete
  case subscribeAnswer = 9
  case unsubscribeAnswer = 11
  case pingAnswer = 13
  case disconnect, authentication

  var name: String {
    switch self {
    case .connectAnswer: "CONNACK"
    case .publish: "PUBLISH"
    case .publishAcknowledged: "PUBACK"
    case .publishReceived: "PUBREC"
    case .publishRelease: "PUBREL"
    case .publishComplete: "PUBCOMP"
    case .subscribeAnswer: "SUBACK"
    case .unsubscribeAnswer: "UNSUBACK"
    case .pingAnswer: "PINGRESP"
    case .disconnect: "DISCONNECT"
    case .authentication: "AUTH"
    }
  }
}
