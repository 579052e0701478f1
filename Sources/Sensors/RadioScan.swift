public import Spatial

/// The radio transmitters received at one time.
///
/// A scan never contains network names: the driver removes networks whose owners opted out of mapping, and
/// then the names.
public struct RadioScan: Hashable, Sendable {
  /// The end of the scan.
  public var timestamp: Timestamp
  /// The sightings, unordered, at most one per beacon.
  public var sightings: [BeaconSighting]
  /// Access points whose owners opted out of mapping by a hidden or marked network name. Every stored map
  /// must remove these access points.
  public var optedOut: [Beacon] = []
  /// The radio that made the scan, even if it received nothing. If nil, only the sightings show which radio
  /// it was.
  public var kind: SensorKind?
  /// The time in s for which the radio was active: 0 if the scan was not requested by the agent, nil if
  /// unknown.
  public var duration: Double?
  /// False for a scan that was aborted because it was no longer required. Its `duration` is valid, but the
  /// sightings do not describe the surroundings.
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

  /// Returns whether a kind of sensor contributed to the scan.
  package func contains(_ kind: SensorKind) -> Bool {
    self.kind == kind
      || sightings.contains { $0.beacon.technology.isCell ? kind == .cellular : kind == .wifi }
  }
}

/// A received transmitter.
public struct BeaconSighting: Hashable, Sendable {
  public var beacon: Beacon
  /// Received signal strength in dBm; nil if not reported.
  public var signal: Double?
  /// Seconds between the last reception and the scan's `timestamp`.
  public var age: Double
  /// Distance to the transmitter in m by signal propagation time (the timing advance of a cell); nil if
  /// unknown.
  public var distance: Double?
  /// True for the serving cell of the modem.
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

/// The identity of a transmitter in 64 bits: the technology in the highest four, then the address or the
/// cell's numbers.
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

  /// Creates a beacon.
  ///
  /// - Parameter rawValue: the `rawValue` of a beacon; nil is returned for an invalid number.
  public init?(rawValue: UInt64) {
    guard Technology(rawValue: rawValue >> 60) != nil else { return nil }
    self.rawValue = rawValue
  }

  /// Creates an access point. Nil for an address of more than 48 bits, and for zero, group and locally
  /// administered addresses, which do not permanently identify one device.
  public init?(accessPoint address: UInt64) {
    guard address > 0, address < 1 << 48, address >> 40 & 0b11 == 0 else { return nil }
    rawValue = Technology.wifi.rawValue << 60 | address
  }

  /// Creates a cell of a mobile network.
  /// - Parameters:
  ///   - country: the mobile country code, 1 ... 999.
  ///   - network: the mobile network code, 0 ... 999.
  ///   - area: the location area of GSM, 16 bits; cells of other technologies have unique numbers in a
  ///     network, and no area.
  ///   - cell: 16 bits for GSM, 28 for UMTS and LTE, 36 for NR.
  /// - Returns: nil for a number out of range; a number of all ones means "unknown" and is out of range.
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

  /// The address of an access point; nil for a cell.
  public var address: UInt64? { technology == .wifi ? rawValue & (1 << 48 - 1) : nil }

  public static func < (a: Beacon, b: Beacon) -> Bool { a.rawValue < b.rawValue }
}
