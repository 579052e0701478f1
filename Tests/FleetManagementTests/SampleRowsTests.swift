import Fleet
import FleetManagement
import JSON
import Spatial
import Telemetry
import Testing

/// Samples and history: from the answers of the vehicle to rows of CSV.
@Suite struct SampleRowsTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)
  private let van = VehicleKey(fleet: "f", vehicle: "van")

  /// Returns the result of a command with samples that start at `second`, one each 20 ms.
  private func result(_ members: [String: JSONValue], second: Double = 0, count: Int = 50) throws -> JSONValue
  {
    let start = Self.start.advanced(bySeconds: second)
    var piece = SamplePiece(startingAt: start)
    for index in 0..<count {
      piece.append(.accelerometer, [0, 0, 9.81], at: start.advanced(bySeconds: Double(index) * 0.02))
    }
    return .object(members.merging(["samples": piece.json]) { $1 })
  }

  @Test func requestNamesOnlyGivenSensors() {
    let all = SampleRequest(seconds: 5, rate: 50)
    #expect(all.arguments == ["seconds": .number(5), "rate": .number(50)])
    let one = SampleRequest(seconds: 5, rate: 50, kinds: [.barometer])
    #expect(one.arguments["kinds"] == .array([.string("barometer")]))
  }

  @Test func piecesBecomeRowsInOrder() throws {
    var stream = SampleRows(of: van)
    let kinds = JSONValue.array([.string("accelerometer")])
    for (number, isLast) in [(0, false), (1, false), (1, false), (2, true)] {
      try stream.add(
        result(
          ["piece": .integer(Int64(number)), "kinds": kinds, "more": .bool(!isLast)], second: Double(number)))
      #expect(stream.isComplete == isLast)
    }
    let lines = stream.rows(isLast: true).split(separator: "\n")
    #expect(lines.count == 2 + 150 && lines[1] == "t,ax,ay,az")
    #expect(lines[0] == "# odograph samples f/van; t 0 at 2026-11-21T08:00:00.000Z")
    // The header is written once.
    let more = stream.rows(isLast: true)
    #expect(more.isEmpty && stream.table?.rowCount == 150)
  }

  @Test func newestRowsWaitForOtherSensors() throws {
    var stream = SampleRows(of: van)
    try stream.add(result(["piece": .integer(0), "more": .bool(true)], count: 150))
    let first = stream.rows(isLast: false).split(separator: "\n")
    let rest = stream.rows(isLast: true).split(separator: "\n")
    #expect(first.count == 2 + 50 && rest.count == 100)
  }

  @Test func aMissingPieceIsAnError() throws {
    var stream = SampleRows(of: van)
    let error = #expect(throws: FleetError.self) { try stream.add(result(["piece": .integer(1)])) }
    #expect(error?.description == "cannot read the answer of f/van: piece 0 was lost; retry")
    #expect(throws: FleetError.self) { try stream.add(.object([:])) }
  }

  @Test func historyContinuesUntilTheVehicleNamesNoNextPiece() throws {
    var download = HistoryDownload(of: van, from: Self.start, to: Self.start.advanced(bySeconds: 9))
    #expect(
      download.arguments == [
        "from": .string("2026-11-21T08:00:00.000Z"), "to": .string("2026-11-21T08:00:09.000Z"),
      ])
    let first = try result(["next": .string("2026-11-21T08:00:01.000Z")])
    try download.add(first)
    try download.proceed(after: first)
    #expect(download.arguments["from"] == .string("2026-11-21T08:00:01.000Z"))
    let last = try result([:], second: 1)
    try download.add(last)
    try download.proceed(after: last)
    let rows = download.rows().split(separator: "\n")
    #expect(download.cursor == nil && rows.count == 100)
  }

  @Test func historyResumesAfterTheLastRow() throws {
    let last = Self.start.advanced(bySeconds: 0.48).nanoseconds / 1000
    var download = HistoryDownload(of: van, from: Self.start, to: nil, origin: Self.start, last: last)
    #expect(download.arguments == ["from": .string("2026-11-21T08:00:00.480Z")])
    try download.add(result([:]))
    let rows = download.rows().split(separator: "\n")
    #expect(rows.count == 25)
  }

  @Test(arguments: ["2026-11-21T08:00:00Z", "yesterday"]) func aNextPieceThatIsNotLaterIsAnError(
    next: String
  ) throws {
    var download = HistoryDownload(of: van, from: Self.start, to: nil)
    let error = #expect(throws: FleetError.self) {
      try download.proceed(after: .object(["next": .string(next)]))
    }
    #expect(error?.cause.contains("which is not after 2026-11-21T08:00:00.000Z") == true)
  }
}
