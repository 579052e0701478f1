import Sensors
import Spatial
import Testing

@testable import SensorsGPSD

@Suite struct GPSDFixAssemblerTests {
  private static let second: Int64 = 1_000_000_000

  private func report(_ mode: Int?, device: String? = nil) -> GPSDFix {
    GPSDFix(
      device: device, mode: mode, latitude: 1, longitude: 2, altitudeEllipsoidal: 3, altitudeMeanSeaLevel: 4,
      track: 5,
      speed: 6, climb: 7, eph: 8, epv: 9, eps: 10, epd: 11)
  }

  @Test(arguments: [nil, 0, 1, 4, -1])
  func noPositionAndNoMotionWithoutAFix(mode: Int?) {
    let fix = GPSDFixAssembler().fix(report(mode), at: Timestamp(nanoseconds: 1))
    var expected = PositionFix(timestamp: Timestamp(nanoseconds: 1), mode: mode == 1 ? .noFix : nil)
    expected.receiver = nil
    #expect(fix == expected)
  }

  @Test func noPositionFromHalfOfOne() {
    var half = report(3)
    half.latitude = nil
    #expect(GPSDFixAssembler().fix(half, at: Timestamp(nanoseconds: 0)).coordinate == nil)
    half.latitude = 91
    #expect(GPSDFixAssembler().fix(half, at: Timestamp(nanoseconds: 0)).coordinate == nil)
  }

  @Test func impossibleValuesAreAbsent() {
    var impossible = report(3)
    (impossible.speed, impossible.eph, impossible.track) = (-1, -1, -90)
    let fix = GPSDFixAssembler().fix(impossible, at: Timestamp(nanoseconds: 0))
    #expect(fix.speed == nil && fix.horizontalError == nil && fix.course == 270)
  }

  @Test func theSkyIsThatOfTheSameReceiverAndGrowsOld() {
    var assembler = GPSDFixAssembler()
    let start = Timestamp(nanoseconds: 0)
    assembler.take(GPSDSky(device: "a", satellitesUsed: 5, satellitesVisible: 9), at: start)
    assembler.take(GPSDSky(device: "a", horizontalDilution: 0.9), at: start)
    let fix = assembler.fix(report(3, device: "a"), at: Timestamp(nanoseconds: 9 * Self.second))
    #expect(fix.satellitesUsed == 5 && fix.satellitesVisible == 9 && fix.horizontalDilution == 0.9)
    #expect(assembler.fix(report(3, device: "b"), at: start).satellitesUsed == nil)
    let late = assembler.fix(report(3, device: "a"), at: Timestamp(nanoseconds: 11 * Self.second))
    #expect(late.satellitesUsed == nil && late.horizontalDilution == nil)
  }
}
