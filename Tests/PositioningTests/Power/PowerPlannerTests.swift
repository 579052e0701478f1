import Positioning
import Sensors
import Spatial
import Testing

@Suite struct PowerPlannerTests {
  private static let inertial: [SensorKind: SensorDemand] = [
    .accelerometer: .rate(hertz: 100, latency: .milliseconds(100)),
    .gyroscope: .rate(hertz: 100, latency: .milliseconds(100)),
    .magnetometer: .rate(hertz: 25, latency: .milliseconds(100)),
  ]
  private static let watch = SensorDemand.rate(
    hertz: PowerPlanner.watchRate, latency: .seconds(PowerPlanner.watchLatency))

  private func needs(
    _ accuracy: DesiredAccuracy = .hundredMeters, seen: Double? = nil, speed: Double? = 0, sigma: Double = 5,
    distance: Double? = nil, boundary: Double? = nil
  ) -> PowerNeeds {
    var location = LocationNeeds(isWanted: true, desiredAccuracy: accuracy)
    location.timestamp = seen.map { Timestamp(seconds: $0) }
    location.speed = speed
    location.speedAccuracy = 0.5
    location.horizontalAccuracy = sigma
    location.distance = distance
    return PowerNeeds(location: location, distanceToBoundary: boundary, inertial: Self.inertial)
  }

  private func isOn(_ planner: inout PowerPlanner, _ needs: PowerNeeds, _ seconds: Double) -> Bool {
    planner.demands(for: needs, at: Timestamp(seconds: seconds))[.positioning] != .off
  }

  /// A planner whose receiver needs one second to a fix.
  private func planner(_ mobility: Mobility = .vehicle) -> PowerPlanner {
    var planner = PowerPlanner(mobility: mobility, fixTime: FixTimeEstimate(brief: 1, warm: 1))
    _ = planner.demands(for: needs(), at: Timestamp(seconds: 0))
    return planner
  }

  // Expected sleeps are the times computed in the comments, less a reserve of 0.3 s and the second to a fix.
  @Test(
    arguments: [
      // (100 − 2·5) m at 3.5 m/s² with a speed error of 1 m/s: 1.75 t² + t = 90, t = 6.891 s.
      (DesiredAccuracy.hundredMeters, 0, 5, nil, nil, 6.891 - 1.3),
      (.hundredMeters, 30, 5, nil, nil, 6.891 - 1.3),
      // 1.75 t² + t = 60: a less accurate fix leaves a smaller distance.
      (.hundredMeters, 14, 20, nil, nil, 5.577 - 1.3),
      // 990 m, the last part at 14 + 60 m/s in the opposite direction.
      (.kilometer, 14, 5, nil, nil, 23.666 - 1.3),
      // The filter's 500 m and the tolerance, at 14 + 1 m/s: 590 m, the last part at 60 m/s.
      (.hundredMeters, 14, 5, 500, nil, 14.655 - 1.3),
      // A boundary 60 m ahead: 1.75 t² + 15 t = 50.
      (.hundredMeters, 14, 5, nil, 60, nil),
      // A boundary 10 km ahead has no effect.
      (.hundredMeters, 14, 5, nil, 10_000, 6.891 - 1.3),
      // 62 m: 1.75 t² + 15 t = 52 yields 2.6 s, too short for a sleep.
      (.kilometer, 14, 5, nil, 62, nil),
      // 510 m: 1.75 t² + 15 t = 500.
      (.kilometer, 14, 5, nil, 510, 13.152 - 1.3),
      (.nearestTenMeters, 14, 2, nil, nil, nil), (.best, 0, 1, nil, nil, nil),
      (.bestForNavigation, 0, 1, nil, nil, nil),
    ] as [(DesiredAccuracy, Double, Double, Double?, Double?, Double?)])
  func receiverSleepsUntilTheEarliestEvent(
    accuracy: DesiredAccuracy, speed: Double, sigma: Double, distance: Double?, boundary: Double?,
    sleep: Double?
  ) throws {
    var planner = planner()
    let fixed = needs(
      accuracy, seen: 10, speed: speed, sigma: sigma, distance: distance, boundary: boundary)
    guard let sleep else {
      #expect(isOn(&planner, fixed, 10) && isOn(&planner, fixed, 12))
      return
    }
    #expect(!isOn(&planner, fixed, 10))
    let due = try #require(planner.nextDeadline)
    #expect(abs(due.seconds - (10 + sleep)) < 0.01, "\(due.seconds - 10)")
    #expect(!isOn(&planner, fixed, due.seconds - 0.01))
    #expect(isOn(&planner, fixed, due.seconds))
  }

