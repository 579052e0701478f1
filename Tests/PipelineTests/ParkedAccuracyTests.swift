import Foundation
import Pipeline
import Positioning
import Sensors
import Simulation
import Spatial
import Telemetry
import TestSupport
import Testing

/// A parked vehicle whose positions become more accurate, in exact virtual time. Its receiver delivers one fix per second
/// while powered.
@Suite struct ParkedAccuracyTests {
  /// A policy, with the accuracy in m from which a position is not replaced.
  struct Mode: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var settings: [Setting]
    var sufficient: Double

    /// Maximum number of messages for one position.
    func most(from accuracy: Double) -> Int { 1 + Int(log2(accuracy / sufficient).rounded(.up)) }
  }

  private static let modes = [
    Mode(
      testDescription: "significant",
      settings: [{ $0.location.policy = .significant }, { $0.location.desiredAccuracy = .kilometer }],
      sufficient: 100),
    Mode(
      testDescription: "filter of 500 m", settings: [{ $0.location.policy = .distance(500) }], sufficient: 100
    ),
    Mode(
      testDescription: "filter of 30 m, coarse accuracy",
      settings: [{ $0.location.policy = .distance(30) }, { $0.location.desiredAccuracy = .hundredMeters }],
      sufficient: 30),
    Mode(
      testDescription: "bounded", settings: [{ $0.location.setBounds(error: 20, delay: 5) }], sufficient: 20),
    Mode(
      testDescription: "bounded, coarse accuracy",
      settings: [
        { $0.location.setBounds(error: 200, delay: 5) }, { $0.location.desiredAccuracy = .hundredMeters },
      ], sufficient: 100),
  ]

  /// Seconds from the first fix to the end of a stop, before locations pause.
  private static let stop = 170

  @Test(arguments: modes, [0.0, 15]) func firstInaccuratePositionIsReplaced(mode: Mode, east: Double) {
    var vehicle = ParkedVehicle(mode.settings)
    let accuracies = [925.0, 700, 400, 150, 60, 15, 5]
    // The receiver may sleep for minutes between two fixes.
    vehicle.run(until: 1800) { count, now in
      count > accuracies.count && now > Double(Self.stop) ? nil : accuracies[min(count, accuracies.count - 1)]
    } east: {
      $0 == 0 ? east : 0
    }
    let told = vehicle.accuracies.compactMap { $0 }
    #expect(abs((told.first ?? 0) - 925) < 1 && told.last.map { $0 <= mode.sufficient } == true, "\(told)")
  }

  /// A noisy receiver, and one that becomes less accurate, cause few messages.
  @Test(arguments: modes, UInt64(1)...5) func noisyReceiverCausesFewMessages(mode: Mode, seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var vehicle = ParkedVehicle(mode.settings)
    // Significant changes do not pause.
    vehicle.run(until: mode.testDescription == "significant" ? 21_600 : Self.stop) { count, _ in
      count == 0 ? 925 : pow(10, Double.random(in: 0.3...3, using: &random))
    }
    #expect((1...mode.most(from: 1000)).contains(vehicle.accuracies.count), "\(vehicle.accuracies)")
    #expect(vehicle.fixes > 1)
  }

  /// In motion, the accuracy has no influence on the number of messages.
  @Test(arguments: modes) func noisyReceiverInMotionCausesNoMessage(mode: Mode) {
    var random = SeededGenerator(seed: 7)
    let counts = [false, true].map { isNoisy in
      var vehicle = ParkedVehicle(mode.settings + [{ $0.location.desiredAccuracy = .best }])
      vehicle.speed = 10
      vehicle.run(until: Self.stop) { _, _ in
        isNoisy ? pow(10, Double.random(in: 0.3...2, using: &random)) : 2
      } east: {
        10 * $0
      }
      return vehicle.accuracies.count
    }
    #expect(counts[0] == counts[1] && counts[0] >= 1, "\(counts)")
  }

  /// A better position during a pause is reported, and the pause continues.
  @Test(arguments: [modes[1], modes[3]]) func pausedVehicleReportsABetterPosition(mode: Mode) {
    var vehicle = ParkedVehicle(mode.settings)
    vehicle.run(until: 400) { _, now in now < 200 ? 925 : 4 }
    let count = vehicle.accuracies.count
    #expect(vehicle.accuracies.last.flatMap { $0 }.map { abs($0 - 4) < 0.1 } == true, "\(vehicle.accuracies)")
    #expect(vehicle.events == [.paused])
    // A bounded report has the velocity of a vehicle at rest.
    let last = vehicle.locations.last
    #expect(last?.prediction.map { $0.velocity == .zero } ?? (mode.testDescription != "bounded"))
    vehicle.run(until: 4000) { _, now in now < 2000 ? 40 : 3 }
    #expect(vehicle.accuracies.count == count)
  }

  /// Reduced accuracy and blurred positions do not reveal that the receiver has become more accurate.
  @Test(arguments: modes, [true, false]) func hiddenAccuracyCausesNoMessage(mode: Mode, isReduced: Bool) {
    let privacy: Setting = {
      if isReduced { $0.location.desiredAccuracy = .reduced } else { $0.privacy.accuracy = 1000 }
    }
    var vehicle = ParkedVehicle(mode.settings + [privacy])
    let accuracies = [925.0, 400, 150, 60, 15, 5]
    vehicle.run(until: Self.stop) { count, _ in accuracies[min(count, accuracies.count - 1)] }
    #expect(vehicle.accuracies.count == 1 && vehicle.fixes > 1, "\(vehicle.accuracies)")
  }

  /// A batch with a distance filter contains the better position, which is published with the batch.
  @Test func deferredPositionIsReplaced() {
    var vehicle = ParkedVehicle([
      { $0.location.policy = .distance(500) },
      { $0.location.deferral = .init(distance: nil, timeout: 60, error: nil) },
    ])
    vehicle.run(until: 100) { count, _ in count == 0 ? 925 : 5 }
    #expect(vehicle.accuracies.count == 1)
    #expect(vehicle.accuracies.last.flatMap { $0 }.map { $0 < 6 } == true, "\(vehicle.accuracies)")
  }

  /// The result does not depend on whether time advances between the fixes, as it does live.
  @Test(arguments: modes) func wakeupsHaveNoInfluence(mode: Mode) {
    let results = [false, true].map { isWoken in
      var vehicle = ParkedVehicle(mode.settings)
      vehicle.isWoken = isWoken
      vehicle.run(until: Self.stop) { count, _ in [925.0, 300, 40, 5][min(count, 3)] }
      return vehicle.locations
    }
    #expect(results[0] == results[1] && results[0].count > 1)
  }
}

