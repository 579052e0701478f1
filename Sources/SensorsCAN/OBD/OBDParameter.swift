/// Parameters of OBD-II (SAE J1979, ISO 15031-5), service 01, that the signals of `VehicleSignal` need.
package struct OBDParameter: Hashable, Sendable {
  /// The parameter's identifier (PID).
  var identifier: UInt8
  var path: String
  /// Number of bytes, most significant first.
  var length: Int
  var factor: Double
  var offset = 0.0
  /// Interval in s between requests.
  var interval: Double

  static let all: [OBDParameter] = [
    OBDParameter(
      identifier: 0x05, path: "Vehicle.Powertrain.CombustionEngine.ECT", length: 1, factor: 1, offset: -40,
      interval: 10),
    OBDParameter(identifier: 0x0C, path: VehicleSignal.engineSpeed, length: 2, factor: 0.25, interval: 1),
    OBDParameter(identifier: 0x0D, path: VehicleSignal.speed, length: 1, factor: 1, interval: 0.2),
    OBDParameter(identifier: 0x1F, path: "Vehicle.OBD.RunTime", length: 2, factor: 1, interval: 10),
    OBDParameter(
      identifier: 0x2F, path: "Vehicle.Powertrain.FuelSystem.RelativeLevel", length: 1, factor: 100.0 / 255,
      interval: 10),
    OBDParameter(
      identifier: 0x31, path: "Vehicle.OBD.DistanceSinceDTCClear", length: 2, factor: 1, interval: 10),
    OBDParameter(identifier: 0x42, path: VehicleSignal.voltage, length: 2, factor: 0.001, interval: 10),
    OBDParameter(identifier: 0x5E, path: "Vehicle.OBD.FuelRate", length: 2, factor: 0.05, interval: 2),
    OBDParameter(identifier: 0xA6, path: "Vehicle.TraveledDistance", length: 4, factor: 0.1, interval: 10),
  ]

  static let byIdentifier: [UInt8: OBDParameter] = Dictionary(
    uniqueKeysWithValues: all.map { ($0.identifier, $0) })

  static let engineSpeed: UInt8 = 0x0C
  static let voltage: UInt8 = 0x42
}

/// Addressing of requests and answers (ISO 15765-4).
public enum OBDAddressing: String, Hashable, Sendable, CaseIterable {
  /// Requests to 7DF, answers from 7E8 ... 7EF.
  case standard = "11-bit"
  /// Requests to 18DB33F1, answers from 18DAF100 ... 18DAF1FF.
  case extended = "29-bit"

  /// Identifier of a request to all control units.
  var request: CANFrame.Identifier {
    switch self {
    case .standard: CANFrame.Identifier(0x7DF)
    case .extended: CANFrame.Identifier(0x18DB_33F1, isExtended: true)
    }
  }

  package var answers: CANFilter {
    switch self {
    case .standard: CANFilter(CANFrame.Identifier(0x7E8), mask: 0x7F8)
    case .extended:
      CANFilter(CANFrame.Identifier(0x18DA_F100, isExtended: true), mask: 0x1FFF_FF00)
    }
  }

  /// Returns the identifier for requests to a single control unit, from the identifier of its answer.
  package func unit(answering identifier: CANFrame.Identifier) -> CANFrame.Identifier {
    switch self {
    case .standard: CANFrame.Identifier(identifier.rawValue &- 8)
    case .extended:
      CANFrame.Identifier(0x18DA_00F1 | (identifier.rawValue & 0xFF) << 8, isExtended: true)
    }
  }
}

/// An answer of a control unit.
package enum OBDAnswer: Hashable, Sendable {
  /// A parameter of service 01 with its value in the parameter's unit.
  case value(OBDParameter, Double)
  /// The vehicle identification number: 17 letters and digits.
  case identification(String)
  /// The unit rejects a service.
  case refusal(service: UInt8)

  /// The request for the vehicle identification number: service 09, identifier 02.
  static let identificationRequest: [UInt8] = [0x09, 0x02]

  /// Decodes an answer. Nil for data that was never requested, and for data that is too short.
  package init?(_ message: some RandomAccessCollection<UInt8>) {
    let bytes = Array(message.prefix(32))
    switch bytes.first {
    case 0x41 where bytes.count >= 2:
      guard let parameter = OBDParameter.byIdentifier[bytes[1]], bytes.count >= 2 + parameter.length else {
        return nil
      }
      let raw = bytes[2...].prefix(parameter.length).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      self = .value(parameter, Double(raw) * parameter.factor + parameter.offset)
    case 0x49 where bytes.count >= 20 && bytes[1] == 0x02:
      // Byte 2 is the number of data items. After it comes the identification number, which some units pad
      // with leading zeros.
      guard let text = VehicleIdentification.text(bytes[3...]) else { return nil }
      self = .identification(text)
    case 0x7F where bytes.count >= 3: self = .refusal(service: bytes[1])
    default: return nil
    }
  }
}

/// The vehicle identification number of ISO 3779.
enum VehicleIdentification {
  /// Returns the number; nil unless the data contains 17 letters and digits besides padding.
  static func text(_ bytes: some Sequence<UInt8>) -> String? {
    let text = bytes.filter { $0 != 0 && $0 != 0x20 && $0 != 0xFF && $0 != UInt8(ascii: "*") }
    guard text.count == 17, text.allSatisfy({ (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) })
    else {
      return nil
    }
    return String(decoding: text, as: UTF8.self)
  }
}
