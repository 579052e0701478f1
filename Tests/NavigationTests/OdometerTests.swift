import Glibc
import Navigation
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

/// Distance from speeds, and from positions around gaps.
@Suite struct OdometerTests {
  private static let origin = Coordinate(latitude: 48, longitude: 11)

  private func sample(
    _ time: Double, north: Double = 0, east: Double = 0, speed: Double?, course: Double? = 0,
    accuracy: Double? = 3, isStopped: Bool = false
  ) -> OdometerSample {
    OdometerSample(
      timestamp: Timestamp(seconds: 1000 + time), time: UTCTime(nanoseconds: Int64(1e18 + time * 1e9)),
      coordinate: LocalFrame(origin: Self.origin).coordinate(at: SIMD2(east, north)), accuracy: accuracy,
      speed: speed, course: course, isStopped: isStopped)
  }

  private func wheel(_ time: Double, _ speed: Double) -> WheelSpeed {
    WheelSpeed(timestamp: Timestamp(seconds: 1000 + time), speed: speed)
  }

  /// Drives north at a constant speed, one sample per second.
  private func drive(
    _ odometer: inout Odometer, from start: Int, to end: Int, speed: Double, course: Double? = 0
  ) {
    for time in start...end {
      odometer.process(
        sample(Double(time), north: speed * Double(time - start), speed: speed, course: course))
    }
  }

  @Test func steadyDriveIsSpeedTimesTime() {
    var odometer = Odometer()
    drive(&odometer, from: 0, to: 1000, speed: 20)
    #expect(abs(odometer.distance - 20_000) < 5)
    #expect(odometer.estimated == 0)
    #expect(!odometer.isStanding)
  }

  /// A slow start is detected late, but its distance is counted.
  @Test(arguments: [0.3, 0.6, 1.2]) func creepingVehicleIsCounted(speed: Double) {
    for course in [0.0, nil] {
      var odometer = Odometer()
      for time in 0...60 { odometer.process(sample(Double(time), speed: 0.02, course: course)) }
      drive(&odometer, from: 61, to: 181, speed: speed, course: course)
      #expect(abs(odometer.distance / (120 * speed) - 1) < 0.1, "course \(course ?? -1)")
    }
  }

  /// Velocity noise of good and bad receivers, white and filtered, during a day at rest adds at most 1 m. The first seconds of a bad
  /// receiver can look like a start.
  @Test(arguments: [(0.02, 0.8), (0.05, 0.8), (0.1, 0), (0.1, 0.8)])
  func parkedDayAddsNothing(deviation: Double, correlation: Double) {
    var random = SeededGenerator(seed: 7)
    var (odometer, velocity) = (Odometer(), SIMD2(0.0, 0))
    let fresh = (1 - correlation * correlation).squareRoot() * deviation
    for time in 0..<86_400 {
      velocity = correlation * velocity + fresh * SIMD2(random.nextNormal(), random.nextNormal())
      odometer.process(
        sample(
          Double(time), north: 3 * random.nextNormal(), east: 3 * random.nextNormal(),
          speed: hypot(velocity.x, velocity.y),
          course: normalizedDegrees(atan2(velocity.x, velocity.y).degrees)))
    }
    #expect(odometer.distance <= 1)
    #expect(odometer.isStanding)
  }

  @Test func vehicleAtRestAddsNothing() {
    var odometer = Odometer()
    drive(&odometer, from: 0, to: 10, speed: 10)
    let before = odometer.distance
    for time in 11...600 {
      odometer.process(sample(Double(time), north: 100, speed: 0.4, isStopped: true))
    }
    // The second in which the vehicle comes to rest counts half.
    #expect(abs(odometer.distance - before - 5) < 0.1)
  }

  @Test func positionJumpAddsNothing() {
    var (odometer, jumped) = (Odometer(), Odometer())
    for time in 0...200 {
      let north = 10 * Double(time)
      odometer.process(sample(Double(time), north: north, speed: 10))
      // The fix at the jump has no valid speed.
      jumped.process(
        sample(Double(time), north: time < 100 ? north : north + 456, speed: time == 100 ? nil : 10))
    }
    #expect(abs(jumped.distance - odometer.distance) < 0.01)
    #expect(jumped.estimated == 0)
  }

