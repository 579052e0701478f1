public import Spatial

/// What was heard of the transmitters around, at one moment.
///
/// Names of networks never get here: a driver leaves out what its owner does not want mapped, and then the name.
public struct RadioScan: Hashable, Sendable {
  /// When the scan ended.
  public var timestamp: Timestamp
  /// In no order; no beacon twice.
  public var sightings: [BeaconSighting]
  /// Access points whose networks are on no map by their owner's will: hidden, or named so. Whoever has them on a map takes them off it.
  public var optedOut: [Beacon] = []
  /// Which radio was asked, also where it heard nothing; nil where only the sightings tell.
  public var kind: SensorKind?
  /// Seconds for which the radio worked for it: 0 when it was not asked for its sake, nil when that is not known.
  public var duration: Double?
  /// No for a scan that was broken off because nobody wanted it any more: it tells what it cost, and nothing of what is around.
  public var isComplete: Bool

  public init(
    timestamp: Timestamp, sightings: [BeaconSighting], kind: SensorKind? = nil, duration: Double? = nil,
    isComplete: Bool = true
  ) {
    self.timestamp = timestamp
    self.sightings = sightings
    self.kind = kind
    self.duration = duration
    self.isComplete = isComplete
  }

  /// Whether a kind of sensor has a part in it.
  package func contains(_ kind: SensorKind) -> Bool {
    self.kind == kind
      || sightings.contains { $0.beacon.technology.isCell ? kind == .cellular : kind == .wifi }
  }
}

/// One transmitter as it was heard.
public struct BeaconSighting: Hashable, Sendable {
  public var beacon: Beacon
  /// dBm, as received; nil when the radio does not say.
  public var signal: Double?
  /// Seconds between when it was last heard and the scan's `timestamp`.
  public var age: Double
  /// Metres from the transmitter by the time that the signal takes (a cell's timing advance); nil where there is none.
  public var distance: Double?
  /// Whether it is the cell that serves the modem.
  public var isServing: Bool

  public init(
    beacon: Beacon, signal: Double?, age: Double = 0, distance: Double? = nil, isServing: Bool = false
  ) {
    self.beacon = beacon
    self.signal = signal
    self.age = age
    self.distance = distance
    self.isServing = isServing
  }
}

/// A transmitter's identity, exact in 64 bits: in the highest four what it is, below that its address or its cell's number.
public struct Beacon: Hashable, Sendable, Comparable {
  public enum Technology: UInt64, Hashable, Sendable, CaseIterable {
    case wifi = 1
    case gsm
    case umts
    case lte
    case nr

    public var isCell: Bool { self != .wifi }
  }

  public let rawValue: UInt64

  /// - Parameter rawValue: as from `rawValue`; nil for what is no beacon's.
  public init?(rawValue: UInt64) {
    guard Technology(rawValue: rawValue >> 60) != nil else { return nil }
    self.rawValue = rawValue
  }

  /// An access point; nil for an address that is not of 48 bits, is a group's, locally administered or zero, because such
  /// an address is not one device's for good.
  public init?(accessPoint address: UInt64) {
    guard address > 0, address < 1 << 48, address >> 40 & 0b11 == 0 else { return nil }
    rawValue = Technology.wifi.rawValue << 60 | address
  }

  /// A cell of a mobile network.
  /// - Parameters:
  ///   - country: the mobile country code, 1 ... 999.
  ///   - network: the mobile network code, 0 ... 999.
  ///   - area: GSM's location area, of 16 bits; other technologies' cells have numbers of their own in a network, and no area.
  ///   - cell: 16 bits with GSM, 28 with UMTS and LTE, 36 with NR.
  /// - Returns: nil for a number out of its range; all ones stand for "unknown" and are out of it.
  public init?(_ technology: Technology, country: UInt64, network: UInt64, area: UInt64 = 0, cell: UInt64) {
    let bits: UInt64 =
      switch technology {
      case .wifi: 0
      case .gsm: 16
      case .umts, .lte: 28
      case .nr: 36
      }
    guard technology.isCell, (1...999).contains(country), network <= 999, cell < 1 << bits - 1 else {
      return nil
    }
    guard technology != .gsm || (1..<0xffff).contains(area) else { return nil }
    let number = technology == .gsm ? area << 16 | cell : cell
    rawValue = technology.rawValue << 60 | country << 50 | network << 40 | number
  }

  public var technology: Technology { Technology(rawValue: rawValue >> 60) ?? .wifi }

  /// Of an access point; nil for a cell.
  public var address: UInt64? { technology == .wifi ? rawValue & (1 << 48 - 1) : nil }

  public static func < (a: Beacon, b: Beacon) -> Bool { a.rawValue < b.rawValue }
}
