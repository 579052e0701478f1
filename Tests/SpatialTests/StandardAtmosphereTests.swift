import Spatial
import Testing

@Suite struct StandardAtmosphereTests {
  /// The tables of ICAO Doc 7488: pressure (Pa) by altitude (m).
  @Test(arguments: [
    (-500.0, 107_478.0), (0, 101_325), (500, 95_461), (1000, 89_874.6), (2000, 79_495.2), (5000, 54_019.9),
  ])
  func agreesWithTheTables(altitude: Double, pressure: Double) {
    let computed = StandardAtmosphere.seaLevelPressure * StandardAtmosphere.pressureRatio(altitude: altitude)
    #expect(abs(computed - pressure) < 3)
    #expect(abs(StandardAtmosphere.altitude(pressure: pressure) - altitude) < 0.5)
  }

  @Test func altitudeAndPressureAreInverse() {
    for altitude in stride(from: -400.0, through: 9000, by: 123) {
      let pressure =
        StandardAtmosphere.seaLevelPressure * StandardAtmosphere.pressureRatio(altitude: altitude)
      #expect(abs(StandardAtmosphere.altitude(pressure: pressure) - altitude) < 1e-6)
    }
  }
}
