import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

@testable import SensorsRadio

/// Valid and damaged nl80211 messages.
@Suite struct NetlinkScanTests {
  private static let now = Timestamp(seconds: 1000)

  private func decode(_ datagram: [UInt8]) -> [NetlinkScan] {
    NetlinkScan.decode(datagram, family: NetlinkMaker.family, now: Self.now)
  }

  private func sightings(_ datagram: [UInt8]) -> [BeaconSighting] {
    decode(datagram).compactMap { if case .heard(let sighting) = $0 { sighting } else { nil } }
  }

  @Test func anAccessPointIsReportedWithSignalAndAge() throws {
    let sighting = try #require(sightings(NetlinkMaker.accessPoint()).first)
    #expect(sighting.beacon.address == 0x0016_3E01_0203)
    #expect(
      sighting.signal == -61.5 && sighting.age == 0.4 && !sighting.isServing && sighting.distance == nil)
    // The kernel's time stamp, if present, takes precedence over the age in milliseconds.
    let stamped = NetlinkMaker.accessPoint(
      more: NetlinkMaker.attribute(15, NetlinkMaker.bytes(UInt64(988_000_000_000))))
    #expect(sightings(stamped).first?.age == 12)
    let early = NetlinkMaker.accessPoint(
      more: NetlinkMaker.attribute(15, NetlinkMaker.bytes(UInt64(1_001_000_000_000))))
    #expect(sightings(early).first?.age == 0)
  }

  @Test func oldAndLocallyAdministeredAreOmitted() {
    #expect(sightings(NetlinkMaker.accessPoint(age: 60_001)).isEmpty)
    for address: [UInt8] in [
      [2, 0, 0, 0, 0, 1], [1, 0, 0x5E, 0, 0, 1], [0, 0, 0, 0, 0, 0], [0, 0x16, 0x3E, 1, 2], [],
      [0, 0x16, 0x3E, 1, 2, 3, 4],
    ] {
      #expect(sightings(NetlinkMaker.accessPoint(address)).isEmpty, "\(address)")
    }
    #expect(sightings(NetlinkMaker.accessPoint(signal: 9000)).first?.signal == nil)
    #expect(sightings(NetlinkMaker.accessPoint(signal: 9000)).count == 1)
  }

  @Test func optOutsInNamesAreRespected() {
    func isTold(_ elements: [UInt8], beacon: [UInt8]? = nil) -> Bool {
      !sightings(NetlinkMaker.accessPoint(elements: elements, beaconElements: beacon)).isEmpty
    }
    let name = { (text: String) in NetlinkMaker.name(text) }
    #expect(
      isTold(name("shop")) && isTold(name("nomap")) && isTold(name("_nomap_shop")) && isTold(name("_noma")))
    #expect(!isTold(name("shop_nomap")) && !isTold(name("_NoMap")) && !isTold(name("a_optout_b")))
    #expect(!isTold(name("")) && !isTold(NetlinkMaker.name([0, 0, 0])))
    #expect(isTold(NetlinkMaker.name((0..<32).map { UInt8(truncatingIfNeeded: $0 * 37 + 201) })))
    // No name, a name of 33 bytes, and a name that is cut off.
    #expect(!isTold([]) && !isTold([1, 2, 0x82, 0x84]))
    #expect(!isTold(NetlinkMaker.name([UInt8](repeating: 65, count: 33))) && !isTold([0, 10, 65, 66]))
    // The name is hidden in the beacon and present only in probe responses.
    #expect(!isTold(name("shop"), beacon: name("")) && !isTold(name("shop"), beacon: name("x_nomap")))
    #expect(isTold([1, 1, 0x82] + name("shop"), beacon: name("shop")))
  }

  /// Access points that opted out (`_nomap` or a hidden name) are listed, so that maps can remove them. A missing
  /// name is not an opt-out.
  @Test func optedOutAccessPointsAreListed() throws {
    func optedOut(_ elements: [UInt8], beacon: [UInt8]? = nil) -> [Beacon] {
      decode(NetlinkMaker.accessPoint(elements: elements, beaconElements: beacon)).compactMap {
        if case .optedOut(let beacon) = $0 { beacon } else { nil }
      }
    }
    let beacon = try #require(Beacon(accessPoint: 0x0016_3E01_0203))
    let name = { (text: String) in NetlinkMaker.name(text) }
    #expect(optedOut(name("shop_nomap")) == [beacon] && optedOut(name("")) == [beacon])
    #expect(optedOut(name("shop"), beacon: name("")) == [beacon])
    #expect(optedOut(name("shop")).isEmpty && optedOut([]).isEmpty && optedOut([0, 10, 65, 66]).isEmpty)
    var heard = StrongestBeacons()
    for number in 1...1000 as ClosedRange<UInt64> {
      heard.insert(optedOut: try #require(Beacon(accessPoint: number)))
    }
    #expect(heard.optedOut.count == StrongestBeacons.limit && heard.strongest.isEmpty)
  }

  @Test func endsOfScansAndRefusalsAreReported() {
    let end = NetlinkMaker.event(command: 34, interface: 4) + NetlinkMaker.event(command: 35, interface: 5)
    #expect(decode(end) == [.finished(interface: 4), .aborted(interface: 5)])
    func answer(_ code: Int32) -> [UInt8] { NetlinkMaker.message(type: 2, NetlinkMaker.bytes(code)) }
    #expect(decode(answer(0) + answer(-16)) == [.answer(code: 0), .answer(code: 16)])
    #expect(decode(answer(.min)) == [.answer(code: .max)])
    #expect(decode(NetlinkMaker.message(type: 3, NetlinkMaker.bytes(Int32(0)))) == [.end(code: 0)])
    #expect(decode(NetlinkMaker.message(type: 3, [])) == [.end(code: 0)])
    // Messages of another family, and of another command.
    #expect(decode(NetlinkMaker.message(type: 27, [34, 1, 0, 0])).isEmpty)
    #expect(decode(NetlinkMaker.event(command: 33, interface: 4)).isEmpty)
  }

  /// Of any number of access points the strongest are reported, each once with its latest sighting.
  @Test func theNumberOfAccessPointsIsLimited() throws {
    var strongest = StrongestBeacons()
    for number in 0..<1_000_000 {
      guard let beacon = Beacon(accessPoint: 0x0016_3E00_0000 | UInt64(number)) else { continue }
      strongest.insert(BeaconSighting(beacon: beacon, signal: -90 + Double(number % 70_001) / 1000, age: 1))
    }
    let told = strongest.strongest
    #expect(told.count == StrongestBeacons.limit && Set(told.map(\.beacon)).count == told.count)
    #expect(told.allSatisfy { ($0.signal ?? -100) > -20.02 })
    let beacon = try #require(told.first?.beacon)
    strongest.insert(BeaconSighting(beacon: beacon, signal: -30, age: 2))
    #expect(strongest.strongest.first?.signal != -30)
    strongest.insert(BeaconSighting(beacon: beacon, signal: -1, age: 0))
    #expect(strongest.strongest.first?.signal == -1)
  }

  /// Damaged messages are never read out of bounds, and reported values stay within their ranges.
  @Test func damagedMessagesStayWithinBounds() {
    var generator = SeededGenerator.announced()
    let whole =
      (0..<6).flatMap { number in
        NetlinkMaker.accessPoint(
          [0, 0x16, 0x3E, 0, 0, UInt8(number)], elements: NetlinkMaker.name("shop \(number)"),
          beaconElements: NetlinkMaker.name("shop \(number)"),
          more: NetlinkMaker.attribute(15, NetlinkMaker.bytes(UInt64(999_000_000_000))))
      } + NetlinkMaker.message(type: 3, NetlinkMaker.bytes(Int32(0)))
    #expect(decode(whole).count == 7)
    for _ in 0..<20_000 {
      var datagram = whole
      for _ in 0..<Int.random(in: 1...8, using: &generator) {
        datagram[Int.random(in: datagram.indices, using: &generator)] = UInt8.random(
          in: 0 ... .max, using: &generator)
      }
      if Bool.random(using: &generator) {
        datagram.removeLast(Int.random(in: 0...datagram.count, using: &generator))
      }
      for sighting in sightings(datagram) {
        #expect(sighting.beacon.address != nil && (0...NetlinkScan.longestAge).contains(sighting.age))
        #expect(sighting.signal.map { (-150...30).contains($0) } ?? true)
      }
    }
    for _ in 0..<20_000 {
      let noise = (0..<Int.random(in: 0...200, using: &generator)).map { _ in
        UInt8.random(in: 0 ... .max, using: &generator)
      }
      #expect(decode(noise).count <= 12)
      _ = BeaconSighting(accessPoint: noise[...], now: Self.now)
      _ = NetworkName(noise[...])
    }
  }
}
