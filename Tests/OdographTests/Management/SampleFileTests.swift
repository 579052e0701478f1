import Fleet
import FleetManagement
import Foundation
import Spatial
import Telemetry
import TestSupport
import Testing

@testable import odograph

/// The file of `odograph history`, which a later call resumes.
@Suite struct SampleFileTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)

  private func piece(_ from: Int, _ count: Int) -> SamplePiece {
    var piece = SamplePiece(startingAt: Self.start.advanced(bySeconds: Double(from) * 0.02))
    for index in from..<from + count {
      let time = Self.start.advanced(bySeconds: Double(index) * 0.02)
      piece.append(.accelerometer, [-0.05, Double(index), 9.81], at: time)
    }
    return piece
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

  @Test func aFileIsResumedAfterItsLastRow() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("history.csv")
    var table = SampleTable(kinds: [.accelerometer])
    try write(path, "history of van-1", &table, piece(0, 5000))
    let whole = try String(contentsOfFile: path, encoding: .utf8)
    // The last row is truncated.
    try String(whole.dropLast(9)).write(toFile: path, atomically: true, encoding: .utf8)
    try write(path, "history of van-1", &table, piece(4000, 2000))
    let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    #expect(lines.count == 2 + 6000 && table.rowCount == 1001)
    #expect(lines[0] == "# history of van-1; t 0 at 2026-11-21T08:00:00.000Z" && lines[1] == "t,ax,ay,az")
    for (index, line) in lines.dropFirst(2).enumerated() where index % 500 < 2 {
      #expect(line.split(separator: ",").dropFirst(2).first == "\(index).0000")
    }
  }

  @Test func aFileOfAnotherSourceIsNotModified() throws {
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

  /// The previous call ended within the first two lines: the header is written again.
  @Test(arguments: ["", "t,ax", "t,ax,ay,az\n", "t,ax,ay,az\n0.0"])
  func aFileWithoutRowsIsWrittenFromTheStart(_ rest: String) throws {
    let directory = try TemporaryDirectory()
    let path = try directory.write(
      "history.csv", "# history of van-1; t 0 at 2026-11-21T08:00:00.000Z\n" + rest)
    var table = SampleTable(kinds: [.accelerometer])
    try write(path, "history of van-1", &table, piece(0, 2))
    let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    #expect(lines.count == 4 && lines[1] == "t,ax,ay,az")
  }

  @Test(arguments: ["nan", "inf", "1e300", "-1e18", "9e9", "x", ""])
  func aFileWhoseLastRowHasNoTimeIsNotModified(_ time: String) throws {
    let directory = try TemporaryDirectory()
    let text = "# a; t 0 at 2026-11-21T08:00:00.000Z\nt,ax,ay,az\n\(time),0,0,0\n"
    let path = try directory.write("history.csv", text)
    let error = #expect(throws: FleetError.self) { _ = try SampleFile(path: path, title: "a") }
    #expect(error?.kind == .invalidInput && error?.description.contains("its last row begins with") == true)
    #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
  }

  /// A pipe cannot be resumed.
  @Test func aPipeReceivesHeadAndRowsUntilItsReaderCloses() throws {
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

  @Test func aSecondWriterIsRejected() throws {
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
