import Fleet
import Spatial
import Testing

@Suite struct QuantityTextTests {
  @Test(arguments: [
    (-5.0, "0 s"), (0.9, "0 s"), (59.99, "59 s"), (60, "1 min"), (3599, "59 min"), (3600, "1 h"),
    (172_799, "47 h"),
    (172_800, "2 d"), (1e30, "–"),
  ])
  func ages(seconds: Double, text: String) { #expect(QuantityText.age(seconds) == text) }

  @Test(arguments: [
    (0.0, "↑    0°"), (22.4, "↑   22°"), (22.6, "↗   23°"), (90, "→   90°"), (180, "↓  180°"),
    (270, "←  270°"),
    (337.6, "↑  338°"), (359.6, "↑    0°"), (-90, "←  270°"), (720, "↑    0°"), (.nan, "–"), (.infinity, "–"),
  ])
  func directions(degrees: Double, text: String) {
    #expect(QuantityText.direction(degrees) == text.replacing("  ", with: " ", maxReplacements: 1))
  }

  @Test(arguments: [
    (0.0, "0.0 km/h"), (13.25, "47.7 km/h"), (27.76, "99.9 km/h"), (27.77, "100 km/h"), (277.76, "1000 km/h"),
    (300, "1080 km/h"), (1e5, "360000 km/h"),
    (.nan, "– km/h"),
  ])
  func speeds(metresPerSecond: Double, text: String) { #expect(QuantityText.speed(metresPerSecond) == text) }

  @Test(
    arguments: [
      (0.0, 1, "0.0"), (-0.04, 1, "0.0"), (-0.05, 1, "-0.1"), (9.996, 2, "10.00"), (12.0, 0, "12"),
      (1.05e9, 1, nil),
      (.nan, 1, nil), (-.infinity, 0, nil),
    ] as [(Double, Int, String?)])
  func decimals(value: Double, decimals: Int, text: String?) {
    #expect(QuantityText.fixed(value, decimals: decimals) == text)
  }

  @Test func positionsAreAligned() {
    #expect(QuantityText.position(Coordinate(latitude: 48.1635068, longitude: 11.5)) == "48.16351   11.50000")
    #expect(QuantityText.position(Coordinate(latitude: -90, longitude: -180)) == "-90.00000 -180.00000")
  }
}
