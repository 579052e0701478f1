import JSON
import Pipeline
import Positioning
import Sensors
import Spatial
import Telemetry
import TestSupport
import Testing

/// Single requests, new regions and departures of a parked vehicle, in exact virtual time. Its receiver delivers
/// only while powered.
@Suite struct ParkedRequestTests {
  // MARK: Requests

  /// Seconds that the receiver has slept, and its time to a fix afterwards.
  struct Row: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var slept: Double
    var timeToFix: Double
    var hasAccelerometer = true
  }

  /// After half an hour, rest alone no longer confirms a position; without an accelerometer it never does.
  @Test(arguments: [
    Row(testDescription: "hot", slept: 20, timeToFix: 1, hasAccelerometer: false),
    Row(testDescription: "warm", slept: 2700, timeToFix: 6),
    Row(testDescription: "cold", slept: 10_800, timeToFix: 35),
  ])
  func requestPowersTheReceiverOfAParkedVehicle(row: Row) throws {
    var vehicle = try ParkedVehicle(hasAccelerometer: row.hasAccelerometer)
    vehicle.park()
    vehicle.skip(row.slept)
    #expect(!vehicle.isReceiverOn)
    let before = vehicle.receiver
    let answer = vehicle.locate(accuracy: 50, timeout: 60, timeToFix: row.timeToFix)
    #expect(answer.found?.isFresh == true && answer.found?.isSufficient == true)
    #expect((row.timeToFix...(row.timeToFix + 1.5)).contains(answer.seconds))
    vehicle.run(until: { !$0.isReceiverOn }, atMost: 5)
    let used = vehicle.receiver.seconds - before.seconds
    #expect((row.timeToFix...(row.timeToFix + 3)).contains(used))
    #expect(vehicle.receiver.joules - before.joules > 0.08 * used)
    print(
      "locate \(row.testDescription): \(answer.seconds) s to a fresh answer, receiver \(used) s,",
      "\(vehicle.receiver.joules - before.joules) J")
  }

  @Test func positionConfirmedByRestAnswersImmediately() throws {
    var vehicle = try ParkedVehicle()
    vehicle.park()
    vehicle.skip(600)
    let before = vehicle.receiver
    let answer = vehicle.locate(accuracy: 50, timeout: 20, timeToFix: 1)
    #expect(answer.seconds == 0 && answer.found?.isFresh == false && answer.found?.isSufficient == true)
    #expect(vehicle.receiver == before && !vehicle.isReceiverOn)
    // A higher accuracy than that of the known position requires the receiver.
    let finer = vehicle.locate(accuracy: 1, timeout: 20, timeToFix: 1)
    #expect(finer.found?.isFresh == true && finer.found?.isSufficient == false && finer.seconds == 20)
    vehicle.run(until: { !$0.isReceiverOn }, atMost: 5)
    #expect(!vehicle.isReceiverOn)
  }

  /// In a garage the request ends without a fix, and the receiver returns to sleep.
  @Test(arguments: [DesiredAccuracy.best, .hundredMeters, .kilometer])
  func receiverWithoutFixReturnsToSleep(accuracy: DesiredAccuracy) throws {
    var vehicle = try ParkedVehicle({ $0.location.desiredAccuracy = accuracy })
    vehicle.park()
    vehicle.skip(2700)
    let before = vehicle.receiver.seconds
    let answer = vehicle.locate(accuracy: 50, timeout: 20, timeToFix: .infinity)
    #expect(answer.seconds == 20 && answer.found?.isFresh == false)
    #expect(answer.found?.isSufficient == true)
    vehicle.run(until: { _ in false }, atMost: 5)
    #expect(!vehicle.isReceiverOn && vehicle.receiver.seconds - before <= 21)
    #expect(
      vehicle.pipeline.demands[.gyroscope] == (accuracy == .best ? .some(vehicle.motion) : .off))
  }

  /// A withheld position confirms nothing: the answer is the last one that was shown.
  @Test func withheldPositionAnswersNoRequest() throws {
    var vehicle = try ParkedVehicle({ $0.privacy.addZone(48, 11, radius: 300) })
    vehicle.drive(from: 1000, to: 0)
    vehicle.park()
    vehicle.skip(60)
    let answer = vehicle.locate(accuracy: 50, timeout: 20, timeToFix: 1)
    #expect(answer.seconds == 20 && answer.found?.isFresh == false)
    let place = try #require(answer.found?.location.location.coordinate)
    #expect(place.distance(to: ParkedVehicle.place) > 290)
    #expect(answer.found?.isSufficient == false)
  }

  // MARK: Departures that the accelerometer does not report

  /// The wheels end a pause, whether the accelerometer is silent, frozen at rest, or missing.
  @Test(arguments: ["silent", "frozen", "missing"]) func turningWheelsEndAPause(accelerometer: String) throws
  {
    var vehicle = try ParkedVehicle(
      { $0.vehicle = .init() }, hasAccelerometer: accelerometer != "missing")
    vehicle.park()
    vehicle.skip(30)
    vehicle.turnWheels(kilometersPerHour: 5)
    #expect(!vehicle.isReceiverOn)
    vehicle.turnWheels(kilometersPerHour: 6)
    #expect(vehicle.isReceiverOn && vehicle.resumptions == 1)
    // Frozen registers report rest while the wheels turn.
    for _ in 0..<200 {
      vehicle.turnWheels(kilometersPerHour: 36)
      vehicle.run(
        until: { _ in false }, atMost: 0.5, timeToFix: .infinity, isSilent: accelerometer != "frozen")
    }
    #expect(vehicle.isReceiverOn && !vehicle.pipeline.isAtRest && vehicle.resumptions == 1)
    vehicle.turnWheels(kilometersPerHour: 0)
    if accelerometer == "frozen" {
      vehicle.park()
      #expect(!vehicle.isReceiverOn)
    }
  }

  /// Without signals of the wheels, the receiver checks the position twice an hour.
  @Test func aFrozenAccelerometerDelaysADriveByHalfAnHour() throws {
    var vehicle = try ParkedVehicle()
    vehicle.park()
    vehicle.skip(1770)
    #expect(!vehicle.isReceiverOn)
    vehicle.run(until: { $0.isReceiverOn }, atMost: 40, timeToFix: .infinity)
    #expect(vehicle.isReceiverOn && vehicle.resumptions == 0)
    vehicle.drive(from: 10_000, to: 9_800)
    #expect(vehicle.isReceiverOn && vehicle.resumptions == 1)
  }

  // MARK: Regions

  @Test func regionsOfAParkedVehicleAreDecidedWithoutTheReceiver() throws {
    var vehicle = try ParkedVehicle()
    vehicle.park()
    vehicle.skip(600)
    let before = vehicle.receiver
    vehicle.watch(["home": 0, "away": 5000])
    vehicle.skip(1)
    #expect(vehicle.states == ["home": .inside, "away": .outside])
    #expect(vehicle.receiver == before)
    #expect(vehicle.toldStates == ["away:outside home:inside"])
    // An unchanged state causes no event. The dwell time starts when the region is set.
    #expect(vehicle.regionEvents.isEmpty)
    vehicle.skip(59)
    #expect(vehicle.regionEvents == ["dwell home 60.0"])
  }

  @Test func resetDecidesRegionsImmediately() throws {
    var vehicle = try ParkedVehicle()
    vehicle.watch(["home": 0, "away": 5000])
    vehicle.park()
    vehicle.skip(600)
    vehicle.pipeline.resetRegionStates { _ in }
    #expect(vehicle.states == ["home": .inside, "away": .outside])
    vehicle.skip(30)
    #expect(vehicle.toldStates.allSatisfy { !$0.contains("unknown") || $0 == "away:unknown home:unknown" })
    #expect(vehicle.toldStates.last == "away:outside home:inside")
  }

  /// Regions are not decided while positions are withheld.
  @Test func withheldPositionDecidesNoRegion() throws {
    var vehicle = try ParkedVehicle({ $0.privacy.addZone(48, 11, radius: 300) })
    vehicle.drive(from: 1000, to: 0)
    vehicle.park()
    vehicle.watch(["home": 0, "away": 5000])
    vehicle.pipeline.requestRegionStates { _ in }
    vehicle.skip(5)
    #expect(vehicle.states == ["home": .unknown, "away": .unknown] && !vehicle.isReceiverOn)
  }

  /// A new region resumes an abandoned search for satellites for a limited time.
  @Test func receiverIsPoweredWithoutAPosition() throws {
    var vehicle = try ParkedVehicle(
      { $0.location.desiredAccuracy = .hundredMeters }, { $0.location.policy = .distance(nil) })
    vehicle.run(until: { !$0.isReceiverOn }, atMost: 200, timeToFix: .infinity)
    #expect(!vehicle.isReceiverOn)
    vehicle.watch(["home": 0])
    vehicle.run(until: { $0.isReceiverOn }, atMost: 1, timeToFix: .infinity)
    #expect(vehicle.isReceiverOn)
    vehicle.run(until: { !$0.isReceiverOn }, atMost: 120, timeToFix: .infinity)
    #expect(!vehicle.isReceiverOn)
    #expect(vehicle.states == ["home": .unknown])
    vehicle.pipeline.requestRegionStates { _ in }
    vehicle.run(until: { $0.states["home"] == .inside }, atMost: 20, timeToFix: 6)
    #expect(vehicle.states == ["home": .inside])
  }

  /// A moving vehicle decides regions that it cannot have left or reached since its newest position.
  @Test func newestPositionDecidesDistantRegionsWhileMoving() throws {
    var vehicle = try ParkedVehicle()
    vehicle.drive(from: 2000, to: 500)
    vehicle.watch(["here": 500, "far": 20_000])
    vehicle.skip(0.5)
    #expect(vehicle.states["far"] == .outside)
    vehicle.drive(from: 490, to: 470)
    #expect(vehicle.states == ["here": .inside, "far": .outside])
  }
}

