import Fleet
import Foundation
import Spatial
import Telemetry
import TestSupport
import Testing

@testable import FleetControl

/// Samples as a CSV that can be gone on with.
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
    // What is there already is passed over, and what comes late is counted.
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

  private func write(_ path: String, _ title: String, _ table: inout SampleTable, _ piece: SamplePiece) throws
  {
    var file = try SampleFile(path: path, title: title, goesOn: true)
    table = SampleTable(kinds: [.accelerometer], origin: file.origin, last: file.last)
    table.add(piece)
    let ending = try file.begin(at: Self.start, header: table.header)
    #expect(ending == nil)
    let gone = try file.write(table.rows())
    #expect(gone == nil)
  }

  @Test func aFileIsGoneOnWithWhereItEnded() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("history.csv")
    var table = SampleTable(kinds: [.accelerometer])
    try write(path, "history of van-1", &table, piece(0, 5000))
    let whole = try String(contentsOfFile: path, encoding: .utf8)
    // Cut off in the middle of a row.
    try String(whole.dropLast(9)).write(toFile: path, atomically: true, encoding: .utf8)
    try write(path, "history of van-1", &table, piece(4000, 2000))
    let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    #expect(lines.count == 2 + 6000 && table.rowCount == 1001)
    #expect(lines[0] == "# history of van-1; t 0 at 2026-11-21T08:00:00.000Z" && lines[1] == "t,ax,ay,az")
    for (index, line) in lines.dropFirst(2).enumerated() where index % 500 < 2 {
      #expect(line.split(separator: ",").dropFirst(2).first == "\(index).0000")
    }
  }

  @Test func aFileOfSomethingElseIsLeftAlone() throws {
    let directory = try TemporaryDirectory()
    for text in ["my notes\n", "# history of van-2; t 0 at 2026-11-21T08:00:00.000Z\nt\n", "no line"] {
      let path = try directory.write("other.csv", text)
      let error = #expect(throws: FleetError.self) {
        _ = try SampleFile(path: path, title: "history of van-1", goesOn: true)
      }
      #expect(error?.exit == .usage && error?.description.contains("name another file") == true)
      #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
    }
  }

  @Test func twoDoNotWriteOneFile() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("history.csv")
    let first = try SampleFile(path: path, title: "a", goesOn: true)
    let error = #expect(throws: FleetError.self) {
      _ = try SampleFile(path: path, title: "a", goesOn: true)
    }
    let last = first.last
    #expect(error?.description.contains("another odograph is writing it") == true && last == nil)
  }
}