  // MARK: Gaps

  /// The distance across a gap is at least the straight line, at most speed times time, and counted as estimated.
  @Test func gapIsClosedByThePlausibleDistance() {
    var odometer = Odometer()
    drive(&odometer, from: 0, to: 100, speed: 10)
    let before = odometer.distance
    // After 40 s the vehicle drives east, 200 m north and 200 m east of the previous position.
    odometer.process(sample(140, north: 1200, east: 200, speed: 10, course: 90))
    let way = odometer.distance - before
    #expect(way >= 200 * 2.0.squareRoot() && way <= 400)
    #expect(abs(odometer.estimated - way) < 1e-9)
    // A quarter of a circle is 314 m long.
    #expect(abs(way - 314) < 15)
  }

  @Test func gapOnAStraightRoadIsItsLength() {
    var odometer = Odometer()
    drive(&odometer, from: 0, to: 100, speed: 20)
    let before = odometer.distance
    odometer.process(sample(160, north: 2000 + 60 * 20, speed: 20))
    #expect(abs(odometer.distance - before - 1200) < 1)
  }

  /// If the receiver wakes after the start or sleeps before the stop, the distance is the straight line; the vehicle does not turn back.
  @Test(arguments: [60.0, 90, 600], [50.0, 200, 400])
  func missedStartOrStopCountsTheDistance(gap: Double, metres: Double) {
    var (woken, asleep) = (Odometer(), Odometer())
    for time in 0...30 { woken.process(sample(Double(time), north: 0, speed: 0)) }
    woken.process(sample(30 + gap, north: metres, speed: 14))
    #expect(abs(woken.distance - metres) < 0.1)
    asleep.process(sample(0, north: 0, speed: 14))
    asleep.process(sample(gap, north: metres, speed: 0))
    #expect(abs(asleep.distance - metres) < 0.1)
  }

  /// A parked receiver that wakes periodically at slightly different positions adds nothing.
  @Test func wanderAtRestAddsNothing() {
    var random = SeededGenerator(seed: 3)
    var odometer = Odometer()
    for wake in 0..<288 {
      for second in 0..<5 {
        odometer.process(
          sample(
            Double(300 * wake + second), north: 2 * random.nextNormal(), east: 2 * random.nextNormal(),
            speed: 0.03, course: 90 * Double(second)))
      }
    }
    #expect(odometer.distance == 0)
  }

  /// A slow displacement in steps within the position error, such as towing at night, is counted once it exceeds the error.
  @Test func distanceWithinTheErrorsIsEventuallyCounted() {
    var odometer = Odometer()
    for wake in 0...30 { odometer.process(sample(Double(300 * wake), north: 5 * Double(wake), speed: 0)) }
    #expect(odometer.distance > 130 && odometer.distance < 151)
    #expect(odometer.estimated == odometer.distance)
  }

  /// Without a speed, the whole distance is estimated.
  @Test func positionsAloneGiveAnEstimate() {
    var odometer = Odometer()
    for time in 0...600 { odometer.process(sample(Double(time), north: 10 * Double(time), speed: nil)) }
    #expect(odometer.distance > 5900 && odometer.distance <= 6000.1)
    #expect(odometer.estimated == odometer.distance)
    for time in 601...1200 { odometer.process(sample(Double(time), north: 6000, speed: nil)) }
    #expect(odometer.distance <= 6010)
  }

