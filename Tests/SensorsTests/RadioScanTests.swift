import Sensors
import Spatial
import Testing

@Suite struct RadioScanTests {
  /// A MAC address, and true if it permanently belongs to one device.
  @Test(
    arguments: [
      (0x00_11_22_33_44_55, true), (0xfc_ff_ff_ff_ff_ff, true), (0, false), (0x02_11_22_33_44_55, false),
      (0x01_00_5e_00_00_01, false), (0xff_ff_ff_ff_ff_ff, false), (1 << 48, false),
    ] as [(UInt64, Bool)])
  func anAccessPointRequiresAUniversalAddress(address: UInt64, isTaken: Bool) {
    let beacon = Beacon(accessPoint: address)
    #expect((beacon != nil) == isTaken)
    #expect(beacon?.address == (isTaken ? address : nil))
    #expect(beacon.map { Beacon(rawValue: $0.rawValue) == $0 } ?? true)
  }

  @Test func cellsNeverCollide() throws {
    var generator = SystemRandomNumberGenerator()
    var cells: [Beacon: [UInt64]] = [:]
    let bits: [(Beacon.Technology, UInt64)] = [(.gsm, 16), (.umts, 28), (.lte, 28), (.nr, 36)]
    for _ in 0..<20_000 {
      let (technology, width) = bits[Int.random(in: 0..<4, using: &generator)]
      let country = UInt64.random(in: 1...999, using: &generator)
      let network = UInt64.random(in: 0...999, using: &generator)
      let area = technology == .gsm ? UInt64.random(in: 1...0xfffe, using: &generator) : 0
      let number = UInt64.random(in: 0..<(1 << width - 1), using: &generator)
      let cell = try #require(
        Beacon(technology, country: country, network: network, area: area, cell: number))
      let parts = [technology.rawValue, country, network, area, number]
      #expect(cells.updateValue(parts, forKey: cell) ?? parts == parts)
      #expect(cell.technology == technology && cell.address == nil)
    }
  }

  @Test(
    arguments: [
      (.lte, 0, 1, 0, 5), (.lte, 1000, 1, 0, 5), (.lte, 262, 1000, 0, 5), (.lte, 262, 1, 0, 0xfff_ffff),
      (.gsm, 262, 1, 0, 5), (.gsm, 262, 1, 0xffff, 5), (.gsm, 262, 1, 7, 0xffff), (.wifi, 262, 1, 0, 5),
      (.nr, 262, 1, 0, 1 << 36),
    ] as [(Beacon.Technology, UInt64, UInt64, UInt64, UInt64)])
  func numbersOutOfRangeAreNoCells(
    technology: Beacon.Technology, country: UInt64, network: UInt64, area: UInt64, cell: UInt64
  ) {
    #expect(Beacon(technology, country: country, network: network, area: area, cell: cell) == nil)
  }

  /// A scan with Wi-Fi and cells contains only the requested kinds.
  @Test func scansContainOnlyDemandedKinds() throws {
    let sightings = [
      BeaconSighting(beacon: try #require(Beacon(accessPoint: 0x00_11_22_33_44_55)), signal: -60),
      BeaconSighting(beacon: try #require(Beacon(.lte, country: 262, network: 1, cell: 5)), signal: -90),
    ]
    let event = SensorEvent.radio([RadioScan(timestamp: Timestamp(nanoseconds: 1), sightings: sightings)])
    #expect(
      event.count(of: .wifi) == 1 && event.count(of: .cellular) == 1 && event.count(of: .positioning) == 0)
    var filter = DemandFilter()
    #expect(filter.admit(event) == event)
    filter.setDemand(.off, for: .wifi)
    guard case .radio(let rest) = filter.admit(event) else {
      Issue.record("no scan is left")
      return
    }
    #expect(rest.map(\.sightings) == [[sightings[1]]])
    filter.setDemand(.off, for: .cellular)
    #expect(filter.admit(event) == nil)
  }
}
