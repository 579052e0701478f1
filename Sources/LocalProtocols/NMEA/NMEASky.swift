internal import Sensors

/// The satellites of an epoch in the numbering of NMEA 0183, by system.
struct NMEASky {
  /// A system of satellites: its talker, and its number in GSA (NMEA 0183 version 4.11).
  private struct System: Hashable {
    let talker: String
    let identifier: Int

    static let gps = System(talker: "GP", identifier: 1)
    static let glonass = System(talker: "GL", identifier: 2)
    static let galileo = System(talker: "GA", identifier: 3)
    static let beiDou = System(talker: "GB", identifier: 4)
    static let qzss = System(talker: "GQ", identifier: 5)
    static let navIC = System(talker: "GI", identifier: 6)

    static let all = [gps, glonass, galileo, beiDou, qzss, navIC]
  }

  /// Maximum number of satellites in a GSA, in a GSV, and in all GSV of a system, whose number has one digit.
  static let groupSize = 12
  private static let viewSize = 4
  private static let viewLimit = 9 * viewSize

  /// Satellites used of one system, at most `groupSize`.
  struct Group: Hashable {
    /// Number of the system in GSA.
    var system: Int
    var numbers: [Int]
  }

  let dilution: DilutionOfPrecision
  private let satellites: [(system: System, number: Int, satellite: Satellite)]

  init(_ sky: SatelliteSky) {
    dilution = sky.dilution
    satellites = sky.satellites.prefix(SatelliteSky.limit).compactMap { satellite in
      Self.numbered(satellite).map { ($0.system, $0.number, satellite) }
    }
  }

  /// The satellites that the fix uses.
  var used: [Group] {
    System.all.flatMap { system in
      let numbers = satellites.filter { $0.system == system && $0.satellite.isUsed }.map(\.number)
      return stride(from: 0, to: numbers.count, by: Self.groupSize).map { start in
        Group(
          system: system.identifier,
          numbers: Array(numbers[start..<min(start + Self.groupSize, numbers.count)]))
      }
    }
  }

  /// Appends the sentences of the satellites in view (GSV).
  func writeInView(into bytes: inout [UInt8]) {
    for system in System.all {
      let inView = satellites.filter { $0.system == system }.prefix(Self.viewLimit)
      let count = (inView.count + Self.viewSize - 1) / Self.viewSize
      for index in 0..<count {
        var line = NMEALine(talker: system.talker, .gsv)
        line.digits(count, width: 1)
        line.digits(index + 1, width: 1)
        line.digits(inView.count, width: 2)
        for (_, number, satellite) in inView.dropFirst(index * Self.viewSize).prefix(Self.viewSize) {
          line.digits(number, width: 2)
          line.digits(satellite.elevation.flatMap { Self.whole($0, in: 0...90) }, width: 2)
          line.digits(satellite.azimuth.flatMap { Self.whole($0, in: 0...360) }.map { $0 % 360 }, width: 3)
          line.digits(satellite.signal.flatMap { Self.whole($0, in: 0...99) }, width: 2)
        }
        line.finish(into: &bytes)
      }
    }
  }

  /// Returns the rounded number; nil if it is not in the range.
  private static func whole(_ number: Double, in range: ClosedRange<Int>) -> Int? {
    let rounded = number.rounded()
    guard rounded >= Double(range.lowerBound), rounded <= Double(range.upperBound) else { return nil }
    return Int(rounded)
  }

  /// Returns a satellite's system and its number in NMEA 0183. Nil if it has none of two digits.
  private static func numbered(_ satellite: Satellite) -> (system: System, number: Int)? {
    guard let system = satellite.system, let number = satellite.number else {
      // gpsd's numbers without a system are those of NMEA 0183 before version 4.10.
      return switch satellite.identifier {
      case 1...64: (.gps, satellite.identifier)
      case 65...96: (.glonass, satellite.identifier)
      case 193...200: (.qzss, satellite.identifier - 192)
      case 201...263: (.beiDou, satellite.identifier - 200)
      case 301...336: (.galileo, satellite.identifier - 300)
      default: nil
      }
    }
    return switch (system, number) {
    case (.gps, 1...32): (.gps, number)
    case (.sbas, 120...151): (.gps, number - 87)
    case (.glonass, 1...32): (.glonass, number + 64)
    case (.galileo, 1...36): (.galileo, number)
    case (.beiDou, 1...63): (.beiDou, number)
    case (.qzss, 1...10): (.qzss, number)
    case (.navIC, 1...14): (.navIC, number)
    default: nil
    }
  }
}
