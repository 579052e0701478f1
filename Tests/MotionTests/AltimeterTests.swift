import AllocationCounter
import Glibc
import Motion
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

@Suite struct AltimeterTests {
  /// Pressure in Pa at an altitude in m in the standard atmosphere.
  private func pressure(_ height: Double) -> Double {
    StandardAtmosphere.seaLevelPressure * StandardAtmosphere.pressureRatio(altitude: height)
  }

  private func sample(_ seconds: Double, _ height: Double) -> PressureData {
    PressureData(timestamp: Timestamp(seconds: 50 + seconds), pressure: pressure(height))
  }

  /// Units of `CMAltitudeData`: metres since the start, kilopascals.
  @Test func relativeAltitudeAndPressureAreReported() throws {
    var altimeter = Altimeter()
    #expect(altimeter.altitudeData == nil && !altimeter.isRelativeAltitudeAvailable)
    for second in 0..<10 { altimeter.process(sample(Double(second), 300)) }
    #expect(try abs(#require(altimeter.altitudeData).relativeAltitude) < 1e-6)
    for second in 10..<40 { altimeter.process(sample(Double(second), 330)) }
    let data = try #require(altimeter.altitudeData)
    #expect(abs(data.relativeAltitude - 30) < 1e-6)
    #expect(abs(data.pressure - pressure(330) * 1e-3) < 1e-9)
    #expect(data.timestamp == Timestamp(seconds: 89))
    #expect(altimeter.absoluteAltitudeData == nil && altimeter.floor == nil)
  }

  /// A climb is followed within about a second at 1 Hz and 25 Hz.
  @Test(arguments: [1.0, 25]) func climbIsFollowed(rate: Double) throws {
    var altimeter = Altimeter()
    for index in 0..<Int(60 * rate) {
      let time = Double(index) / rate
      altimeter.process(sample(time, 300 + 3 * time))
    }
    let data = try #require(altimeter.altitudeData)
    // The mean over a second corresponds to its middle.
    #expect(abs(data.relativeAltitude - 3 * (60 - 1 / rate)) < 3.2)
  }

  /// The pressure pulse of a closing door lasts a second and does not change the altitude.
  @Test(arguments: [1.0, 10, 25]) func doorPressureIsNoAltitudeChange(rate: Double) throws {
    var altimeter = Altimeter()
    for index in 0..<Int(60 * rate) {
      let time = Double(index) / rate
      var data = sample(time, 300)
      if time >= 30, time < 30.9 { data.pressure += 80 }
      altimeter.process(data)
      guard let height = altimeter.altitudeData?.relativeAltitude else { continue }
      #expect(abs(height) < 0.3, "\(time)")
    }
  }

  /// The stated accuracy is valid in hills with weather, fan, wind and a receiver whose error varies over minutes and jumps, with and
  /// without a fix.
  @Test func accuracyIsCalibrated() {
    var generator = SeededGenerator.announced()
    var (count, inside68, inside95, covered, covered95) = (0.0, 0.0, 0.0, 0.0, 0.0)
    var (squares, receiverSquares, largest) = (0.0, 0.0, 0.0)
    for _ in 0..<60 {
      var simulation = AltitudeSimulation()
      simulation.isSeen = { !(600..<720).contains($0) && !(1200..<1500).contains($0) }
      var altimeter = Altimeter()
      for (index, second) in simulation.seconds(&generator).enumerated() {
        altimeter.process(second)
        guard index > 120, let data = altimeter.absoluteAltitudeData else { continue }
        let error = abs(data.altitude - second.altitude)
        count += 1
        inside68 += error < data.accuracy ? 1 : 0
        inside95 += error < 1.96 * data.accuracy ? 1 : 0
        if let fix = second.fix {
          squares += error * error
          receiverSquares += (fix.altitude - second.altitude) * (fix.altitude - second.altitude)
          largest = max(largest, data.accuracy)
        } else {
          covered += 1
          covered95 += error < 1.96 * data.accuracy ? 1 : 0
        }
      }
    }
    #expect(inside68 / count > 0.62 && inside68 / count < 0.9)
    #expect(inside95 / count > 0.92)
    #expect(covered95 / covered > 0.92)
    // The accuracy is small enough to be useful, and the error smaller than that of the receiver.
    #expect(largest < 8)
    #expect(squares < 0.5 * receiverSquares)
  }

