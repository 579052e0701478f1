import SensorsIIO
import Testing

@Suite struct SamplingFrequenciesTests {
  @Test(arguments: [
    ("12.500000 25.000000 50 100 200\n", SamplingFrequencies.list([12.5, 25, 50, 100, 200])),
    ("200 100 50", .list([50, 100, 200])),
    ("0 0.781000 1.563000", .list([0.781, 1.563])),
    ("[1 0.5 400]", .range(minimum: 1, step: 0.5, maximum: 400)),
    ("[0 0 1000]", .range(minimum: 0, step: 0, maximum: 1000)),
    ("", .unknown), ("0", .unknown), ("[1 2]", .unknown), ("[5 1 2]", .unknown), ("fast", .unknown),
  ])
  func parses(text: String, expected: SamplingFrequencies) {
    #expect(SamplingFrequencies(parsing: text) == expected)
  }

  @Test(
    arguments: [
      ("12.5 25 50 100 200", 30.0, 50.0), ("12.5 25 50 100 200", 50, 50), ("12.5 25 50 100 200", 1, 12.5),
      ("12.5 25 50 100 200", 1000, 200), ("0.333333 1", 1.0 / 3, 0.333333),
      ("[1 0.5 400]", 10.2, 10.5), ("[1 0.5 400]", 10.5, 10.5), ("[1 0.5 400]", 0.2, 1),
      ("[1 0.5 400]", 999, 400),
      ("[0 0 1000]", 123.4, 123.4), ("[10 100 200]", 150, 200), ("", 42, 42),
    ] as [(String, Double, Double)])
  func choosesTheLowestSufficientRate(offered: String, wanted: Double, expected: Double) {
    #expect(abs(SamplingFrequencies(parsing: offered).nearest(to: wanted) - expected) < 1e-9)
  }

  @Test(
    arguments: [
      (100.0, "100"), (12.5, "12.5"), (0.333333333, "0.333333"), (1.5625, "1.5625"),
      (208.000001, "208.000001"),
      (0, "0"), (-1, "0"),
    ] as [(Double, String)])
  func writesWhatDriversParse(hertz: Double, text: String) {
    #expect(SamplingFrequencies.text(hertz) == text)
  }

  @Test(arguments: [
    ("12.500000 25.000000 50\n", "12.5, 25, 50 Hz"), ("[1 0.5 100]", "1 to 100 Hz in steps of 0.5 Hz"),
    ("[1 0 100]", "1 to 100 Hz"), ("", "unknown rates"),
  ])
  func areListedInWords(text: String, expected: String) {
    #expect(SamplingFrequencies(parsing: text).description == expected)
  }
}
