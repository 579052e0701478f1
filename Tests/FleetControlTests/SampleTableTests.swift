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
    var file = try SampleFile(path: path, title: title)
    table = SampleTable(kinds: [.accelerometer], origin: file.origin, last: file.last)
    table.add(piece)
    let hasBegun = try file.begin(at: Self.start, header: table.header)
    let isWritten = try file.write(table.rows())
    #expect(hasBegun && isWritten)
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
        _ = try SampleFile(path: path, title: "history of van-1")
      }
      #expect(error?.kind == .invalidInput && error?.description.contains("name another file") == true)
      #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
    }
  }

  /// The call before ended within the first two lines: the names of the columns come all the same.
  @Test(arguments: ["", "t,ax", "t,ax,ay,az\n", "t,ax,ay,az\n0.0"])
  func aFileWithoutARowIsBegunAnew(_ rest: String) throws {
    let directory = try TemporaryDirectory()
    let path = try directory.write(
      "history.csv", "# history of van-1; t 0 at 2026-11-21T08:00:00.000Z\n" + rest)
    var table = SampleTable(kinds: [.accelerometer])
    try write(path, "history of van-1", &table, piece(0, 2))
    let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    #expect(lines.count == 4 && lines[1] == "t,ax,ay,az")
  }

  @Test(arguments: ["nan", "inf", "1e300", "-1e18", "9e9", "x", ""])
  func aFileWhoseLastRowHasNoTimeIsLeftAlone(_ time: String) throws {
    let directory = try TemporaryDirectory()
    let text = "# a; t 0 at 2026-11-21T08:00:00.000Z\nt,ax,ay,az\n\(time),0,0,0\n"
    let path = try directory.write("history.csv", text)
    let error = #expect(throws: FleetError.self) { _ = try SampleFile(path: path, title: "a") }
    #expect(error?.kind == .invalidInput && error?.description.contains("its last row begins with") == true)
    #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
  }

  /// A pipe cannot be gone on with, and ends with its reader.
  @Test func aPipeIsWrittenAsItIs() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("pipe")
    #expect(mkfifo(path, 0o600) == 0)
    let reader = open(path, O_RDONLY | O_NONBLOCK)
    var file = try SampleFile(path: path, title: "a")
    let hasBegun = try file.begin(at: Self.start, header: "t,ax")
    #expect(hasBegun && file.last == nil)
    var bytes = [UInt8](repeating: 0, count: 100)
    let count = read(reader, &bytes, bytes.count)
    #expect(
      String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
        == "# a; t 0 at 2026-11-21T08:00:00.000Z\nt,ax\n")
    close(reader)
    signal(SIGPIPE, SIG_IGN)
    let isRead = try file.write("0,0\n")
    #expect(!isRead)
  }

  @Test func twoDoNotWriteOneFile() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("history.csv")
    let first = try SampleFile(path: path, title: "a")
    let error = #expect(throws: FleetError.self) {
      _ = try SampleFile(path: path, title: "a")
    }
    let last = first.last
    #expect(error?.description.contains("another odograph is writing it") == true && last == nil)
  }
}