  /// The distance of a city drive from positions with white noise (m per axis) and an offset that changes over a minute is accurate to 3 %.
  @Test(arguments: [(0.0, 0.0), (0.2, 2), (0.5, 3), (1, 3), (2, 3)], [0.25, 1])
  func pathOfNoisyPositionsIsItsLength(noise: (white: Double, offset: Double), interval: Double) {
    var random = SplitMix.announced()
    var (odometer, known) = (Odometer(), Odometer())
    var (time, speed, course, way, place) = (0.0, 0.0, 0.0, 0.0, SIMD2(0.0, 0))
    var (offset, target, rate) = (SIMD2(0.0, 0), 0.0, 0.0)
    let memory = exp(-interval / 60)
    while time < 2400 {
      // Every 90 s: a stop of 30 s, and a bend of 90° in 10 s.
      let phase = time.truncatingRemainder(dividingBy: 90)
      target = phase < 30 ? 0 : 14
      rate = (50..<60).contains(phase) ? 0.157 : 0
      speed += min(max(target - speed, -2 * interval), 1.5 * interval)
      course += rate * interval
      place += speed * interval * SIMD2(sin(course), cos(course))
      way += speed * interval
      time += interval
      let change = noise.offset * (1 - memory * memory).squareRoot()
      offset = memory * offset + change * SIMD2(random.normal(), random.normal())
      let seen = place + offset + noise.white * SIMD2(random.normal(), random.normal())
      let coordinate = LocalFrame(origin: Coordinate(latitude: 48, longitude: 11)).coordinate(at: seen)
      let accuracy = max(1, 1.5 * hypot(noise.white, noise.offset))
      let timestamp = Timestamp(seconds: time)
      odometer.process(OdometerSample(timestamp: timestamp, coordinate: coordinate))
      known.process(OdometerSample(timestamp: timestamp, coordinate: coordinate, accuracy: accuracy))
    }
    print(
      "distance from positions only: \(odometer.distance / way), accuracy known \(known.distance / way)")
    #expect(abs(odometer.distance / way - 1) < 0.03)
    #expect(abs(known.distance / way - 1) < 0.03)
    #expect(odometer.estimated == odometer.distance)
  }

  /// Positions of a parked day whose offset changes over one or several minutes add less than 150 m.
  @Test(arguments: [(0.2, 2.0, 60.0), (1, 3, 60), (0.3, 8, 100), (0.1, 10, 300)])
  func parkedDayOfPositionsAddsNothing(white: Double, size: Double, seconds: Double) {
    var random = SplitMix.announced()
    var (odometer, offset) = (Odometer(), SIMD2(0.0, 0))
    let memory = exp(-1 / seconds)
    for time in 0..<86_400 {
      let change = size * (1 - memory * memory).squareRoot()
      offset = memory * offset + change * SIMD2(random.normal(), random.normal())
      let seen = offset + white * SIMD2(random.normal(), random.normal())
      odometer.process(
        OdometerSample(
          timestamp: Timestamp(seconds: Double(time)),
          coordinate: LocalFrame(origin: Coordinate(latitude: 48, longitude: 11)).coordinate(at: seen)))
    }
    #expect(odometer.distance < 150)
  }

  /// A receiver that smooths its positions has an error that drifts steadily; it reports the size of the error.
  @Test(arguments: [(8.0, 30.0), (15, 60), (20, 120)])
  func smoothErrorAtRestAddsLittle(size: Double, seconds: Double) {
    var random = SplitMix.announced()
    var (odometer, offset, seen) = (Odometer(), SIMD2(0.0, 0), SIMD2(0.0, 0))
    let memory = exp(-1 / seconds)
    for time in 0..<14_400 {
      let change = size * (1 - memory * memory).squareRoot()
      offset = memory * offset + change * SIMD2(random.normal(), random.normal())
      seen += (offset - seen) / 5
      odometer.process(
        sample(Double(time), north: seen.y, east: seen.x, speed: nil, accuracy: 1.5 * size))
    }
    #expect(odometer.distance < 1500)
  }

  /// The smoothed drift of a parked receiver without speed and accuracy, of 30 m (95 % per axis) or on a circle of
  /// 30 m, adds at most one diameter of the error in an hour.
  @Test(arguments: [nil, 90.0, 200, 600] as [Double?]) func driftWithoutAccuracyAddsLittle(period: Double?) {
    var random = SplitMix.announced()
    var (odometer, offset, seen) = (Odometer(), SIMD2(0.0, 0), SIMD2(0.0, 0))
    let memory = exp(-1 / 40.0)
    for time in 0..<3600 {
      let change = 15 * (1 - memory * memory).squareRoot()
      offset = memory * offset + change * SIMD2(random.normal(), random.normal())
      seen += (offset - seen) / 5
      if let period {
        let angle = 2 * .pi * Double(time) / period
        seen = 30 * SIMD2(sin(angle), cos(angle))
      }
      odometer.process(sample(Double(time), north: seen.y, east: seen.x, speed: nil, accuracy: nil))
    }
    #expect(odometer.distance < 200, "\(odometer.distance)")
  }