  /// A jump of the receiver is rejected; a lasting jump is accepted within 40 s.
  @Test func jumpIsRejectedUntilItLasts() throws {
    var altimeter = Altimeter()
    func play(_ seconds: Range<Int>, receiver: Double) {
      for second in seconds {
        altimeter.process(sample(Double(second), 300))
        altimeter.update(
          altitude: receiver, deviation: 3, speed: 10, at: Timestamp(seconds: 50 + Double(second)))
      }
    }
    play(0..<300, receiver: 340)
    #expect(try abs(#require(altimeter.absoluteAltitudeData).altitude - 340) < 0.5)
    play(300..<315, receiver: 400)
    #expect(try abs(#require(altimeter.absoluteAltitudeData).altitude - 340) < 0.5)
    #expect(try #require(altimeter.secondsSinceFix) > 10)
    play(315..<340, receiver: 400)
    #expect(try abs(#require(altimeter.absoluteAltitudeData).altitude - 400) < 5)
  }

  /// A weather change of eight hours at rest does not change the altitude, with the barometer on or off.
  @Test(arguments: [true, false]) func altitudeIsConstantAtRest(isBarometerOn: Bool) throws {
    var altimeter = Altimeter()
    for second in 0..<300 {
      altimeter.process(sample(Double(second), 300))
      altimeter.update(altitude: 340, deviation: 3, speed: 5, at: Timestamp(seconds: 50 + Double(second)))
    }
    for second in 300..<340 { altimeter.process(sample(Double(second), 300 - 0.15 * Double(second - 300))) }
    for second in 340..<360 { altimeter.process(sample(Double(second), 294)) }
    let parked = try #require(altimeter.absoluteAltitudeData)
    #expect(try #require(altimeter.floor).level == -2)
    altimeter.observe(isAtRest: true)
    altimeter.observe(isReceiverOn: false)
    let night = 28_800.0
    if isBarometerOn {
      for second in stride(from: 360.0, to: 360 + night, by: 1) {
        altimeter.process(sample(second, 294 + 60 * (second - 360) / night))
      }
    }
    altimeter.observe(isReceiverOn: true)
    altimeter.observe(isAtRest: false)
    for second in 0..<10 { altimeter.process(sample(360 + night + Double(second), 354)) }
    let woken = try #require(altimeter.absoluteAltitudeData)
    #expect(abs(woken.altitude - parked.altitude) < 0.5 && woken.accuracy < parked.accuracy + 0.5)
    #expect(try #require(altimeter.floor).level == -2)
  }

  /// With random input, all outputs are finite and within their range.
  @Test func invalidInputIsHandled() {
    var generator = SeededGenerator.announced()
    var (altitudes, floors) = (0, 0)
    for _ in 0..<20 {
      var altimeter = Altimeter()
      func any() -> Double {
        switch Int(generator.nextUniform() * 8) {
        case 0: .nan
        case 1: .infinity
        case 2: -1e300
        case 3: 0
        case 4: 1e5 * generator.nextNormal()
        default: 101_325 + 500 * generator.nextNormal()
        }
      }
      var time = 0.0
      for _ in 0..<2000 {
        time += generator.nextUniform() < 0.01 ? 1000 * generator.nextNormal() : generator.nextUniform()
        let stamp = Timestamp(seconds: time)
        altimeter.process(PressureData(timestamp: stamp, pressure: any()))
        if generator.nextUniform() < 0.3 {
          altimeter.update(altitude: any() * 1e-2, deviation: any() * 1e-4, speed: any() * 1e-4, at: stamp)
        }
        if generator.nextUniform() < 0.1 { altimeter.observe(speed: any() * 1e-4, at: stamp) }
        if generator.nextUniform() < 0.05 { altimeter.observe(isAtRest: generator.nextUniform() < 0.5) }
        if generator.nextUniform() < 0.05 { altimeter.observe(isReceiverOn: generator.nextUniform() < 0.5) }
        if let data = altimeter.absoluteAltitudeData {
          altitudes += 1
          #expect(data.altitude.isFinite && data.accuracy > 0 && data.accuracy.isFinite && data.precision > 0)
        }
        if let floor = altimeter.floor {
          floors += 1
          #expect((0.5...1).contains(floor.confidence) && abs(floor.level) <= 20 && floor.height.isFinite)
        }
        #expect(altimeter.altitudeData?.relativeAltitude.isFinite != false)
      }
    }
    #expect(altitudes > 0 && floors > 0)
  }

  /// No memory is allocated for a pressure or an altitude.
  @Test(.enabled(if: allocation_is_counted(), "a sanitizer replaces the allocator"))
  func altimeterAllocatesNothing() {
    var generator = SeededGenerator.announced()
    let seconds = AltitudeSimulation().seconds(&generator)
    func feed(_ altimeter: inout Altimeter) {
      var index = 0
      while index < seconds.count {
        altimeter.process(seconds[index])
        index += 1
      }
    }
    var altimeter = Altimeter()
    feed(&altimeter)
    altimeter = Altimeter()
    let before = allocation_count()
    feed(&altimeter)
    #expect(allocation_count() == before && altimeter.isAbsoluteAltitudeAvailable)
  }
}
