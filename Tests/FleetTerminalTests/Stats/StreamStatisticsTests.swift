import FleetFixtures
import FleetTerminal
import JSON
import Spatial
import Telemetry
import Testing

@Suite struct StreamStatisticsTests {
  private func counted(
    _ messages: [(kind: String, json: String, retained: Bool)], vehicle: String = "van"
  ) -> StreamStatistics {
    var statistics = StreamStatistics()
    for (index, message) in messages.enumerated() {
      statistics.add(
        topic: "odograph/v1/demo/\(vehicle)/\(message.kind)", payload: Array(message.json.utf8),
        retained: message.retained, at: moment(Double(index)))
    }
    return statistics
  }

  private func location(_ seq: Int, epoch: String = "e", at seconds: Double = 0) -> (String, String, Bool) {
    ("location", locationJSON(48, at: seconds, epoch: epoch, seq: seq), false)
  }

  @Test func gapsRepetitionsAndLateOnes() {
    let statistics = counted([location(1), location(2), location(6), location(4), location(4), location(7)])
    #expect(statistics.missing == 2 && statistics.late == 1 && statistics.duplicates == 1)
    #expect(statistics.vehicles.count == 1 && statistics.vehicles[0].messages == 6)
  }

  @Test func aNewEpochStartsANewSequence() {
    let statistics = counted([
      location(1), location(5), location(1, epoch: "f"), location(4), location(2, epoch: "f"),
    ])
    #expect(statistics.missing == 3 && statistics.duplicates == 0 && statistics.vehicles[0].epochs == 2)
  }

  @Test func retainedMessagesAndWillsHaveNoDelaysAndGaps() {
    let statistics = counted([
      ("location", locationJSON(48, at: -500, epoch: "e", seq: 1), true), location(100),
      ("status", statusJSON("offline", at: 0, session: -3600, will: true), false),
    ])
    #expect(statistics.retained == 1 && statistics.missing == 0)
    #expect(statistics.delays.count == 1 && statistics.delays.longest == 1)
  }

  @Test func unreadableRetainedMessagesAreCounted() {
    let statistics = counted([
      ("location", "\u{7}garbage", true), ("location", #"{"time":5}"#, true), ("status", "", true),
      ("regions/desired", "[]", true), ("location", locationJSON(48, at: -5, epoch: "e", seq: 1), true),
    ])
    #expect(statistics.unreadable == 2 && statistics.retained == 5 && statistics.vehicles[0].unreadable == 2)
    #expect(statistics.byKind.isEmpty && statistics.vehicles[0].messages == 0)
    let text = StatsView(title: "").text(of: statistics, seconds: 1, width: 120, styles: false)
    #expect(text.contains("2 unreadable"))
    #expect(text.split(separator: "\n").last?.hasSuffix(" 2") == true)
  }

  @Test func delaysToTheirPrecision() throws {
    var histogram = DelayHistogram()
    for milliseconds in 1...1000 { histogram.add(Double(milliseconds) / 1000) }
    let median = try #require(histogram.quantile(0.5))
    #expect(abs(median - 0.5) < 0.5 * 0.03)
    #expect(histogram.longest == 1 && (histogram.quantile(1) ?? 0) <= 1)
    histogram.add(-5)
    histogram.add(.infinity)
    histogram.add(1e9)
    #expect(histogram.count == 1002)
  }

  @Test func badInputIsCountedAndNeverFatal() throws {
    var statistics = StreamStatistics()
    let payloads = ["", "x", "\u{0}", #"{"seq":-5,"epoch":7}"#, #"{"seq":1e999}"#, "[[[[", #"{"time":12}"#]
    for payload in payloads {
      statistics.add(
        topic: "odograph/v1/demo/\u{1B}[2Jvan/location", payload: Array(payload.utf8), retained: false,
        at: moment(0))
    }
    #expect(statistics.unreadable == 4)
    statistics.add(topic: "odograph/v1/demo/van", payload: [], retained: false, at: moment(0))
    statistics.add(topic: "elsewhere", payload: [0xFF], retained: false, at: moment(0))
    #expect(statistics.foreign == 2 && statistics.messages == payloads.count + 2)
    let text = StatsView(title: "").text(of: statistics, seconds: 1, width: 80, styles: false)
    #expect(!text.contains("\u{1B}") && text.contains("4 unreadable"))
    #expect(try JSONValue(parsing: statistics.json(seconds: 1))["unreadable"]?.integer == 4)
  }

  /// The topics of a broker with 200,000 invented ones are only counted beyond the capacity of vehicles.
  @Test func inventedTopicsAreBounded() {
    var statistics = StreamStatistics(capacity: 1000)
    let payload = Array(#"{"seq":1,"epoch":"e"}"#.utf8)
    for number in 0..<100_000 {
      for path in ["location", "x\(number)"] {
        statistics.add(
          topic: "odograph/v1/demo/v\(number)/\(path)", payload: payload, retained: false, at: moment(0))
      }
    }
    #expect(statistics.vehicles.count == 1000 && statistics.withoutRoom == 198_000)
    #expect(statistics.cachedTopics <= 8000)
  }

  @Test func theTableInEightyColumns() {
    let statistics = counted([location(1), location(2), location(5)])
    let text = StatsView(title: "").text(of: statistics, seconds: 10, width: 80, styles: false)
    #expect(
      text == """
        1 vehicle  0.30 msg/s  35 B/s  3 messages in 10 s
        delay 996 ms, 99 % 2.0 s  2 missing
        VEHICLE▲        MSG/S   BYTES/H  MESSAGES    DELAY  LONGEST  MISSING   LATE
        van              0.30  126.4 kB         3    1.0 s    2.0 s        2      –

        """)
  }
}