  @Test func unknownSpeedCountsAsMaximum() throws {
    var planner = planner()
    // The top speed of 60 m/s from the start: 990 m in 16.5 s.
    #expect(!isOn(&planner, needs(.kilometer, seen: 10, speed: nil), 10))
    #expect(abs(try #require(planner.nextDeadline).seconds - (10 + 16.5 - 1.3)) < 0.01)
    // 100 m at the top speed are too short for a sleep.
    var other = self.planner()
    #expect(isOn(&other, needs(seen: 10, speed: nil), 10))
  }

  @Test func inaccurateFixDoesNotStartSleep() {
    var planner = planner()
    #expect(isOn(&planner, needs(seen: 10, sigma: 26), 10))
    #expect(!isOn(&planner, needs(seen: 11, sigma: 24), 11))
  }

  @Test func oldFixDoesNotStartSleep() {
    var planner = planner()
    #expect(!isOn(&planner, needs(seen: 10), 10))
    #expect(isOn(&planner, needs(seen: 10), 16))
    #expect(isOn(&planner, needs(seen: 10), 18))
    #expect(!isOn(&planner, needs(seen: 18.2), 18.2))
  }

  @Test func receiverIsOffWithoutDemands() {
    var planner = planner()
    var nothing = PowerNeeds()
    #expect(planner.demands(for: nothing, at: Timestamp(seconds: 1)).values.allSatisfy { $0 == .off })
    #expect(planner.nextDeadline == nil && !planner.isReceiverOn)
    // Monitored regions alone power the receiver, and the accelerometer for detection of motion.
    nothing.distanceToBoundary = 5
    nothing.watchesMotion = true
    let demands = planner.demands(for: nothing, at: Timestamp(seconds: 2))
    #expect(demands[.positioning] != .off && demands[.accelerometer] == Self.watch)
    #expect(demands[.gyroscope] == .off && demands[.magnetometer] == .off)
  }

  @Test func restStopsAllSensorsAndMotionStartsThem() throws {
    var planner = planner()
    // All requested sensors are on in motion and until rest or motion has been detected.
    #expect(
      planner.demands(for: needs(), at: Timestamp(seconds: 1)).filter { $0.key != .positioning }
        .filter(\.value.isOn) == Self.inertial)
    planner.observe(isAtRest: true, since: Timestamp(seconds: 9))
    // A fix from before the rest is not its position.
    var demands = planner.demands(for: needs(seen: 8.5, speed: 4), at: Timestamp(seconds: 10.5))
    #expect(demands[.accelerometer] == Self.watch)
    #expect(demands[.gyroscope] == .off && demands[.magnetometer] == .off)
    #expect(try #require(planner.nextDeadline).seconds < 17)
    #expect(isOn(&planner, needs(seen: 8.5, speed: 4), 17))
    #expect(!isOn(&planner, needs(seen: 18), 18))
    #expect(planner.nextDeadline == Timestamp(seconds: 18 + PowerPlanner.longestSleep))
    #expect(!isOn(&planner, needs(seen: 18), 1500))

