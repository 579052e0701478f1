import Pipeline
import Positioning
import Sensors
import Spatial
import TestSupport
import Testing

@Suite struct FixCorroborationTests {
  private static let frame = LocalFrame(origin: Coordinate(latitude: 48, longitude: 11))

  private struct TableMap: BeaconMap {
    var places: [Beacon: MappedBeacon] = [:]

    func lookUp(_ beacons: [Beacon]) -> [MappedBeacon] { beacons.compactMap { places[$0] } }
  }

  private static func beacons(_ numbers: Range<Int>) -> [Beacon] {
    numbers.compactMap { Beacon(accessPoint: 0x0011_2200_0000 + UInt64($0)) }
  }

  /// Ten beacons at the origin.
  private static let map = TableMap(
    places: Dictionary(
      uniqueKeysWithValues: beacons(0..<10).map {
        ($0, MappedBeacon(beacon: $0, coordinate: frame.origin, reach: 50, sightings: 9, lastSeen: 20_000))
      }))

  private static func scan(_ numbers: Range<Int>) -> RadioScan {
    RadioScan(
      timestamp: Timestamp(seconds: 0),
      sightings: beacons(numbers).map { BeaconSighting(beacon: $0, signal: -70) })
  }

  private static func fix(_ seconds: Double, _ east: Double, speed: Double? = 0) -> Location {
    var fix = Location(
      timestamp: Timestamp(seconds: seconds), coordinate: frame.coordinate(at: SIMD2(east, 0)))
    (fix.speed, fix.horizontalAccuracy) = (speed, 5)
    return fix
  }

  private static func vouchers(_ heard: Range<Int> = 0..<10, at east: Double = 0) -> FixCorroboration {
    var vouchers = FixCorroboration(mobility: .vehicle)
    vouchers.observe(fix(0, east), by: scan(heard), map, within: 300)
    return vouchers
  }

  /// Reachable distance from rest: 175 m in 10 s, then 60 m/s for up to one hour.
  @Test(
    arguments: [
      (10, 170, true), (10, 230, false), (600, 30_000, true), (600, 36_000, false), (3600, 10_000, true),
      (3601, 10_000, false), (-1, 0, false),
    ] as [(Double, Double, Bool)])
  func confirmationLastsAnHourWithinReach(seconds: Double, metres: Double, isVouched: Bool) {
    let fix = Self.fix(seconds, metres)
    #expect(Self.vouchers().corroborates(for: fix, against: Self.scan(50..<60)) == isVouched)
  }

  @Test func contradictingBeaconsConfirmNothing() {
    let fix = Self.fix(60, 500)
    #expect(!FixCorroboration(mobility: .vehicle).corroborates(for: fix, against: Self.scan(50..<60)))
    #expect(!Self.vouchers().corroborates(for: fix, against: Self.scan(0..<10)))
    #expect(!Self.vouchers().corroborates(for: fix, against: Self.scan(0..<8)))
    #expect(Self.vouchers().corroborates(for: fix, against: Self.scan(0..<7)))
  }

  /// Unknown beacons and beacons mapped elsewhere do not confirm a fix.
  @Test func onlyBeaconsNearTheFixConfirmIt() {
    let fix = Self.fix(60, 500)
    #expect(!Self.vouchers(8..<30).corroborates(for: fix, against: Self.scan(50..<60)))
    #expect(Self.vouchers(7..<30).corroborates(for: fix, against: Self.scan(50..<60)))
    #expect(!Self.vouchers(at: 400).corroborates(for: fix, against: Self.scan(50..<60)))
  }

  @Test func learningPausesForADayAfterADateJump() {
    let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)
    func isSound(_ screen: inout DateScreen, at seconds: Double, ahead: Double = 0) -> Bool {
      screen.process(start.advanced(bySeconds: seconds + ahead), at: Timestamp(seconds: seconds))
    }
    var screen = DateScreen()
    var sound = [isSound(&screen, at: 0), isSound(&screen, at: 7 * 86_400, ahead: 200)]
    #expect(sound == [true, true])
    // The date jumps ahead by two days within an hour and is then corrected.
    let week = 7 * 86_400.0
    sound = [
      isSound(&screen, at: week + 60, ahead: 86_400), isSound(&screen, at: week + 120, ahead: 2 * 86_400),
      isSound(&screen, at: week + 180), isSound(&screen, at: week + 86_000),
    ]
    #expect(sound == [false, false, false, false])
    sound = [isSound(&screen, at: week + 87_000), isSound(&screen, at: week + 90_000)]
    #expect(sound == [true, true])
  }
}