  /// A drift on a circle after a drive, which never comes to a stop, counts for two minutes.
  @Test func driftAfterADriveEnds() {
    var odometer = Odometer()
    for time in 0...300 {
      odometer.process(sample(Double(time), north: 10 * Double(time), speed: nil, accuracy: nil))
    }
    for time in 301...3900 {
      let angle = 2 * Double.pi * Double(time - 300) / 100
      odometer.process(
        sample(
          Double(time), north: 2970 + 30 * cos(angle), east: 30 * sin(angle), speed: nil, accuracy: nil))
    }
    #expect((2900...3400).contains(odometer.distance), "\(odometer.distance)")
    #expect(odometer.positionMotion == .resting || odometer.positionMotion == .undecided)
  }

  /// Without speed and accuracy, slow motion counts after it has left the circle of the error: a walk, and a queue that
  /// moves on by 10 m every minute.
  @Test func slowMotionWithoutAccuracyIsCounted() {
    var (walk, queue) = (Odometer(), Odometer())
    for time in 0...600 {
      walk.process(sample(Double(time), north: 1.4 * Double(time), speed: nil, accuracy: nil))
      let way = 10 * Double(time / 60) + min(10, 2 * Double(time % 60))
      queue.process(sample(Double(time), north: way, speed: nil, accuracy: nil))
    }
    #expect(abs(walk.distance - 840) < 20, "\(walk.distance)")
    #expect((90...110).contains(queue.distance), "\(queue.distance)")
  }

  /// Jumps of 12 m back and forth at rest are not detected as a start, at any interval.
  @Test(arguments: [0.5, 1, 1.2, 1.5, 2, 2.5]) func jumpsAtRestAreNoStart(interval: Double) {
    var random = SplitMix.announced()
    var odometer = Odometer()
    for number in 0..<Int(7200 / interval) {
      let time = Double(number) * interval
      let jump = Int(time / 300) % 2 == 0 ? 0.0 : 12
      odometer.process(
        sample(
          time, north: 0.1 * random.normal(), east: jump + 0.1 * random.normal(), speed: nil, accuracy: 5))
    }
    #expect(odometer.distance < 50)
  }

  /// A speed in only every n-th sample preserves the distance in between.
  @Test(arguments: [7, 10, 15, 30], [3.0, 5, 14]) func rareSpeedsAreBridged(every: Int, speed: Double) {
    var odometer = Odometer()
    for time in 0...1200 {
      odometer.process(
        sample(
          Double(time), north: speed * Double(time), speed: time % every == 0 ? speed : nil, accuracy: nil))
    }
    #expect(abs(odometer.distance / (1200 * speed) - 1) < 0.03)
  }

  /// Positions about every 2 s, at slightly irregular times, follow the bends.
  @Test func irregularPositionsFollowTheBends() {
    var random = SplitMix.announced()
    var (odometer, time, place, way) = (Odometer(), 0.0, SIMD2(0.0, 0), 0.0)
    while time < 600 {
      let step = 2 * random.uniform(0.98...1.02)
      let course = (time / 20).rounded(.down) * .pi / 2
      place += 10 * step * SIMD2(sin(course), cos(course))
      (time, way) = (time + step, way + 10 * step)
      odometer.process(sample(time, north: place.y, east: place.x, speed: nil, accuracy: nil))
    }
    #expect(abs(odometer.distance / way - 1) < 0.015)
  }

  // MARK: Wheels