    planner.observe(isAtRest: false, since: Timestamp(seconds: 1500))
    demands = planner.demands(for: needs(seen: 18), at: Timestamp(seconds: 1501))
    #expect(demands[.positioning] != .off)
    #expect(demands[.gyroscope] == Self.inertial[.gyroscope])
    #expect(demands[.accelerometer] == Self.inertial[.accelerometer])
  }

  @Test func movingFixContradictsTheAccelerometer() throws {
    var planner = planner()
    planner.observe(isAtRest: true, since: Timestamp(seconds: 2))
    #expect(!isOn(&planner, needs(seen: 10, speed: 20), 10))
    #expect(try #require(planner.nextDeadline).seconds < 17)
  }

  @Test func hangingReceiverIsRestarted() {
    var planner = planner()
    planner.observe(isAtRest: false, since: Timestamp(seconds: 2))
    // The receiver reports rest while the vehicle shakes, then catches up.
    #expect(isOn(&planner, needs(seen: 10, speed: 0), 10))
    #expect(isOn(&planner, needs(seen: 11, speed: 37), 11))
    #expect(isOn(&planner, needs(seen: 12, speed: 18), 12))
    #expect(!isOn(&planner, needs(seen: 13, speed: 18), 13))
    // Rest with vibration, such as an idling engine, is accepted with the second fix.
    #expect(isOn(&planner, needs(seen: 13, speed: 18), 19.5))
    #expect(isOn(&planner, needs(seen: 20, speed: 0), 20))
    #expect(!isOn(&planner, needs(seen: 21, speed: 0), 21))
  }

  @Test func fineAccuraciesSleepOnlyWhilePaused() {
    var planner = planner()
    planner.observe(isAtRest: true, since: Timestamp(seconds: 2))
    var fixed = needs(.best, seen: 10)
    var demands = planner.demands(for: fixed, at: Timestamp(seconds: 10))
    #expect(demands[.positioning] != .off && demands[.gyroscope] != .off)
    fixed.location.isPaused = true
    fixed.location.distance = .infinity
    demands = planner.demands(for: fixed, at: Timestamp(seconds: 11))
    #expect(demands[.positioning] == .off && demands[.gyroscope] == Self.inertial[.gyroscope])
    #expect(demands[.accelerometer] == Self.inertial[.accelerometer])
    #expect(planner.nextDeadline == Timestamp(seconds: 10 + PowerPlanner.longestSleep))
    // Without other consumers the accelerometer runs only if motion is monitored.
    fixed.inertial = [:]
    #expect(planner.demands(for: fixed, at: Timestamp(seconds: 12))[.accelerometer] == .off)
    fixed.watchesMotion = true
    #expect(planner.demands(for: fixed, at: Timestamp(seconds: 13))[.accelerometer] == Self.watch)
    planner.observe(isAtRest: false, since: Timestamp(seconds: 20))
    #expect(isOn(&planner, fixed, 20))
  }

  /// An accelerometer whose registers are frozen reports rest for ever. In a garage, the check ends.
  @Test func pauseAtRestIsCheckedPeriodically() {
    var planner = planner()
    planner.observe(isAtRest: true, since: Timestamp(seconds: 2))
    var fixed = needs(.best, seen: 10)
    (fixed.location.isPaused, fixed.location.distance) = (true, .infinity)
    #expect(!isOn(&planner, fixed, 10))
    var time = 10 + PowerPlanner.longestSleep
    #expect(planner.nextDeadline == Timestamp(seconds: time))
    #expect(!isOn(&planner, fixed, time - 1) && isOn(&planner, fixed, time))
    #expect(planner.nextDeadline == Timestamp(seconds: time + PowerPlanner.searchLimit))
    time += PowerPlanner.searchLimit
    #expect(!isOn(&planner, fixed, time))
    time += PowerPlanner.longestSleep
    #expect(planner.nextDeadline == Timestamp(seconds: time) && isOn(&planner, fixed, time))
    fixed.location.timestamp = Timestamp(seconds: time + 3)
    #expect(!isOn(&planner, fixed, time + 3))
    #expect(planner.nextDeadline == Timestamp(seconds: time + 3 + PowerPlanner.longestSleep))
  }

  @Test func pauseAgainstAMovingFixIsCheckedSoon() {
    var planner = planner()
    planner.observe(isAtRest: true, since: Timestamp(seconds: 2))
    var fixed = needs(.best, seen: 10, speed: 15)
    (fixed.location.isPaused, fixed.location.distance) = (true, .infinity)
    #expect(!isOn(&planner, fixed, 10))
    #expect(planner.nextDeadline == Timestamp(seconds: 10 + PowerPlanner.blindSleep))
  }

  @Test func pauseWithoutAccelerometerIsCheckedPeriodically() {
    var planner = planner()
    var fixed = needs(.best, seen: 10)
    (fixed.location.isPaused, fixed.location.distance) = (true, .infinity)
    #expect(!isOn(&planner, fixed, 10))
    #expect(planner.nextDeadline == Timestamp(seconds: 10 + PowerPlanner.blindSleep))
    #expect(isOn(&planner, fixed, 70))
  }

  /// In a hall without reception, nothing but the receiver can detect that the vehicle moves again.
  @Test func pausesBetweenFailedSearchesGrowWithoutAccelerometer() {
    var planner = planner()
    var time = 0.0
    for pause in [90.0, 180, 360, 720, 810, 810] {
      time += PowerPlanner.searchLimit
      #expect(isOn(&planner, needs(.kilometer), time - 1) && !isOn(&planner, needs(.kilometer), time))
      #expect(planner.nextDeadline == Timestamp(seconds: time + pause))
      time += pause
      #expect(!isOn(&planner, needs(.kilometer), time - 1) && isOn(&planner, needs(.kilometer), time))
    }
    // Outdoors again: the next fix resets the pauses.
    let found = needs(.kilometer, seen: time + 3, speed: 14)
    #expect(!isOn(&planner, found, time + 3) && isOn(&planner, found, time + 40))
    #expect(!isOn(&planner, found, time + 40 + PowerPlanner.searchLimit))
    #expect(planner.nextDeadline == Timestamp(seconds: time + 40 + 2 * PowerPlanner.searchLimit))
  }

  /// With an accelerometer that reports motion, the pauses do not grow.
  @Test func pausesBetweenFailedSearchesInMotionAreConstant() {
    var planner = planner()
    planner.observe(isAtRest: false, since: Timestamp(seconds: 0))
    var time = 0.0
    for _ in 0..<4 {
      time += PowerPlanner.searchLimit
      #expect(!isOn(&planner, needs(.kilometer), time))
      #expect(planner.nextDeadline == Timestamp(seconds: time + PowerPlanner.searchLimit))
      time += PowerPlanner.searchLimit
      #expect(isOn(&planner, needs(.kilometer), time))
    }
  }

  // MARK: One-shot requests

  /// A request wakes the receiver from any kind of sleep, and without a fix that sleep continues afterwards.
  @Test(arguments: [
    "paused", "paused without an accelerometer", "at rest", "between two fixes", "search given up",
  ])
  func requestPowersTheReceiverInEveryState(state: String) throws {
    var planner = planner()
    let isPaused = state.hasPrefix("paused")
    var fixed = needs(
      isPaused ? .best : .hundredMeters, seen: state == "search given up" ? nil : 10,
      speed: state == "between two fixes" ? 14 : 0)
    if isPaused { (fixed.location.isPaused, fixed.location.distance) = (true, .infinity) }
    if state == "paused" || state == "at rest" {
      planner.observe(isAtRest: true, since: Timestamp(seconds: 2))
    }
    let asleep = state == "search given up" ? PowerPlanner.searchLimit + 1 : 10
    #expect(!isOn(&planner, fixed, asleep))
    let due = planner.nextDeadline
    var asked = fixed
    asked.location.request = LocationNeeds.Request(
      accuracy: .nearestTenMeters, deadline: Timestamp(seconds: asleep + 4))
    asked.location.deadline = Timestamp(seconds: asleep + 4)
    let demands = planner.demands(for: asked, at: Timestamp(seconds: asleep + 1))
    #expect(demands[.positioning] != .off)
    #expect(demands[.gyroscope] == (state == "at rest" ? .off : Self.inertial[.gyroscope]))
    #expect(planner.nextDeadline == Timestamp(seconds: asleep + 4))
    #expect(isOn(&planner, asked, asleep + 3.9))
    if state == "between two fixes" {
      #expect(due.map { $0.seconds < 17 } == true)
      return
    }
    #expect(!isOn(&planner, fixed, asleep + 4))
    #expect(planner.nextDeadline == due)
  }

  /// A fix completes the request, and the receiver sleeps again; its time to a fix is learned.
  @Test func receiverSleepsAfterAnAnsweredRequest() {
    var planner = planner()
    planner.observe(isAtRest: true, since: Timestamp(seconds: 2))
    #expect(!isOn(&planner, needs(seen: 10), 10))
    var asked = needs(seen: 10)
    asked.location.request = LocationNeeds.Request(accuracy: .best, deadline: Timestamp(seconds: 500))
    #expect(isOn(&planner, asked, 400) && isOn(&planner, asked, 499))
    asked.location.timestamp = Timestamp(seconds: 402)
    #expect(isOn(&planner, asked, 402))
    #expect(!isOn(&planner, needs(seen: 403), 403))
    #expect(planner.fixTime.warm > 1)
  }

  /// The search for a request lasts until its time limit.
  @Test func requestContinuesTheSearch() {
    var planner = planner()
    var asked = needs()
    asked.location.request = LocationNeeds.Request(
      accuracy: .hundredMeters, deadline: Timestamp(seconds: 300))
    #expect(isOn(&planner, asked, PowerPlanner.searchLimit + 1) && isOn(&planner, asked, 299))
    asked.location.request = nil
    #expect(!isOn(&planner, asked, 300))
  }

  /// Radios are used first if they are accurate enough; if they find no position, the receiver is powered.
  @Test func radiosAnswerRequestsFirst() {
    var planner = planner()
    planner.observe(isAtRest: true, since: Timestamp(seconds: 2))
    var fixed = needs(.kilometer, seen: 10)
    fixed.coarse = CoarseSupply(radios: [.cellular], joules: 0.1, receiverPower: 0.1)
    #expect(!isOn(&planner, fixed, 10))
    fixed.location.request = LocationNeeds.Request(accuracy: .kilometer, deadline: Timestamp(seconds: 500))
    let demands = planner.demands(for: fixed, at: Timestamp(seconds: 400))
    #expect(demands[.positioning] == .off && demands[.cellular]?.isOn == true)
    #expect(isOn(&planner, fixed, 404.1))
    fixed.location.request = LocationNeeds.Request(
      accuracy: .nearestTenMeters, deadline: Timestamp(seconds: 500))
    var finer = self.planner()
    finer.observe(isAtRest: true, since: Timestamp(seconds: 2))
    #expect(!isOn(&finer, needs(.kilometer, seen: 10), 10) && isOn(&finer, fixed, 400))
  }

  @Test func fixesAreDelayedOnlyIfNoneIsAwaited() {
    var planner = planner()
    var patient = needs(.best, seen: 10)
    patient.location.maxFixDelay = 10
    func latency(_ needs: PowerNeeds) -> SensorDemand? {
      planner.demands(for: needs, at: Timestamp(seconds: 11))[.positioning]
    }
    #expect(latency(patient) == .rate(hertz: 1, latency: .seconds(10)))
    let changes: [(inout PowerNeeds) -> Void] = [
      { $0.distanceToBoundary = 5000 }, { $0.errorBound = 20 }, { $0.location.isHeadingWanted = true },
      { $0.location.maxFixDelay = 0.5 },
    ]
    for change in changes {
      var impatient = patient
      change(&impatient)
      #expect(latency(impatient) == .rate(hertz: 1, latency: .seconds(1)))
    }
  }

  @Test func recorderAlsoRecordsRest() {
    var planner = planner()
    planner.observe(isAtRest: true, since: Timestamp(seconds: 2))
    var fixed = needs(seen: 10)
    fixed.restless[.accelerometer] = .rate(hertz: 50, latency: .seconds(1))
    let demands = planner.demands(for: fixed, at: Timestamp(seconds: 10))
    #expect(demands[.accelerometer] == .rate(hertz: 50, latency: .seconds(1)))
    #expect(demands[.gyroscope] == .off)
  }

  @Test func errorBoundTightensTheTolerance() throws {
    var planner = planner()
    var fixed = needs(seen: 10, speed: 14)
    fixed.errorBound = 50
    // 1.75 t² + t = 40.
    #expect(!isOn(&planner, fixed, 10))
    #expect(abs(try #require(planner.nextDeadline).seconds - (10 + 4.504 - 1.3)) < 0.01)
  }

  @Test func significantChangesRespectTheirInterval() throws {
    var planner = planner()
    var fixed = needs(.hundredMeters, seen: 10, speed: 14, distance: 500)
    fixed.location.notBefore = Timestamp(seconds: 310)
    #expect(!isOn(&planner, fixed, 10))
    #expect(abs(try #require(planner.nextDeadline).seconds - (310 - 1.3)) < 0.01)
    // A region boundary shortens the sleep.
    fixed.distanceToBoundary = 510
    #expect(!isOn(&planner, fixed, 11))
    #expect(try #require(planner.nextDeadline).seconds < 30)
  }

  /// A fix may arrive before the interval has passed. Once the distance has been driven, the location is published at the end of the
  /// interval, and not later because of that fix.
  @Test(arguments: [305.0, 309]) func significantChangeIsPublishedAfterItsInterval(fix: Double) {
    var planner = planner()
    var fixed = needs(.kilometer, seen: 10, speed: 14, distance: 500)
    fixed.location.notBefore = Timestamp(seconds: 310)
    #expect(!isOn(&planner, fixed, 10))
    // Powered early to allow for a long search.
    #expect(isOn(&planner, fixed, 309))
    fixed.location.timestamp = Timestamp(seconds: fix)
    fixed.location.distance = 0
    #expect(isOn(&planner, fixed, 309.5))
    fixed.location.timestamp = Timestamp(seconds: 309.5)
    #expect(isOn(&planner, fixed, 309.5))
  }

  /// The accuracy requested by a region applies near its boundary, in addition to the desired accuracy, which it never reduces.
  @Test func regionAccuracyIsRequiredNearItsBoundary() throws {
    var far = planner()
    #expect(!isOn(&far, needs(.kilometer, seen: 10, speed: 14, boundary: 5000), 10))
    var near = planner()
    var needs = needs(.kilometer, seen: 10, speed: 14, boundary: 510)
    needs.boundaryAccuracy = 10
    #expect(isOn(&near, needs, 10))
    // (60 − 2·5) m at 3.5 m/s² with a speed error of 1 m/s: 1.75 t² + t = 50, t = 5.067 s.
    needs.boundaryAccuracy = 60
    #expect(!isOn(&near, needs, 11))
    #expect(abs(try #require(near.nextDeadline).seconds - (10 + 5.067 - 1.3)) < 0.01)
    needs.boundaryAccuracy = 5000
    var coarse = planner()
    #expect(!isOn(&coarse, needs, 10))
    #expect(abs(try #require(coarse.nextDeadline).seconds - (10 + 13.152 - 1.3)) < 0.01)
    // The same without location updates.
    var regionsOnly = PowerNeeds(distanceToBoundary: 510)
    regionsOnly.location.timestamp = Timestamp(seconds: 10)
    (regionsOnly.location.speed, regionsOnly.location.horizontalAccuracy) = (14, 5)
    var other = planner()
    #expect(!isOn(&other, regionsOnly, 10))
    regionsOnly.boundaryAccuracy = 10
    other = planner()
    #expect(isOn(&other, regionsOnly, 10))
  }

  @Test(arguments: [0.0, 5, 14, 60, 90], [0.0, 1, 13, 30, 600])
  func coverageMatchesItsDeadline(speed: Double, seconds: Double) {
    for mobility in [Mobility.vehicle, .pedestrian, .other] {
      let metres = mobility.metersCovered(in: seconds, startingAt: speed)
      #expect(abs(mobility.secondsToCover(metres, startingAt: speed) - seconds) < 1e-6)
    }
  }

  @Test func failedSearchPauses() throws {
    var planner = planner()
    #expect(isOn(&planner, needs(), 89.9))
    #expect(!isOn(&planner, needs(), 90))
    #expect(planner.nextDeadline == Timestamp(seconds: 180))
    #expect(isOn(&planner, needs(), 180))
    // The pause is longer at rest, and motion ends it.
    planner.observe(isAtRest: true, since: Timestamp(seconds: 200))
    #expect(!isOn(&planner, needs(), 270))
    #expect(planner.nextDeadline == Timestamp(seconds: 270 + 810))
    planner.observe(isAtRest: false, since: Timestamp(seconds: 400))
    #expect(isOn(&planner, needs(), 400))
    // The search is not interrupted if the best accuracy is requested.
    var best = self.planner()
    #expect(isOn(&best, needs(.best), 1000))
  }

  @Test func timeToFixIsEstimatedBySleepDuration() {
    var estimate = FixTimeEstimate(brief: 4, warm: 8)
    estimate.observe(seconds: 2, afterSleeping: 8)
    #expect(estimate.brief == 3.5)
    estimate.observe(seconds: 5, afterSleeping: 8)
    #expect(estimate.brief == 5 && estimate.warm == 8)
    estimate.observe(seconds: 10, afterSleeping: 600)
    #expect(estimate.brief == 5 && estimate.warm == 10)
    // Cold starts and invalid values are not learned.
    estimate.observe(seconds: 30, afterSleeping: 7200)
    estimate.observe(seconds: -1, afterSleeping: 8)
    #expect(estimate.brief == 5 && estimate.warm == 10)
    #expect([59, 60, 7200].map(estimate.seconds(afterSleeping:)) == [5, 10, 35])
    // A single long time, as in a tunnel, is ignored; a repeated one is learned.
    var tunnel = FixTimeEstimate(brief: 1)
    tunnel.observe(seconds: 40, afterSleeping: 8)
    #expect(tunnel.brief == 1)
    tunnel.observe(seconds: 1, afterSleeping: 8)
    tunnel.observe(seconds: 9, afterSleeping: 8)
    #expect(tunnel.brief == 1)
    tunnel.observe(seconds: 7, afterSleeping: 8)
    #expect(tunnel.brief == 7)
    for _ in 0..<50 { estimate.observe(seconds: 1, afterSleeping: 8) }
    #expect(abs(estimate.brief - 1) < 0.01)

    var planner = planner()
    _ = isOn(&planner, needs(seen: 10), 10)
    _ = isOn(&planner, needs(seen: 10), 17)
    _ = isOn(&planner, needs(seen: 18.5), 18.5)
    #expect(planner.fixTime.brief == 1.5)
  }

  @Test func mobilityLimitsTheDistance() {
    let car = Mobility(topSpeed: 10, manoeuvre: 2)
    #expect(car.secondsToCover(25, startingAt: 0) == 5)
    // 5 s and 25 m to the top speed, then 10 m/s.
    #expect(car.secondsToCover(125, startingAt: 0) == 15)
    #expect(car.secondsToCover(50, startingAt: 99) == 5)
    #expect(car.secondsToCover(0, startingAt: 5) == 0 && car.secondsToCover(-1, startingAt: 5) == 0)
    // The opposite direction: the distance grows by up to 20 m/s.
    #expect(car.secondsToStray(100, from: 10, error: 0) == 10)
  }
}
