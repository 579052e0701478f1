import Glibc
import Navigation
import Sensors
import Simulation
import Spatial

/// A simulated day of a vehicle at one sample per second, with its true trips.
struct SimulatedDay {
  struct Second {
    /// Speed in m/s and course in degrees.
    var speed = 0.0
    var course = 0.0
    var ignition = false
    /// True if the receiver has a fix.
    var hasSky = true
    /// True if the device has power.
    var hasPower = true
    /// Kind of stop of the agent in this second; nil if it continues.
    var end: End?

    enum End { case killed, powerCut }
  }

  struct Trip {
    var kind: TripRecord.Kind
    /// Start and end of motion and of ignition, in seconds of the day.
    var start, end: Int
    var ignitionOn, ignitionOff: Int
    /// True if the agent had power and a position at the start and at the end, respectively.
    var isStartWatched = true
    var isEndWatched = true
  }

  var seconds: [Second] = []
  var trips: [Trip] = []
  private var random: SeededGenerator
  private var course = 0.0
  private var second = Second()

  init(_ random: SeededGenerator) {
    self.random = random
    course = 360 * self.random.nextUniform()
    stay(count(600, 7200))
    for _ in 0..<count(2, 5) {
      if chance(0.15) { dieParked() }
      if chance(0.1) { tow() }
      if chance(0.1) { restartParked() }
      trip()
      // Some batteries fail shortly after the vehicle has stopped.
      stay(15)
      if chance(0.1) { dieParked() }
      stay(count(1000, 9000))
    }
  }

  private mutating func chance(_ share: Double) -> Bool { random.nextUniform() < share }
  private mutating func count(_ least: Int, _ most: Int) -> Int {
    least + Int(random.nextUniform() * Double(most - least + 1))
  }

  private mutating func stay(_ count: Int) {
    second.speed = 0
    for _ in 0..<count { seconds.append(second) }
  }

  /// Accelerates to a speed and keeps it.
  private mutating func move(_ count: Int, speed: Double, turns: Double = 6) {
    for _ in 0..<count {
      let change = speed - second.speed
      second.speed += max(-2.5, min(1.5, change))
      course += turns * random.nextNormal()
      second.course = normalizedDegrees(course)
      seconds.append(second)
    }
  }

  private mutating func halt() {
    while second.speed > 0 { move(1, speed: 0) }
  }

  /// The battery is empty for hours while the vehicle is parked.
  private mutating func dieParked() {
    second.hasPower = false
    stay(count(1800, 14_400))
    second.hasPower = true
    stay(count(60, 600))
  }

  private mutating func restartParked() {
    second.end = .killed
    stay(1)
    second.end = nil
    second.hasPower = false
    stay(count(2, 900))
    second.hasPower = true
    stay(count(60, 600))
  }

  /// The vehicle is towed with the ignition off.
  private mutating func tow() {
    let start = seconds.count
    move(count(200, 1500), speed: Double(count(5, 20)))
    halt()
    trips.append(
      Trip(kind: .carried, start: start, end: seconds.count, ignitionOn: start, ignitionOff: seconds.count))
    stay(count(1000, 3000))
  }

  private mutating func trip() {
    second.ignition = true
    let on = seconds.count
    stay(count(2, 60))
    var start = seconds.count
    var begin = on
    for _ in 0..<count(1, 5) {
      move(count(60, 900), speed: Double(count(5, 30)))
      switch count(0, 9) {
      case 0: tunnel()
      case 1: queue()
      case 2:
        // A stop for fuel.
        halt()
        second.ignition = false
        stay(count(30, 240))
        second.ignition = true
      case 3: restart(.killed, away: count(2, 40))
      case 4: restart(.powerCut, away: count(20, 200))
      case 5 where chance(0.5):
        halt()
        stay(count(2, 30))
        finish(start, begin)
        ferry()
        second.ignition = true
        begin = seconds.count
        stay(count(5, 30))
        start = seconds.count
        move(count(60, 600), speed: Double(count(5, 20)))
      default:
        halt()
        stay(count(5, 120))
      }
    }
    halt()
    stay(count(1, 40))
    finish(start, begin)
  }

  /// Switches the ignition off and adds the trip.
  private mutating func finish(_ start: Int, _ on: Int) {
    second.ignition = false
    var last = seconds.count - 1
    while last > 0, seconds[last].speed == 0 { last -= 1 }
    trips.append(Trip(kind: .driven, start: start, end: last + 1, ignitionOn: on, ignitionOff: seconds.count))
  }

  private mutating func tunnel() {
    second.hasSky = false
    if chance(0.3) {
      queue()
    } else {
      move(count(30, 400), speed: second.speed)
    }
    second.hasSky = true
    move(30, speed: 15)
  }

  private mutating func queue() {
    for _ in 0..<count(3, 12) {
      halt()
      stay(count(5, 100))
      move(count(10, 40), speed: 4)
    }
  }

