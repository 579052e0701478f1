import Sensors
import Simulation
import Spatial
import Testing

/// Interpolation of a recorded track to fixes at 1 Hz.
@Suite struct InterpolatedTrackTests {
  private struct Track: SensorRecording {
    let name = "track"
    let kinds: Set<SensorKind> = [.positioning]
    var fixes: ArraySlice<PositionFix>

    mutating func next() -> SensorEvent? { fixes.popFirst().map { .position([$0]) } }
    mutating func setDemand(_: SensorDemand, for _: SensorKind) {}
  }

  private func fix(_ seconds: Double, _ latitude: Double, _ longitude: Double) -> PositionFix {
    PositionFix(
      timestamp: Timestamp(seconds: seconds), time: UTCTime(nanoseconds: Int64(seconds * 1e9)),
      coordinate: Coordinate(latitude: latitude, longitude: longitude))
  }

  private func played(_ fixes: [PositionFix]) throws -> [PositionFix] {
    var track = InterpolatedTrack(Track(fixes: fixes[...]))
    var played: [PositionFix] = []
    while case .position(let fixes)? = try track.next() { played += fixes }
    return played
  }

  @Test func positionsAreInterpolatedLinearly() throws {
    let fixes = try played([fix(0, 10, 20), fix(4, 14, 16), fix(4.5, 14, 16), fix(6.5, 10, 16)])
    #expect(fixes.map(\.timestamp.seconds) == [0, 1, 2, 3, 4, 5, 6, 6.5])
    #expect(fixes.map { $0.coordinate?.latitude } == [10, 11, 12, 13, 14, 13, 11, 10])
    #expect(fixes.map { $0.coordinate?.longitude } == [20, 19, 18, 17, 16, 16, 16, 16])
    #expect(fixes[5].time == UTCTime(nanoseconds: 5_000_000_000))
  }

  @Test func theShorterPathCrossesTheAntimeridian() throws {
    let fixes = try played([fix(0, 0, 179), fix(2, 0, -179)])
    #expect(fixes.map { abs($0.coordinate?.longitude ?? 0) } == [179, 180, 179])
  }

  @Test func repeatedTimesAndMissingPositionsAreAccepted() throws {
    let gap = PositionFix(timestamp: Timestamp(seconds: 2), mode: .noFix)
    let fixes = try played([fix(0, 1, 1), fix(0, 2, 2), gap, fix(4, 3, 3)])
    #expect(fixes.map { $0.coordinate?.latitude } == [2, 2, nil, nil, 3])
    #expect(try played([]).isEmpty)
    #expect(try played([fix(7, 1, 1)]).count == 1)
  }
}
