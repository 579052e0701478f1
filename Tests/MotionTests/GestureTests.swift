import Foundation
import Motion
import Sensors
import Spatial
import TestSupport
import Testing

@Suite struct ShakeDetectorTests {
  /// Swings along x with the given signs, one every `period` seconds, 40 ms long each, sampled at 100 Hz.
  private func run(_ swings: [Double], period: Double = 0.15, peak: Double = 2, for seconds: Double = 6)
    -> [ShakeDetector.Event]
  {
    var detector = ShakeDetector()
    var events: [ShakeDetector.Event] = []
    for index in 0..<Int(seconds * 100) {
      let time = Double(index) / 100
      let swing = Int(time / period)
      let isSwinging = swing < swings.count && time - Double(swing) * period < 0.04
      let value = isSwinging ? swings[swing] * peak : 0.05
      events += detector.process(userAcceleration: Vector3(value, 0.1, 0), at: Timestamp(seconds: time))
    }
    return events
  }

  @Test func shakeStartsAndEnds() {
    let events = run([1, -1, 1, -1, 1, -1])
    #expect(
      events == [
        .began(Timestamp(seconds: 0.15), axis: nil), .ended(Timestamp(seconds: 1.15), swings: 6, axis: nil),
      ])
  }

  @Test func bumpAndItsReboundAreCancelled() {
    #expect(
      run([1, -1])
        == [
          .began(Timestamp(seconds: 0.15), axis: nil),
          .cancelled(Timestamp(seconds: 0.55), .tooFewSwings, axis: nil),
        ])
  }

  /// Equivalent of UIKit's `motionCancelled`: shaking for more than a second is no gesture.
  @Test func longShakingIsCancelledOnceAndRequiresQuiet() {
    let swings = (0..<30).map { $0.isMultiple(of: 2) ? 1.0 : -1.0 }
    let events = run(swings)
    #expect(
      events == [
        .began(Timestamp(seconds: 0.15), axis: nil),
        .cancelled(Timestamp(seconds: 1.05), .tooLong, axis: nil),
      ])
  }

  /// The quiet time at the end does not count towards the duration.
  @Test func shortShakeIsNotCancelledByFollowingQuiet() {
    let events = run((0..<7).map { $0.isMultiple(of: 2) ? 1.0 : -1.0 })
    #expect(events.last == .ended(Timestamp(seconds: 1.3), swings: 7, axis: nil))
  }

  private func settings(_ change: (inout ShakeDetector.Settings) -> Void) -> ShakeDetector.Settings {
    var settings = ShakeDetector.Settings()
    change(&settings)
    return settings
  }

  /// Six swings of 2 g along a line in the device frame, with known gravity.
  private func shake(
    along line: Vector3, gravity: Vector3, _ settings: ShakeDetector.Settings = .init()
  ) -> [ShakeDetector.Event] {
    var detector = ShakeDetector(settings: settings)
    return (0..<200).flatMap { index in
      let swing = index / 15
      let value = swing < 6 && index % 15 < 4 ? (swing.isMultiple(of: 2) ? 2.0 : -2.0) : 0
      return detector.process(
        userAcceleration: value * line, gravity: gravity, at: Timestamp(seconds: Double(index) / 100))
    }
  }

  @Test(arguments: [
    (0.0, ShakeDetector.Axis.vertical), (40, .vertical), (50, .horizontal), (90, .horizontal),
    (130, .horizontal), (140, .vertical), (180, .vertical),
  ])
  func horizontalAndVerticalShakesAreDistinguished(degrees: Double, axis: ShakeDetector.Axis) {
    var generator = SplitMix(seed: 5)
    for _ in 0..<20 {
      let held = Quaternion(
        angle: generator.uniform(0...6),
        axis: Vector3(generator.normal(), generator.normal(), generator.normal()))
      let line = Vector3(0, sin(degrees.radians), -cos(degrees.radians))
      let events = shake(along: held.rotate(line), gravity: held.rotate(Vector3(0, 0, -1)))
      #expect(events.map(\.axis) == [axis, axis])
      let isWhole = if case .ended(_, swings: 6, _)? = events.last { true } else { false }
      #expect(isWhole, "\(events)")
    }
  }

  @Test func onlyTheChosenDirectionIsDetected() {
    let down = Vector3(0, 0, -1)
    let vertical = settings { $0.axes = [.vertical] }
    let horizontal = settings { $0.axes = [.horizontal] }
    #expect(shake(along: down, gravity: down, vertical).count == 2)
    #expect(shake(along: Vector3(1, 0, 0), gravity: down, vertical).isEmpty)
    #expect(shake(along: Vector3(1, 0, 0), gravity: down, horizontal).count == 2)
    #expect(shake(along: down, gravity: down, horizontal).isEmpty)
    #expect(shake(along: down, gravity: down, settings { $0.axes = [] }).isEmpty)
    // Without gravity the direction is unknown.
    #expect(shake(along: down, gravity: .zero, vertical).isEmpty)
  }

  @Test func everySettingIsEffective() {
    let (line, down) = (Vector3(1, 0, 0), Vector3(0, 0, -1))
    #expect(shake(along: line, gravity: down, settings { $0.threshold = 2.1 }).isEmpty)
    #expect(shake(along: line, gravity: down, settings { $0.swingInterval = 0.1 }).isEmpty)
    let many = shake(along: line, gravity: down, settings { $0.minimumSwings = 7 })
    #expect(many.last == .cancelled(Timestamp(seconds: 1.15), .tooFewSwings, axis: .horizontal))
    let short = shake(along: line, gravity: down, settings { $0.maximumDuration = 0.5 })
    #expect(short.last == .cancelled(Timestamp(seconds: 0.6), .tooLong, axis: .horizontal))
  }

  @Test(arguments: [[1.0], [1, 1, 1, 1, 1, 1], []])
  func pushesInOneDirectionAreNoShake(swings: [Double]) {
    #expect(run(swings).isEmpty)
  }

  @Test func gentleOrSlowSwingsAreNoShake() {
    #expect(run([1, -1, 1, -1, 1, -1], peak: 1.1).isEmpty)
    #expect(run([1, -1, 1, -1, 1, -1], period: 0.6).isEmpty)
  }

  @Test func twoShakesAreSeparate() {
    let events = run([1, -1, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1])
    #expect(events.count == 4)
    #expect(events.last == .ended(Timestamp(seconds: 2.05), swings: 4, axis: nil))
  }

  @Test func shakeEndsWithoutSamples() {
    var detector = ShakeDetector()
    for index in 0..<5 {
      _ = detector.process(
        userAcceleration: Vector3(0, index.isMultiple(of: 2) ? 2 : -2, 0),
        at: Timestamp(seconds: 0.1 * Double(index)))
    }
    #expect(detector.isShaking)
    #expect(detector.advance(to: Timestamp(seconds: 0.7)).isEmpty)
    #expect(
      detector.advance(to: Timestamp(seconds: 60)) == [
        .ended(Timestamp(seconds: 0.8), swings: 5, axis: nil)
      ])
    #expect(!detector.isShaking)
  }

  /// A device that rotates by ±80° at 0.9 Hz, with accelerometer and gyroscope in separate chips. Some seconds of gyroscope samples arrive
  /// after those of the accelerometer, or not at all.
  @Test(arguments: [(0.0, 0.6, false), (6.0, 2.6, false), (6.0, 2.6, true)])
  func rotationWithLateGyroscopeIsNoShake(from start: Double, for seconds: Double, isLost: Bool) {
    let turn = 2 * Double.pi * 0.9
    let scans = (0..<1500).map { index in
      let time = Double(index) / 100
      let attitude = Quaternion(angle: 80.0.radians * sin(turn * time), axis: Vector3(1, 0, 0))
      return InertialScan(
        timestamp: Timestamp(seconds: 100 + time),
        specificForce: attitude.conjugate.rotate(Vector3(0, 0, standardGravity)),
        rotationRate: Vector3(80.0.radians * turn * cos(turn * time), 0, 0))
    }
    var manager = MotionManager(frame: .xArbitraryZVertical)
    for kind in [SensorKind.accelerometer, .gyroscope] {
      manager.observe(
        SourceStatus(
          timestamp: Timestamp(seconds: 100), source: kind.rawValue, kinds: [kind],
          state: .active(rates: [kind: 100])))
    }
    var detector = ShakeDetector()
    var (withGravity, events) = (0, [ShakeDetector.Event]())
    func process(_ scan: InertialScan) {
      manager.fuseNext()
      guard let sample = AccelerometerData(scan), let gravity = manager.gravity else { return }
      withGravity += 1
      events += detector.process(
        userAcceleration: sample.acceleration - gravity, gravity: gravity, at: scan.timestamp)
    }
    var late: [InertialScan] = []
    for (index, scan) in scans.enumerated() {
      let time = Double(index) / 100
      var (force, rate) = (scan, scan)
      force.rotationRate = nil
      rate.specificForce = nil
      let isLate = time >= start && time < start + seconds
      if isLate { late.append(rate) }
      let rates = isLate ? [] : isLost ? [rate] : late + [rate]
      for block in [[force], rates] where !block.isEmpty {
        manager.admit(block)
        while let next = manager.nextScan { process(next) }
      }
      if !isLate { late = [] }
    }
    #expect(events.isEmpty, "\(events)")
    #expect(withGravity > 700)
  }

  /// Events of a device that rotates by ±80° at 0.9 Hz, with the gyroscope in a separate chip.
  ///
  /// - Parameters:
  ///   - state: the state of the gyroscope's source until its first sample.
  ///   - missing: seconds in which the gyroscope has no samples.
  private func rotate(
    _ manager: inout MotionManager, state: SourceStatus.State, missing: Range<Double>, seconds: Double
  ) -> (shakes: Int, withGravity: Int) {
    let turn = 2 * Double.pi * 0.9
    func status(_ kind: SensorKind, _ state: SourceStatus.State) -> SourceStatus {
      SourceStatus(timestamp: Timestamp(seconds: 100), source: kind.rawValue, kinds: [kind], state: state)
    }
    manager.observe(status(.accelerometer, .active(rates: [.accelerometer: 100])))
    manager.observe(status(.gyroscope, missing.lowerBound > 0 ? .active(rates: [.gyroscope: 100]) : state))
    var detector = ShakeDetector()
    var (shakes, withGravity) = (0, 0)
    for index in 0..<Int(seconds * 100) {
      let time = Double(index) / 100
      let attitude = Quaternion(angle: 80.0.radians * sin(turn * time), axis: Vector3(1, 0, 0))
      let timestamp = Timestamp(seconds: 100 + time)
      var block = [
        InertialScan(
          timestamp: timestamp, specificForce: attitude.conjugate.rotate(Vector3(0, 0, standardGravity)))
      ]
      if !missing.contains(time) {
        if missing.lowerBound == 0 { manager.observe(status(.gyroscope, .active(rates: [.gyroscope: 100]))) }
        block.append(
          InertialScan(
            timestamp: timestamp, rotationRate: Vector3(80.0.radians * turn * cos(turn * time), 0, 0)))
      }
      for scan in block {
        manager.admit([scan])
        while let next = manager.nextScan {
          manager.fuseNext()
          guard let sample = AccelerometerData(next), let gravity = manager.gravity else { continue }
          withGravity += 1
          shakes +=
            detector.process(
              userAcceleration: sample.acceleration - gravity, gravity: gravity, at: next.timestamp
            ).count
        }
      }
    }
    return (shakes, withGravity)
  }

  /// The gyroscope's chip starts seconds after the accelerometer's, or pauses during the rotation.
  @Test(arguments: [
    (SourceStatus.State.idle, 0.0..<4.0), (.active(rates: [.gyroscope: 100]), 0..<5), (.idle, 0..<1),
    (.idle, 6..<11),
  ])
  func rotationWithoutOfferedGyroscopeIsNoShake(_ state: SourceStatus.State, _ missing: Range<Double>) {
    var manager = MotionManager(frame: .xArbitraryZVertical)
    manager.demand([.accelerometer, .gyroscope])
    let (shakes, withGravity) = rotate(&manager, state: state, missing: missing, seconds: 15)
    #expect(shakes == 0)
    #expect(withGravity > 500, "\(withGravity)")
  }

  /// Gravity comes from the accelerometer if the gyroscope is not offered, not demanded, or silent for 10 s.
  @Test(arguments: [(true, false), (false, true), (true, true)])
  func gravityDoesNotWaitForAnUnusedGyroscope(isOffered: Bool, isDemanded: Bool) {
    var manager = MotionManager(frame: .xArbitraryZVertical)
    manager.demand(isDemanded ? [.accelerometer, .gyroscope] : [.accelerometer])
    let (_, withGravity) = rotate(
      &manager, state: isOffered ? .idle : .unavailable(reason: "no device"), missing: 0..<100, seconds: 15)
    #expect(abs(withGravity - (isOffered && isDemanded ? 500 : 1500)) < 10, "\(withGravity)")
  }

  /// With random input, each start has one end, and times never decrease.
  @Test func everyStartHasOneEnd() {
    var generator = SplitMix.announced()
    for _ in 0..<200 {
      var detector = ShakeDetector()
      var (isOpen, last) = (false, Timestamp(nanoseconds: .min))
      var time = 0.0
      for _ in 0..<500 {
        time += generator.uniform(0...0.08)
        var value = Vector3(generator.normal(), generator.normal(), generator.normal()) * 1.5
        if generator.uniform(0...1) < 0.02 { value.x = .nan }
        for event in detector.process(userAcceleration: value, at: Timestamp(seconds: time)) {
          if case .began = event { #expect(!isOpen) } else { #expect(isOpen) }
          isOpen.toggle()
          #expect(event.timestamp >= last)
          last = event.timestamp
        }
        #expect(isOpen == detector.isShaking)
      }
    }
  }
}