/// A vehicle whose sensors deliver only the demanded samples.
private struct ParkedVehicle: CustomStringConvertible {
  static let place = Coordinate(latitude: 48, longitude: 11)
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)
  private static let step = 0.25

  var description: String { "parked vehicle at \(now) s" }

  var pipeline: AgentPipeline
  private(set) var now = 0.0
  private(set) var messages: [VehicleMessage] = []
  private let hasAccelerometer: Bool
  private var onSince: Double?
  private var lastFix = -1.0
  private var watchedAt = 0.0

  init(_ settings: Setting..., hasAccelerometer: Bool = true) throws {
    self.hasAccelerometer = hasAccelerometer
    let configuration = PipelineConfiguration(
      [{ $0.statusInterval = 86400 }] + settings, isVirtual: false)
    pipeline = AgentPipeline(
      configuration: configuration, start: Timestamp(seconds: 0), time: Self.start, version: "1")
  }

  var isReceiverOn: Bool { pipeline.demands[.positioning]?.isOn ?? false }
  var receiver: EnergyAccount { pipeline.energy(at: Timestamp(seconds: now))[.receiver] ?? EnergyAccount() }
  var motion: SensorDemand { pipeline.fullDemands[.gyroscope] ?? .off }

  /// Drives along a meridian at 10 m/s, with one fix per second. Start and end are in metres from the parking position.
  mutating func drive(from: Double, to: Double) {
    for metres in stride(from: from, through: to, by: from > to ? -10 : 10) {
      now += 1
      send(fix(at: Self.place.destination(distance: metres, bearing: 0), speed: 10))
    }
  }

  /// Stops until locations are paused and the receiver sleeps.
  mutating func park() { run(until: { !$0.isReceiverOn }, atMost: 300) }

  /// Runs the sensors of the parked vehicle.
  /// - Parameters:
  ///   - timeToFix: seconds from power-on to the first fix.
  ///   - isSilent: true if the accelerometer delivers nothing.
  mutating func run(
    until isDone: (Self) -> Bool, atMost seconds: Double, timeToFix: Double = 1, isSilent: Bool = false
  ) {
    let end = now + seconds
    while now < end, !isDone(self) { advance(timeToFix: timeToFix, isSilent: isSilent) }
  }

  /// Reports a speed of the wheels on the CAN bus.
  mutating func turnWheels(kilometersPerHour speed: Double) {
    now += 0.01
    send(
      .vehicle([
        VehicleReading(
          timestamp: Timestamp(seconds: now), path: "Vehicle.Speed", value: .number(speed), origin: .broadcast
        )
      ]))
  }

  /// The number of resumptions of locations.
  var resumptions: Int {
    messages.count {
      guard case .locationEvent(let message) = $0 else { return false }
      return message.event == .resumed
    }
  }

  private mutating func advance(timeToFix: Double, isSilent: Bool = false) {
    now += Self.step
    if hasAccelerometer, !isSilent, pipeline.demands[.accelerometer]?.isOn ?? false {
      let block = (0..<5).map { index in
        InertialScan(
          timestamp: Timestamp(seconds: now - Self.step + 0.05 * Double(index + 1)),
          acceleration: Vector3(0.001 * Double(index % 3), 0, -1))
      }
      send(.inertial(block))
    }
    onSince = isReceiverOn ? onSince ?? now : nil
    if let onSince, now - onSince >= timeToFix, now - lastFix >= 1 {
      lastFix = now
      send(fix(at: Self.place, speed: 0))
    }
    pipeline.advance(to: Timestamp(seconds: now)) { messages.append($0) }
  }

  /// Advances time at rest, without samples, which would be repetitions.
  mutating func skip(_ seconds: Double) {
    onSince = nil
    let end = Timestamp(seconds: now + seconds)
    while let due = pipeline.nextDeadline, due < end {
      let time = max(due, Timestamp(seconds: now))
      pipeline.advance(to: time) { messages.append($0) }
      if let next = pipeline.nextDeadline, next <= time { break }
    }
    now += seconds
    pipeline.advance(to: end) { messages.append($0) }
  }

  /// Requests a position like the command `locate`.
  /// - Returns: seconds to the answer (infinite without one), and the answer.
  mutating func locate(
    accuracy: Double, timeout: Double, timeToFix: Double
  ) -> (seconds: Double, found: PendingCommands.Found?) {
    var commands = PendingCommands()
    if let known = pipeline.lastKnown { commands.observe(known, radius: pipeline.lastKnownAccuracy) }
    let (begin, before) = (now, pipeline.lastKnown?.location.timestamp)
    if pipeline.requestLocation(accuracy: accuracy, timeLimit: timeout), let known = pipeline.lastKnown {
      return (0, PendingCommands.Found(location: known, isFresh: false, isValid: true, accuracy: accuracy))
    }
    commands.locate(
      PendingCommands.Sender(
        command: "locate", request: RemoteRequest(subject: .command("locate"), payload: [])),
      accuracy: accuracy, since: pipeline.now, until: Timestamp(seconds: begin + timeout))
    while now - begin < timeout + 5 {
      advance(timeToFix: timeToFix, isSilent: true)
      if let known = pipeline.lastKnown, known.location.timestamp != before {
        commands.observe(known, radius: pipeline.lastKnownAccuracy)
      }
      let isConfirmed = pipeline.isAtLastKnown
      let answers = commands.located(
        at: Timestamp(seconds: now), isConfirmed: isConfirmed)
      if let answer = answers.first {
        return (now - begin, answer.1)
      }
    }
    return (.infinity, nil)
  }

  private func fix(at place: Coordinate, speed: Double) -> SensorEvent {
    var fix = PositionFix(
      timestamp: Timestamp(seconds: now), time: Self.start.advanced(bySeconds: now), mode: .threeDimensional,
      coordinate: place)
    (fix.speed, fix.course, fix.horizontalError, fix.speedError) = (speed, 180, 5, 0.2)
    return .position([fix])
  }

  private mutating func send(_ event: SensorEvent) { pipeline.process(event) { messages.append($0) } }

  // MARK: Regions

  /// Monitors circles with a radius of 100 m at distances in metres from the parking position, with a dwell
  /// time of one minute.
  mutating func watch(_ distances: [String: Double]) {
    pipeline.regions.replaceAll(
      distances.sorted { $0.key < $1.key }.map { name, metres in
        Region(
          identifier: name, center: Self.place.destination(distance: metres, bearing: 0), radius: 100,
          dwell: 60)
      })
    (watchedAt, messages) = (now, [])
    pipeline.advance(to: Timestamp(seconds: now)) { messages.append($0) }
  }

  var states: [String: RegionState] {
    Dictionary(
      uniqueKeysWithValues: pipeline.regions.statuses(limit: 100).map { ($0.identifier, $0.state) })
  }

  /// The `regions/state` messages since `watch`.
  var toldStates: [String] {
    messages.compactMap { message in
      guard case .regionsState(let states) = message else { return nil }
      return states.regions.map { "\($0.identifier):\($0.state)" }.joined(separator: " ")
    }
  }

  /// The region events since `watch`, each with seconds since then.
  var regionEvents: [String] {
    messages.compactMap { message in
      guard case .region(let region) = message else { return nil }
      let seconds = region.time.seconds(since: Self.start) - watchedAt
      return "\(region.event) \(region.region) \((seconds * 10).rounded() / 10)"
    }
  }
}