  private mutating func restart(_ end: Second.End, away: Int) {
    second.end = end
    move(1, speed: second.speed)
    second.end = nil
    second.hasPower = false
    move(away, speed: second.speed)
    second.hasPower = true
    move(60, speed: 12)
  }

  private mutating func ferry() {
    stay(count(400, 900))
    second.hasSky = chance(0.6)
    let start = seconds.count
    move(count(900, 3600), speed: 8, turns: 0.5)
    halt()
    let hasSky = second.hasSky
    trips.append(
      Trip(
        kind: .carried, start: start, end: seconds.count, ignitionOn: start, ignitionOff: seconds.count,
        isStartWatched: hasSky, isEndWatched: hasSky))
    second.hasSky = true
    stay(count(400, 900))
  }
}

/// The agent on a simulated day: sensors, odometer and trips, with the state stored on its disk.
struct SimulatedAgent {
  struct Equipment {
    var hasIgnition: Bool
    var hasAccelerometer: Bool
  }

  let equipment: Equipment
  private var random: SeededGenerator
  private var odometer = Odometer()
  private var recorder: TripRecorder
  /// Odometer state in memory, which survives a kill, and on disk.
  private var memory = OdometerState()
  private var disk = OdometerState()
  private var trips: String
  private var lastKept = 0
  private var keptMilestones = 0
  private var isRunning = true
  /// Second of the first position since the last power-up.
  private var firstFix = 0
  private var place = SIMD2(0.0, 0)
  private var noise = SIMD2(0.0, 0)
  private var now = 0
  private var boot = 0
  private(set) var told: [TripRecord] = []

  static let epoch: Int64 = 1_790_000_000
  private static let origin = Coordinate(latitude: 54, longitude: 10)

  init(_ random: SeededGenerator, _ equipment: Equipment) {
    self.random = random
    self.equipment = equipment
    recorder = TripRecorder(TripState(series: 1))
    trips = recorder.state.text
  }

  var distance: Double { odometer.distance }
  var state: TripState { recorder.state }

  mutating func process(_ second: SimulatedDay.Second) {
    let angle = second.course * .pi / 180
    let velocity = second.speed * SIMD2(sin(angle), cos(angle))
    place += velocity
    now += 1
    noise = 0.98 * noise + 0.5 * SIMD2(random.nextNormal(), random.nextNormal())
    guard second.hasPower else {
      isRunning = false
      return
    }
    if !isRunning { start() }
    let timestamp = Timestamp(seconds: Double(now - boot))
    let time = UTCTime(nanoseconds: (Self.epoch + Int64(now)) * 1_000_000_000)
    let isResting = equipment.hasAccelerometer ? second.speed == 0 : nil
    var sample = TripSample(
      timestamp: timestamp, time: time, distance: odometer.distance, estimated: odometer.estimated,
      ignition: equipment.hasIgnition ? second.ignition : nil, isResting: isResting)
    if second.hasSky, now >= firstFix, !isAsleep(second) {
      let measured =
        velocity + 0.05 * SIMD2(random.nextNormal(), random.nextNormal())
      let coordinate = LocalFrame(origin: Self.origin).coordinate(at: place + noise)
      let speed = hypot(measured.x, measured.y)
      odometer.process(
        OdometerSample(
          timestamp: timestamp, time: time, coordinate: coordinate, accuracy: 4, speed: speed,
          course: normalizedDegrees(atan2(measured.x, measured.y) * 180 / .pi)))
      memory = odometer.state
      (sample.isLocated, sample.coordinate, sample.accuracy, sample.speed) = (true, coordinate, 4, speed)
      (sample.distance, sample.estimated) = (odometer.distance, odometer.estimated)
    }
    recorder.process(sample)
    keep(second)
    if second.end != nil {
      isRunning = false
      if second.end == .powerCut { memory = disk }
    }
  }

  /// With an accelerometer, the receiver sleeps while the vehicle is parked.
  private func isAsleep(_ second: SimulatedDay.Second) -> Bool {
    equipment.hasAccelerometer && second.speed == 0 && !recorder.state.isUnderway && now > firstFix + 30
  }

  private mutating func keep(_ second: SimulatedDay.Second) {
    let records = recorder.drain()
    if recorder.milestones != keptMilestones || now - lastKept >= 60 {
      keptMilestones = recorder.milestones
      disk = odometer.state
      trips = recorder.state.text
      lastKept = now
    } else if now % 3 == 0 {
      disk = odometer.state
    }
    for record in records {
      told.append(record)
      recorder.confirm(series: record.series, number: record.number, revision: record.revision)
    }
  }

  private mutating func start() {
    isRunning = true
    boot = now - 5
    firstFix = now + 2 + Int(20 * random.nextUniform())
    odometer = Odometer(memory)
    guard let state = try? TripState(text: trips) else { return }
    recorder = TripRecorder(state)
    keptMilestones = 0
  }
}
