import Motion
import Positioning
import Spatial
import TestSupport
import Testing

@Suite struct LocationManagerTests {
  // MARK: Desired accuracy

  @Test func desiredAccuracyIsNoFilter() {
    for accuracy in DesiredAccuracy.allCases where accuracy != .reduced {
      var manager = LocationManager.updating(accuracy)
      let location = Place.location(0, 0, accuracy: 5000)
      #expect(manager.process(location) == [.location(PrivacyPolicy.unrestricted(location))])
      #expect(manager.needs.desiredAccuracy == accuracy)
    }
    #expect(
      DesiredAccuracy.allCases.map { $0.meters ?? 0 } == [0, 0, 10, 100, 1000, 3000, 3600])
  }

  @Test func reducedAccuracyReportsTheCellCentre() throws {
    var manager = LocationManager.updating(.reduced)
    var exact = Place.location(0, 0, speed: 13)
    (exact.course, exact.altitude, exact.source) = (90, 500, "gnss")
    let events = manager.process(exact)
    guard case .location(let told)? = events.first else {
      Issue.record("no location reported")
      return
    }
    let radius = try #require(told.horizontalAccuracy)
    #expect(told.coordinate.distance(to: exact.coordinate) <= radius)
    #expect(told.speed == nil && told.course == nil && told.altitude == nil)
    #expect(told.time == exact.time && told.timestamp == exact.timestamp && told.source == "gnss")
    #expect(manager.location == told)
  }

  /// Every position is within the accuracy of its cell's centre, all positions of a cell have the same centre, and there is no gap at the
  /// antimeridian or the poles.
  @Test(arguments: [0.0, 1, 30, 48, 60, 75, 85, 89.5, 89.999, 90, -90, -33])
  func cellsCoverTheEarth(latitude: Double) throws {
    for longitude in stride(from: -180.0, through: 180, by: 7.3) + [180.0, 179.9999, 0] {
      var manager = LocationManager.updating(.reduced)
      let place = Coordinate(latitude: latitude, longitude: longitude)
      _ = manager.process(Location(timestamp: Timestamp(seconds: 0), coordinate: place))
      let centre = try #require(manager.location)
      #expect(centre.coordinate.isValid)
      #expect(centre.coordinate.distance(to: place) <= (centre.horizontalAccuracy ?? 0), "\(place)")
      _ = manager.process(Location(timestamp: Timestamp(seconds: 1), coordinate: centre.coordinate))
      #expect(manager.location?.coordinate == centre.coordinate)
    }
  }

  // MARK: One-shot requests

  struct Shot: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// Accuracy in m of the fix of each second from 1 s on; nil for a second without a fix.
    var accuracies: [Double?]
    /// The second of the returned fix, and the time at which it is returned.
    var answer: (fix: Double, at: Double)?
  }

  @Test(arguments: [
    Shot(testDescription: "sufficient accuracy immediately", accuracies: [8], answer: (1, 1)),
    Shot(testDescription: "waits for the accuracy", accuracies: [50, 20, 9, 3], answer: (3, 3)),
    Shot(testDescription: "the best fix at the time limit", accuracies: [50, 20, 30, 25], answer: (2, 10)),
    Shot(testDescription: "the newer of equal fixes", accuracies: [20, 20, 30], answer: (2, 10)),
    Shot(
      testDescription: "a fix at the time limit counts",
      accuracies: Array(repeating: 50, count: 9) + [5], answer: (10, 10)),
    Shot(testDescription: "no fix", accuracies: [], answer: nil),
  ])
  func requestReturnsTheBestFix(shot: Shot) {
    var manager = LocationManager()
    manager.requestLocation(accuracy: 10, timeLimit: 10, at: Timestamp(seconds: 0))
    #expect(manager.needs.isWanted && manager.needs.distance == nil)
    #expect(manager.needs.desiredAccuracy == .nearestTenMeters)
    #expect(manager.needs.deadline == Timestamp(seconds: 10))
    var events: [(Double, LocationEvent)] = []
    for (index, accuracy) in shot.accuracies.enumerated() {
      guard let accuracy else { continue }
      let second = Double(index + 1)
      events += manager.process(Place.location(second, second, accuracy: accuracy)).map { (second, $0) }
    }
    if let deadline = manager.nextDeadline {
      #expect(manager.advance(to: Timestamp(seconds: 9.99)).isEmpty)
      events += manager.advance(to: deadline).map { (deadline.seconds, $0) }
    }
    #expect(events.count == 1)
    if let answer = shot.answer {
      guard case (answer.at, .requested(let location))? = events.first else {
        Issue.record("\(events)")
        return
      }
      #expect(location.timestamp.seconds == answer.fix)
    } else {
      #expect(events.first?.1 == .failed(.requestTimedOut(seconds: 10)))
    }
    #expect(!manager.needs.isWanted && manager.nextDeadline == nil)
  }

  @Test func requestsAreIndependentOfEachOtherAndUpdates() {
    var manager = LocationManager.updating(.kilometer, distanceFilter: 1000)
    manager.requestLocation(accuracy: 5, timeLimit: 60, at: Timestamp(seconds: 0))
    manager.requestLocation(accuracy: 200, timeLimit: 60, at: Timestamp(seconds: 0))
    #expect(manager.needs.desiredAccuracy == .best)
    let first = manager.process(Place.location(1, 0, accuracy: 30))
    #expect(first.count == 2 && first.contains(.requested(Place.shown(1, 0, accuracy: 30))))
    let second = manager.process(Place.location(2, 0, accuracy: 4))
    #expect(second == [.requested(Place.shown(2, 0, accuracy: 4))])
    #expect(manager.needs.desiredAccuracy == .kilometer)
  }

  // MARK: Pausing

  /// An input at a second, and the events that it causes.
  struct Step: Sendable {
    var at: Double
    var east = 0.0
    var speed: Double? = 0
    var motion: StationaryDetector.State?
    var told: String
  }

  struct Story: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var activity = ActivityType.automotive
    var steps: [Step]
  }

  @Test(arguments: [
    Story(
      testDescription: "by the receiver alone",
      steps: [
        Step(at: 0, speed: 10, told: "location"), Step(at: 1, east: 5, told: "location"),
        Step(at: 180, east: 6, told: "location"), Step(at: 181, east: 6, told: "paused"),
        Step(at: 300, east: 8, told: ""), Step(at: 301, east: 20, speed: 5, told: "resumed location"),
      ]),
    Story(
      testDescription: "a stop at traffic lights does not pause",
      steps: [
        Step(at: 0, told: "location"), Step(at: 100, told: "location"),
        Step(at: 120, east: 20, speed: 8, told: "location"), Step(at: 121, east: 22, told: "location"),
        Step(at: 300, east: 22, told: "location"), Step(at: 301, east: 22, told: "paused"),
      ]),
    Story(
      testDescription: "the accelerometer pauses sooner and resumes immediately",
      steps: [
        Step(at: 0, speed: 10, told: "location"), Step(at: 10, motion: .stationary, told: ""),
        Step(at: 11, told: "location"), Step(at: 40, told: "paused"), Step(at: 500, told: ""),
        Step(at: 600, motion: .moving, told: "resumed"), Step(at: 601, east: 1, speed: 1, told: "location"),
      ]),
    Story(
      testDescription: "the accelerometer outweighs noise of the receiver",
      steps: [
        Step(at: 0, motion: .stationary, told: ""), Step(at: 1, told: "location"),
        Step(at: 20, east: 40, speed: 2, told: "location"), Step(at: 31, told: "paused"),
        Step(at: 60, east: -60, speed: 3, told: ""),
      ]),
    Story(
      testDescription: "a ferry carries a parked vehicle",
      steps: [
        Step(at: 0, motion: .stationary, told: ""), Step(at: 1, told: "location"),
        Step(at: 31, told: "paused"), Step(at: 60, east: 400, speed: 8, told: "resumed location"),
      ]),
    Story(
      testDescription: "a vibrating vehicle does not pause",
      steps: [
        Step(at: 0, motion: .moving, told: ""), Step(at: 1, told: "location"),
        Step(at: 1000, told: "location"),
      ]),
    Story(
      testDescription: "without a speed the position decides",
      steps: [
        Step(at: 0, speed: nil, told: "location"), Step(at: 179, east: 10, speed: nil, told: "location"),
        Step(at: 180, east: 10, speed: nil, told: "paused"),
        Step(at: 200, east: 100, speed: nil, told: "resumed location"),
      ]),
    Story(
      testDescription: "a pedestrian pauses later", activity: .pedestrian,
      steps: [
        Step(at: 0, told: "location"), Step(at: 299, told: "location"), Step(at: 300, told: "paused"),
        Step(at: 400, speed: 1, told: "resumed location"),
      ]),
  ])
  func pausesWhileTheVehicleIsAtRest(story: Story) {
    var manager = LocationManager.updating(activity: story.activity, pauses: true)
    for step in story.steps {
      let time = Timestamp(seconds: step.at)
      let events =
        step.motion.map { manager.observe($0, at: time) }
        ?? manager.process(Place.location(step.at, step.east, speed: step.speed))
      let told = events.map { event in
        switch event {
        case .location: "location"
        case .paused: "paused"
        case .resumed: "resumed"
        default: "\(event)"
        }
      }
      #expect(told.joined(separator: " ") == step.told, "second \(step.at)")
    }
  }

  @Test func pauseReportsTheUnreportedPosition() {
    var manager = LocationManager.updating(distanceFilter: 100, pauses: true)
    _ = manager.process(Place.location(0, 0, speed: 10))
    _ = manager.process(Place.location(5, 50, speed: 0))
    #expect(manager.nextDeadline == Timestamp(seconds: 185))
    #expect(manager.advance(to: Timestamp(seconds: 185)) == [.paused(Place.shown(5, 50, speed: 0))])
    #expect(manager.isPaused && manager.needs.isPaused && manager.needs.distance == .infinity)
    #expect(manager.nextDeadline == nil)
  }

  /// Fixes of a moving vehicle without speed start no rest, however the silence after them lasts.
  @Test(arguments: [ActivityType.automotive, .pedestrian, .other], [1, 30, 60, 300])
  func silenceAfterFixesWithoutSpeedIsNoRest(activity: ActivityType, interval: Int) {
    var manager = LocationManager.updating(activity: activity, pauses: true)
    for second in stride(from: 0, through: 600, by: interval) {
      _ = manager.process(Place.location(Double(second), 15 * Double(second)))
      #expect(manager.nextDeadline == nil)
    }
    #expect(manager.advance(to: Timestamp(seconds: 10_000)).isEmpty && !manager.isPaused)
    // The next fix is far away, after the time of a rest.
    #expect(manager.process(Place.location(10_001, 12_000)).count == 1 && !manager.isPaused)
  }

  /// A rest without speed is confirmed by fixes, and a stop of the accelerometer does not replace them.
  @Test func restWithoutSpeedIsConfirmedByFixes() {
    var manager = LocationManager.updating(pauses: true)
    for second in 0...170 { _ = manager.process(Place.location(Double(second), 0)) }
    #expect(manager.advance(to: Timestamp(seconds: 500)).isEmpty)
    _ = manager.process(Place.location(501, 10))
    #expect(manager.isPaused)
    _ = manager.process(Place.location(600, 500))
    #expect(!manager.isPaused)
    _ = manager.observe(.stationary, at: Timestamp(seconds: 601))
    #expect(manager.nextDeadline == Timestamp(seconds: 630))
    _ = manager.observe(nil, at: Timestamp(seconds: 610))
    #expect(manager.nextDeadline == nil && manager.advance(to: Timestamp(seconds: 5000)).isEmpty)
  }

  @Test func pausesOnlyIfAllowed() {
    var manager = LocationManager.updating()
    _ = manager.observe(.stationary, at: Timestamp(seconds: 0))
    #expect((0...1000).allSatisfy { manager.process(Place.location(Double($0), 0, speed: 0)).count == 1 })
    #expect(!manager.isPaused)
  }

  // MARK: Failures

  @Test func missingFixIsReportedOnceUntilThereIsOne() {
    var manager = LocationManager.updating()
    let events = (0...200).flatMap { manager.observeNoPosition(at: Timestamp(seconds: Double($0))) }
    #expect(events == [.failed(.positionUnknown(since: Timestamp(seconds: 0)))])
    _ = manager.process(Place.location(201, 0))
    #expect(manager.failure == nil)
    #expect(manager.observeNoPosition(at: Timestamp(seconds: 202)).isEmpty)
    #expect(manager.observeNoPosition(at: Timestamp(seconds: 262)).count == 1)
  }

  @Test func changedFailureIsReported() {
    var manager = LocationManager.updating()
    let gone = LocationFailure.receiverUnavailable(reason: "unplugged")
    #expect(manager.fail(gone) == [.failed(gone)])
    #expect(manager.fail(gone).isEmpty)
    #expect(manager.fail(.denied) == [.failed(.denied)])
    #expect("\(gone)".contains("unplugged"))
  }
}

private func + (a: StrideThrough<Double>, b: [Double]) -> [Double] { Array(a) + b }
