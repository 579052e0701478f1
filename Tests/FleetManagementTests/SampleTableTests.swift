import FleetManagement
import Spatial
import Telemetry
import Testing

/// Samples as rows of CSV.
@Suite struct SampleTableTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)

  private func piece(_ from: Int, _ count: Int) -> SamplePiece {
    var piece = SamplePiece(startingAt: Self.start.advanced(bySeconds: Double(from) * 0.02))
    for index in from..<from + count {
      let time = Self.start.advanced(bySeconds: Double(index) * 0.02)
      piece.append(.accelerometer, [-0.05, Double(index), 9.81], at: time)
    }
    return piece
  }

  @Test func rowsAreMergedByTime() {
    var piece = piece(0, 3)
    piece.append(.barometer, [101_325.25], at: Self.start.advanced(bySeconds: 0.02))
    piece.append(.gyroscope, [0.5, -0.00001, 0], at: Self.start.advanced(bySeconds: 0.03))
    var table = SampleTable(kinds: [.barometer, .accelerometer, .gyroscope])
    #expect(table.header == "t,ax,ay,az,gx,gy,gz,pressure")
    table.add(piece)
    let rows = table.rows()
    #expect(
      rows == """
        0.000000,-0.0500,0.0000,9.8100,,,,
        0.020000,-0.0500,1.0000,9.8100,,,,101325.3
        0.030000,,,,0.50000,-0.00001,0.00000,
        0.040000,-0.0500,2.0000,9.8100,,,,

        """)
    let nothing = table.rows()
    #expect(table.rowCount == 4 && nothing.isEmpty)
    // Existing rows are skipped, and late rows are counted.
    table.add(self.piece(1, 3))
    let more = table.rows()
    #expect(more == "0.060000,-0.0500,3.0000,9.8100,,,,\n" && table.lateCount == 2)
  }

  @Test func theNewestAreHeldBackForOtherSensors() {
    var table = SampleTable(kinds: [.accelerometer, .barometer])
    table.add(piece(0, 101))
    let first = table.rows(holdingBack: 1)
    #expect(first.split(separator: "\n").count == 51)
    var late = SamplePiece(startingAt: Self.start)
    late.append(.barometer, [1e5], at: Self.start.advanced(bySeconds: 1.5))
    table.add(late)
    let rest = table.rows().split(separator: "\n")
    #expect(
      rest.count == 50 && rest.contains("1.500000,-0.0500,75.0000,9.8100,100000.0") && table.lateCount == 0)
  }
}
