/// Parameters of SAE J1939-71 that the signals of `VehicleSignal` need, by the group that carries them.
struct J1939Parameter: Hashable, Sendable {
  /// The parameter group's number (PGN).
  var group: UInt32
  var path: String
  /// Index of the first byte, from 0.
  var byte: Int
  /// Number of bytes, least significant first.
  var length: Int
  var factor: Double
  var offset = 0.0
  /// Preference among parameter groups with the same signal: the group with the lowest rank that is received
  /// is used.
  var rank = 0

  static let all: [J1939Parameter] = [
    // CCVS1, wheel-based vehicle speed (SPN 84), 1/256 km/h.
    J1939Parameter(group: 65_265, path: VehicleSignal.speed, byte: 1, length: 2, factor: 1.0 / 256),
    // TCO1, tachograph vehicle speed (SPN 1624).
    J1939Parameter(group: 65_132, path: VehicleSignal.speed, byte: 6, length: 2, factor: 1.0 / 256, rank: 1),
    // VDHR, high resolution total vehicle distance (SPN 917), 5 m; VD, total vehicle distance (SPN 245), 125 m.
    J1939Parameter(group: 65_217, path: "Vehicle.TraveledDistance", byte: 0, length: 4, factor: 0.005),
    J1939Parameter(
      group: 65_248, path: "Vehicle.TraveledDistance", byte: 4, length: 4, factor: 0.125, rank: 1),
    // EEC1, engine speed (SPN 190), 1/8 rpm.
    J1939Parameter(group: 61_444, path: VehicleSignal.engineSpeed, byte: 3, length: 2, factor: 0.125),
    // ETC2, transmission current gear (SPN 523): negative in reverse, 0 neutral.
    J1939Parameter(
      group: 61_445, path: "Vehicle.Powertrain.Transmission.CurrentGear", byte: 3, length: 1, factor: 1,
      offset: -125),
    // DD, fuel level 1 (SPN 96), 0.4 %.
    J1939Parameter(
      group: 65_276, path: "Vehicle.Powertrain.FuelSystem.RelativeLevel", byte: 1, length: 1, factor: 0.4),
    // LFE1, engine fuel rate (SPN 183), 0.05 l/h.
    J1939Parameter(group: 65_266, path: "Vehicle.OBD.FuelRate", byte: 0, length: 2, factor: 0.05),
    // VEP1, battery potential at the power input (SPN 168), 0.05 V.
    J1939Parameter(group: 65_271, path: VehicleSignal.voltage, byte: 4, length: 2, factor: 0.05),
    // ET1, engine coolant temperature (SPN 110).
    J1939Parameter(
      group: 65_262, path: "Vehicle.Powertrain.CombustionEngine.ECT", byte: 0, length: 1, factor: 1,
      offset: -40),
  ]

  /// Parameter group of the vehicle identification (SPN 237), a text that ends with an asterisk and requires
  /// several frames.
  static let identification: UInt32 = 65_260

  /// Returns the value; `.some(nil)` if the vehicle reports that it has no value, nil if the data is too
  /// short. J1939-71 reserves the highest values of each length for "not available" (all ones), "error" and
  /// other special meanings. A value is valid if its highest byte is at most FA.
  func value(in data: some RandomAccessCollection<UInt8>) -> Double?? {
    guard byte + length <= data.count else { return nil }
    let start = data.index(data.startIndex, offsetBy: byte)
    let bytes = data[start...].prefix(length)
    guard let highest = bytes.last, highest <= 0xFA else { return .some(nil) }
    let raw = bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return Double(raw) * factor + offset
  }
}

/// Components of a 29-bit identifier in J1939-21.
package struct J1939Identifier: Hashable, Sendable {
  /// The parameter group's number (PGN), without the destination.
  package var group: UInt32
  /// Address of the sender.
  package var source: UInt8
  /// Address of the destination; nil for all.
  package var destination: UInt8?

  /// Splits a 29-bit identifier into its components. Nil for 11-bit identifiers, and for those of ISO 15765
  /// (extended data page).
  package init?(_ identifier: CANFrame.Identifier) {
    guard identifier.isExtended, identifier.rawValue & 0x0200_0000 == 0 else { return nil }
    source = UInt8(truncatingIfNeeded: identifier.rawValue)
    let format = UInt8(truncatingIfNeeded: identifier.rawValue >> 16)
    let group = identifier.rawValue >> 8 & 0x3_FFFF
    let specific = UInt8(truncatingIfNeeded: identifier.rawValue >> 8)
    // Formats below 240 have a destination, which is in the next byte.
    self.group = format < 240 ? group & 0x3_FF00 : group
    destination = format < 240 && specific != 255 ? specific : nil
  }

  /// Returns the group of an identifier with the null address FE as sender; nil for other senders. No unit
  /// has that address: in DBC files it stands for any sender.
  static func groupOfAnySender(_ identifier: CANFrame.Identifier) -> UInt32? {
    guard let parts = J1939Identifier(identifier), parts.source == 0xFE else { return nil }
    return parts.group
  }

  /// Returns a filter for frames of a group, with any sender and priority.
  package static func filter(group: UInt32) -> CANFilter {
    let isToOne = (group >> 8) & 0xFF < 240
    return CANFilter(
      CANFrame.Identifier(group << 8, isExtended: true), mask: isToOne ? 0x03FF_0000 : 0x03FF_FF00)
  }
}
