import Glibc
import Motion
import Sensors
import Simulation
import Spatial

/// A vehicle in hills with a barometer in its cabin and a receiver, both with realistic errors.
struct AltitudeSimulation {
  struct Second {
    var time: Timestamp
    /// Altitude in m above mean sea level, and speed in m/s.
    var altitude: Double
    var speed: Double
    var pressure: PressureData
    /// Altitude and stated standard deviation in m; nil without a fix.
    var fix: (altitude: Double, deviation: Double)?
  }

  /// Duration in s.
  var length = 1800
  /// Returns true if the receiver has a fix in this second.
  var isSeen: (Int) -> Bool = { _ in true }
  /// Standard deviation in m and correlation time in s of the receiver's slow error.
  var receiverError = 3.0
  var receiverTime = 100.0
  /// Times in s at which the receiver is 40 m too high for five seconds.
  var jumps: [Int] = [400, 900]

  /// True altitude in m: hills of 30 m with a period of minutes.
  func altitude(at second: Int) -> Double {
    let t = Double(second)
    return 480 + 30 * sin(t / 97) + 12 * sin(t / 41 + 1)
  }

  func speed(at second: Int) -> Double { max(0, 14 + 16 * sin(Double(second) / 120)) }

  /// Generates the samples, one per second, with errors from the generator.
  func seconds(_ generator: inout SeededGenerator) -> [Second] {
    // The air is up to 20 K warmer or colder than standard; the pressure at sea level is that of a high or a low.
    let scale = 1 - 0.035 * generator.nextNormal()
    let weatherOffset = 80 * generator.nextNormal()
    let coefficient = 0.05 * generator.nextNormal()
    let warmUp = 1.5 * 14 * generator.nextNormal()
    var (weather, tendency) = (0.0, 0.012 * generator.nextNormal())
    var receiver = generator.nextNormal()
    var fan = 0.0
    var slam = 0
    return (0..<length).map { second in
      let (altitude, speed) = (altitude(at: second), speed(at: second))
      let kept = exp(-1 / receiverTime)
      receiver = kept * receiver + (1 - kept * kept).squareRoot() * generator.nextNormal()
      tendency += 0.0003 * generator.nextNormal()
      weather += tendency
      if generator.nextUniform() < 1.0 / 180 { fan = 8 * generator.nextNormal() }
      if generator.nextUniform() < 1.0 / 120 { slam = 2 }
      let wind = coefficient * 0.5 * 1.2 * speed * speed
      let sensor = warmUp * (1 - exp(-Double(second) / 600)) + 1.5 * generator.nextNormal()
      var pressure =
        StandardAtmosphere.seaLevelPressure
        * StandardAtmosphere.pressureRatio(altitude: weatherOffset + scale * altitude)
      pressure += weather + wind + sensor + fan + (slam == 2 ? 60 : slam == 1 ? -30 : 0)
      slam = max(0, slam - 1)
      let time = Timestamp(seconds: 1000 + Double(second))
      var fix: (Double, Double)?
      if isSeen(second) {
        let jump = jumps.contains { second >= $0 && second < $0 + 5 } ? 40.0 : 0
        fix = (altitude + receiverError * receiver + 0.3 * generator.nextNormal() + jump, receiverError)
      }
      return Second(
        time: time, altitude: altitude, speed: speed,
        pressure: PressureData(timestamp: time, pressure: pressure),
        fix: fix)
    }
  }
}

extension Altimeter {
  mutating func process(_ second: AltitudeSimulation.Second) {
    process(second.pressure)
    guard let fix = second.fix else { return }
    update(altitude: fix.altitude, deviation: fix.deviation, speed: second.speed, at: second.time)
  }
}