/// A vehicle with a receiver and no other sensor.
private struct ParkedVehicle {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)
  private static let frame = LocalFrame(origin: Coordinate(latitude: 48, longitude: 11))
  /// Ratio of gpsd's error (95 %) to the accuracy (68 %).
  private static let errorRatio = 2.448 / 1.510

  private(set) var locations: [LocationMessage] = []
  private(set) var events: [LocationEventMessage.Event] = []
  private(set) var fixes = 0
  var speed = 0.0
  /// True if the pipeline is called at each deadline.
  var isWoken = true
  private var pipeline: AgentPipeline
  private var now = 0

  init(_ settings: [Setting]) {
    let quiet: [Setting] = [
      { $0.heading.isEnabled = false }, { $0.trips.isEnabled = false }, { $0.statusInterval = 86400 },
    ]
    pipeline = AgentPipeline(
      configuration: PipelineConfiguration(quiet + settings), start: Timestamp(seconds: 0), time: Self.start,
      version: "1")
  }

  var accuracies: [Double?] { locations.map(\.location.horizontalAccuracy) }

  /// - Parameters:
  ///   - accuracy: returns the accuracy in m (68 %) of a fix from the number of earlier fixes and the time in s; nil for no fix.
  ///   - east: returns the position in m east of the origin from the time in s.
  mutating func run(
    until end: Int, accuracy: (Int, Double) -> Double?, east: (Double) -> Double = { _ in 0 }
  ) {
    while now < end {
      let time = Double(now)
      let isOn = pipeline.demands[.positioning]?.isOn ?? false
      if isOn, let accuracy = accuracy(fixes, time) {
        var fix = PositionFix(
          timestamp: Timestamp(seconds: time), time: Self.start.advanced(bySeconds: time),
          mode: .threeDimensional, coordinate: Self.frame.coordinate(at: SIMD2(east(time), 0)))
        (fix.speed, fix.course, fix.speedError) = (speed, 90, 0.2)
        // The model adds the distance of the antenna.
        fix.horizontalError = Self.errorRatio * max(0, accuracy * accuracy - 0.25).squareRoot()
        fixes += 1
        process(.position([fix]))
      }
      now += 1
      while isWoken, let due = pipeline.nextDeadline, due < Timestamp(seconds: Double(now)) {
        advance(to: due)
        if let next = pipeline.nextDeadline, next <= due { break }
      }
      // The receiver is powered again by time alone.
      if !isOn { advance(to: Timestamp(seconds: Double(now))) }
    }
  }

  private mutating func process(_ event: SensorEvent) {
    var messages: [VehicleMessage] = []
    pipeline.process(event) { messages.append($0) }
    for message in messages { take(message) }
  }

  private mutating func advance(to time: Timestamp) {
    var messages: [VehicleMessage] = []
    pipeline.advance(to: time) { messages.append($0) }
    for message in messages { take(message) }
  }

  private mutating func take(_ message: VehicleMessage) {
    switch message {
    case .location(let location): locations.append(location)
    case .locationEvent(let event): events.append(event.event)
    default: break
    }
  }
}
