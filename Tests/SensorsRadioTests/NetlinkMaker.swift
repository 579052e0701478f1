import SensorsRadio

/// Builds netlink messages in the kernel's format.
enum NetlinkMaker {
  static let family: UInt16 = 28

  static func bytes<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    withUnsafeBytes(of: number) { Array($0) }
  }

  static func padded(_ bytes: [UInt8]) -> [UInt8] {
    bytes + [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
  }

  static func attribute(_ type: UInt16, _ value: [UInt8]) -> [UInt8] {
    padded(bytes(UInt16(value.count + 4)) + bytes(type) + value)
  }

  static func message(type: UInt16, _ payload: [UInt8]) -> [UInt8] {
    padded(bytes(UInt32(payload.count + 16)) + bytes(type) + bytes(UInt16(2)) + bytes(UInt64(0)) + payload)
  }

  /// Returns an nl80211 message about an interface (attribute 3).
  static func event(command: UInt8, interface: UInt32, _ attributes: [UInt8] = []) -> [UInt8] {
    message(type: family, [command, 1, 0, 0] + attribute(3, bytes(interface)) + attributes)
  }

  /// Returns an information element with the name of a network.
  static func name(_ name: [UInt8]) -> [UInt8] { [0, UInt8(name.count)] + name }

  static func name(_ text: String) -> [UInt8] { name(Array(text.utf8)) }

  /// Returns an access point as in a dump of `NL80211_CMD_NEW_SCAN_RESULTS` (34), nested in attribute 47.
  static func accessPoint(
    _ address: [UInt8] = [0, 0x16, 0x3E, 1, 2, 3], signal: Int32 = -6150, age: UInt32 = 400,
    elements: [UInt8] = name("shop"), beaconElements: [UInt8]? = nil, more: [UInt8] = []
  ) -> [UInt8] {
    var station = attribute(1, address) + attribute(2, bytes(UInt32(2412))) + attribute(7, bytes(signal))
    station += attribute(10, bytes(age)) + attribute(6, elements)
    if let beaconElements { station += attribute(11, beaconElements) }
    return event(command: 34, interface: 4, attribute(47 | 0x8000, station + more))
  }
}
