internal import Bytes
internal import Sensors

/// Bit encoding of beacons in order of their identities. Access points are ascending numbers of the 46 bits
/// that are free in a device address. Cells are encoded as network and number; the network is omitted if it
/// equals that of the previous cell.
struct BeaconList {
  /// Width in bits of the number of access points, and of the number of cells.
  let (pointsWidth, cellsWidth): (Int, Int)

  /// Length in bits of an access point's address without the two bits that are always zero.
  private static let addressWidth = 46
  private static let numberWidth = 40
  private static let numberMask = UInt64(1) << 40 - 1

  /// Maximum number of access points, and of cells.
  var limits: (points: Int, cells: Int) { (1 << pointsWidth - 1, 1 << cellsWidth - 1) }

  /// - Parameter beacons: sorted beacons without duplicates, all of which are `isWellFormed`. Their numbers
  ///   do not exceed `limits`.
  func write(_ beacons: [Beacon], to bits: inout BitWriter) {
    let points = beacons.compactMap(\.address)
    let cells = beacons.filter(\.technology.isCell)
    bits.append(UInt64(points.count), pointsWidth)
    bits.append(UInt64(cells.count), cellsWidth)
    bits.append(
      growing: points.map { ($0 >> 42) << 40 | $0 & Self.numberMask }, width: Self.addressWidth)
    var network: UInt64?
    for cell in cells {
      let own = cell.rawValue >> 40
      if network != nil { bits.append(own == network ? 1 : 0, 1) }
      // Of the 64 bits of an identity, four contain the technology. For cells, three of these are sufficient.
      if own != network { bits.append(own, 23) }
      bits.append(cell.rawValue & Self.numberMask, Self.numberWidth)
      network = own
    }
  }

  /// - Returns: the beacons that were passed to `write`; nil for bits that `write` cannot have produced.
  func read(from bits: inout BitReader) -> [Beacon]? {
    guard let pointCount = bits.next(pointsWidth), let cellCount = bits.next(cellsWidth),
      let points = bits.growing(count: Int(pointCount), width: Self.addressWidth)
    else { return nil }
    var beacons: [Beacon] = []
    for point in points {
      let address = (point >> 40) << 42 | point & Self.numberMask
      guard let beacon = Beacon(accessPoint: address) else { return nil }
      beacons.append(beacon)
    }
    var network: UInt64?
    for _ in 0..<cellCount {
      var isSame = false
      if network != nil {
        guard let flag = bits.next(1) else { return nil }
        isSame = flag == 1
      }
      if !isSame {
        guard let own = bits.next(23) else { return nil }
        network = own
      }
      guard let network, let number = bits.next(Self.numberWidth),
        let beacon = Beacon(rawValue: network << 40 | number), beacon.isWellFormed, beacon.technology.isCell,
        beacons.last.map({ $0 < beacon }) ?? true
      else { return nil }
      beacons.append(beacon)
    }
    return beacons
  }
}

extension Beacon {
  /// True if an initializer can produce this value from numbers within their ranges. Some 64-bit numbers are
  /// not beacons.
  var isWellFormed: Bool {
    let number = rawValue & (1 << 60 - 1)
    guard technology.isCell else { return Beacon(accessPoint: number) == self }
    let cell = number & (1 << 40 - 1)
    let isGSM = technology == .gsm
    return Beacon(
      technology, country: number >> 50, network: number >> 40 & 0x3ff, area: isGSM ? cell >> 16 : 0,
      cell: isGSM ? cell & 0xffff : cell) == self
  }
}
