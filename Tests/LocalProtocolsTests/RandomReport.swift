import LocalProtocols
import Sensors
import Simulation
import Spatial
import VehicleData

extension LocalReport {
  /// A report at a random position.
  /// - Parameter isExtreme: true for values far beyond those of a vehicle, also infinite ones.
  static func random(
    at time: UTCTime, isExtreme: Bool = false, using generator: inout SeededGenerator
  ) -> LocalReport {
    func number(_ range: ClosedRange<Double>) -> Double? {
      if isExtreme, generator.nextUniform() < 0.2 {
        let choice = [Double.infinity, -.infinity, .nan, 1e300, -1e300, 1e17, -0.0, .leastNonzeroMagnitude]
        return choice[Int(generator.nextUniform() * 7.99)]
      }
      return generator.nextUniform() < 0.2 ? nil : .random(in: range, using: &generator)
    }
    let scale = isExtreme ? 20.0 : 1
    var location = Location(
      timestamp: Timestamp(nanoseconds: 0),
      coordinate: Coordinate(
        latitude: .random(in: -90...90, using: &generator),
        longitude: .random(in: -180...180, using: &generator)
      ))
    location.speed = number(0...70 * scale)
    location.course = number(0...360 * scale)
    location.altitude = number(-400...5000 * scale)
    location.ellipsoidalAltitude = number(-400...5000 * scale)
    location.horizontalAccuracy = number(0...500 * scale)
    location.verticalAccuracy = number(0...50 * scale)
    location.speedAccuracy = number(0...5)
    location.courseAccuracy = number(0...90)
    let attitude = LocalAttitude(
      trueHeading: number(0...360), magneticHeading: number(0...360), headingAccuracy: number(0...180),
      roll: number(-180...180), rollAccuracy: number(0...10), pitch: number(-90...90),
      pitchAccuracy: number(0...10), yawRate: number(-400...400))
    func sky() -> SatelliteSky {
      let satellites = (0..<Int.random(in: 0...(isExtreme ? 150 : 40), using: &generator)).map { index in
        let isNumbered = Bool.random(using: &generator)
        return Satellite(
          identifier: isExtreme ? .random(in: .min ... .max, using: &generator) : index + 1,
          system: isNumbered ? Satellite.System.allCases.randomElement(using: &generator) : nil,
          number: isNumbered ? .random(in: isExtreme ? -1000...1000 : 1...32, using: &generator) : nil,
          elevation: number(-90...90), azimuth: number(0...360), signal: number(0...60),
          isUsed: Bool.random(using: &generator))
      }
      return SatelliteSky(
        satellites: satellites,
        dilution: DilutionOfPrecision(
          horizontal: number(0.5...20), vertical: number(0.5...20), position: number(0.5...20)))
    }
    let receiver = LocalReceiver(
      quality: FixQuality.allCases.randomElement(using: &generator),
      satellitesUsed: .random(in: isExtreme ? .min ... .max : 4...30, using: &generator),
      satellitesVisible: .random(in: 4...60, using: &generator), horizontalDilution: number(0.5...20),
      sky: Bool.random(using: &generator) ? sky() : nil)
    return LocalReport(
      time: time, location: PrivacyPolicy.unrestricted(location), isEstimated: Bool.random(using: &generator),
      attitude: Bool.random(using: &generator) ? attitude : nil,
      receiver: Bool.random(using: &generator) ? receiver : nil)
  }
}