  /// Wheels that read 2 % low are calibrated by the receiver, and measure the distance in a tunnel.
  @Test func wheelsBridgeATunnel() {
    var odometer = Odometer()
    for time in 0...400 {
      odometer.process(wheel(Double(time), 0.98 * 15))
      if time <= 200 || time > 380 {
        odometer.process(sample(Double(time) + 0.01, north: 15 * Double(time), speed: 15))
      }
      if time == 300 { #expect(abs(odometer.distance - 4500) < 90) }
    }
    #expect(abs(odometer.distance - 6000) < 20)
    #expect(odometer.estimated == 0)
  }

  /// Wheels at rest suppress the noise of the receiver. Wheels that contradict its motion, as of a towed vehicle, are ignored.
  @Test func stationaryWheelsSuppressNoise() {
    var (parked, towed) = (Odometer(), Odometer())
    for time in 0...300 {
      parked.process(wheel(Double(time), 0))
      towed.process(wheel(Double(time), 0))
      parked.process(sample(Double(time) + 0.1, speed: 0.9))
      towed.process(sample(Double(time) + 0.1, north: 10 * Double(time), speed: 10))
    }
    #expect(parked.distance < 1)
    #expect(abs(towed.distance - 3000) < 10)
  }

  // MARK: Restarts

  @Test func restartCountsTheDistanceToTheFirstPosition() {
    var first = Odometer()
    drive(&first, from: 0, to: 100, speed: 10)
    var second = Odometer(first.state)
    #expect(second.distance == first.distance)
    // The monotonic clock restarts with the device.
    var sample = sample(130, north: 1300, speed: 10)
    sample.timestamp = Timestamp(seconds: 5)
    second.process(sample)
    #expect(abs(second.distance - first.distance - 300) < 1)
    #expect(abs(second.estimated - 300) < 1)
    // Without a UTC time only the straight line is available.
    var third = Odometer(first.state)
    sample.time = nil
    third.process(sample)
    #expect(abs(third.distance - first.distance - 300) < 1)
  }

  @Test func parkedVehicleResumesAtItsPosition() {
    var first = Odometer()
    drive(&first, from: 0, to: 100, speed: 10)
    for time in 101...110 { first.process(sample(Double(time), north: 1000, speed: 0)) }
    var second = Odometer(first.state)
    second.process(sample(40_000, north: 1006, speed: 0))
    #expect(second.distance == first.distance)
    // Moved while off: the distance is the straight line.
    var third = Odometer(first.state)
    third.process(sample(40_000, north: 6000, speed: 0))
    #expect(abs(third.distance - first.distance - 5000) < 10)
  }

  // MARK: Bad input

  @Test func implausibleInputIsIgnored() {
    var odometer = Odometer()
    drive(&odometer, from: 0, to: 10, speed: 10)
    let before = odometer
    for speed in [Double.nan, .infinity, -1, 1e6] { odometer.process(sample(11, speed: speed)) }
    odometer.process(sample(5, speed: 10))
    odometer.process(sample(11, north: .nan, speed: 10))
    odometer.process(sample(11, speed: 10, accuracy: .nan))
    odometer.process(sample(11, speed: 10, course: .infinity))
    odometer.process(wheel(11, .nan))
    #expect(odometer == before)
  }

  /// With random input, the distance never decreases, all values remain finite, and the estimated part never exceeds the total.
  @Test func randomInputKeepsTheStateValid() {
    var random = SeededGenerator(seed: 11)
    var (odometer, last, time) = (Odometer(), 0.0, 0.0)
    for _ in 0..<20_000 {
      time += random.nextUniform() < 0.05 ? 200 * random.nextUniform() : random.nextUniform() - 0.1
      if random.nextUniform() < 0.3 {
        odometer.process(wheel(time, 30 * random.nextUniform()))
      } else {
        odometer.process(
          sample(
            time, north: 1e4 * random.nextNormal(), east: 1e4 * random.nextNormal(),
            speed: random.nextUniform() < 0.2 ? nil : 40 * random.nextUniform(),
            course: random.nextUniform() < 0.2 ? nil : 360 * random.nextUniform(),
            accuracy: random.nextUniform() < 0.2 ? nil : 50 * random.nextUniform(),
            isStopped: random.nextUniform() < 0.1))
      }
      #expect(odometer.distance >= last && odometer.distance.isFinite)
      #expect(odometer.estimated <= odometer.distance && odometer.estimated >= 0)
      last = odometer.distance
      if random.nextUniform() < 0.01 { odometer = Odometer(odometer.state) }
    }
    #expect(odometer.state.isValid)
  }
}
