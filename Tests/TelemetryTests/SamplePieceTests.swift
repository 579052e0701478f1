import Foundation
import JSON
import Spatial
import TestSupport
import Testing

@testable import Telemetry

@Suite struct SamplePieceTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_930_123_456_789)

  private func piece(_ count: Int) -> SamplePiece {
    var piece = SamplePiece(startingAt: Self.start)
    for index in 0..<count {
      let time = Self.start.advanced(bySeconds: Double(index) * 0.02)
      let t = Double(index)
      piece.append(.accelerometer, [0.1 * sin(t), -0.1 * cos(t), 9.81 + 0.05 * sin(3 * t)], at: time)
      if index % 5 == 0 { piece.append(.barometer, [101_325 + t], at: time) }
    }
    return piece
  }

  @Test func samplePieceRoundTrips() throws {
    let piece = piece(1000)
    #expect(piece.count == 1200 && piece.series.map(\.kind) == [.accelerometer, .barometer])
    #expect(piece.start == UTCTime(nanoseconds: 1_795_248_930_123_000_000))
    let text = piece.json.text
    #expect(try SamplePiece(json: JSONValue(parsing: Array(text.utf8))) == piece)
    // Times are microseconds since the start; values are integers in units of the last decimal.
    #expect(piece.series[0].times.prefix(2) == [456, 20_456])
    #expect(piece.series[0].values.map(\.first) == [0, -1000, 98_100])
    // Size limit from the message contract.
    #expect(text.utf8.count < 1000 * 12 + 200 * 5 + 500, "\(text.utf8.count)")
  }

  @Test func invalidSamplesAreOmitted() {
    var piece = SamplePiece(startingAt: Self.start)
    piece.append(.gyroscope, [1, 2], at: Self.start)
    piece.append(.gyroscope, [1, .nan, 2], at: Self.start)
    #expect(piece.count == 0)
    piece.append(.gyroscope, [1e300, -1e300, 0], at: Self.start)
    #expect(piece.count == 1)
  }

  @Test(arguments: [
    (#""count":1"#, #""count":2"#, "does not contain 2 values"), (#""count":1"#, #""count":-1"#, "count"),
    (#""decimals":5"#, #""decimals":4"#, "with 5 decimals is missing"), (#""gx""#, #""gw""#, "\"gx\""),
    (#""start""#, #""begin""#, "start"), (#""times":"?"#, #""times":"\u0001"#, "invalid encoding"),
  ])
  func errorNamesTheInvalidKey(old: String, new: String, problem: String) throws {
    var piece = SamplePiece(startingAt: UTCTime(nanoseconds: 0))
    piece.append(.gyroscope, [1, 2, 3], at: UTCTime(nanoseconds: 0))
    let text = piece.json.text
    #expect(text.contains(old), "\(text)")
    let error = try #require(throws: JSONError.self) {
      try SamplePiece(json: JSONValue(parsing: Array(text.replacing(old, with: new).utf8)))
    }
    #expect(error.description.contains(problem), "\(error)")
  }

  @Test func unknownSampleKindIsIgnored() throws {
    let text = piece(3).json.text.replacing("\"barometer\"", with: "\"hygrometer\"")
    #expect(
      try SamplePiece(json: JSONValue(parsing: Array(text.utf8))).series.map(\.kind) == [.accelerometer])
  }

  @Test func damagedTextIsRejectedWithoutTrap() throws {
    var generator = SplitMix(seed: 12)
    let whole = Array(piece(20).json.text.utf8)
    for _ in 0..<3000 {
      var bytes = whole
      for _ in 0..<3 {
        bytes[Int.random(in: bytes.indices, using: &generator)] = UInt8.random(
          in: 32...126, using: &generator)
      }
      if let json = try? JSONValue(parsing: bytes) { _ = try? SamplePiece(json: json) }
    }
  }

  /// Consumers add these times to the start time, which must not overflow.
  @Test func timesOutOfRangeAreRejected() throws {
    for times in [Int64.max / 1000, .min / 1000, .max] {
      var piece = SamplePiece(
        startingAt: UTCTime(nanoseconds: times < 0 ? -9_000_000_000_000_000_000 : 9_000_000_000_000_000_000))
      piece.append(.barometer, [1], at: piece.start)
      var encoder = DeltaEncoder()
      encoder.append(times)
      let text = piece.json.text.replacing(
        "\"times\":\"?\"",
        with: "\"times\":\"\(String(decoding: encoder.text, as: UTF8.self).replacing("\\", with: "\\\\"))\"")
      let error = #expect(throws: JSONError.self) {
        try SamplePiece(json: JSONValue(parsing: Array(text.utf8)))
      }
      #expect("\(try #require(error))".contains("times"))
    }
  }
}
