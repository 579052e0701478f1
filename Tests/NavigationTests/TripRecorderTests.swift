import Glibc
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

@testable import Navigation

/// Start and end of trips, their content, and the stored state.
@Suite struct TripRecorderTests {
  private static let origin = Coordinate(latitude: 48, longitude: 11)

  /// A vehicle that drives north, one sample per second.
  private struct Road {
    var recorder = TripRecorder(TripState(series: 7))
    var now = 0
    var distance = 1000.0
    var ignition: Bool?
    var fuelRate: Double?
    /// Error of UTC in s.
    var clock = 0.0
    var told: [TripRecord] = []

    var sample: TripSample {
      TripSample(
        timestamp: Timestamp(seconds: Double(now)), time: time(now), isLocated: true,
        coordinate: LocalFrame(origin: TripRecorderTests.origin).coordinate(at: SIMD2(0, distance)),
        accuracy: 3,
        speed: 0, distance: distance, ignition: ignition, fuelRate: fuelRate)
    }

    func time(_ second: Int) -> UTCTime {
      UTCTime(nanoseconds: 1_790_000_000_000_000_000).advanced(bySeconds: Double(second) + clock)
    }

    mutating func go(_ seconds: Int, speed: Double = 0) {
      for _ in 0..<seconds {
        now += 1
        distance += speed
        var sample = sample
        sample.speed = speed
        recorder.process(sample)
        told += recorder.drain()
      }
    }

    /// Restarts from the stored state after the given time in s; the vehicle has moved by `way` metres.
    mutating func restart(after seconds: Int, way: Double = 0) throws {
      recorder = TripRecorder(try TripState(text: recorder.state.text))
      now += seconds
      distance += way
    }

    var ended: [TripRecord] { told.filter { $0.phase == .ended } }
  }

  @Test func tripLastsFromFirstMotionToRest() throws {
    var road = Road()
    road.go(100)
    road.go(600, speed: 10)
    road.go(301)
    #expect(road.told.map(\.phase) == [.started, .underway, .ended])
    let trip = try #require(road.ended.first)
    #expect((trip.number, trip.revision, trip.kind) == (1, 3, .driven))
    #expect(trip.start.time == road.time(100) && trip.end.time == road.time(700))
    #expect(trip.distance == 6000 && trip.moving == 600 && trip.standing == 0)
    #expect(trip.meanSpeed == 10 && trip.greatestSpeed == 10)
    #expect(trip.idling == nil && trip.fuel == nil)
    #expect(road.recorder.nextDeadline == nil)
  }

  /// A stop shorter than the configured limit is part of the trip.
  @Test(arguments: [(299, 1), (302, 2)]) func longStopEndsATrip(stop: Int, trips: Int) {
    var road = Road()
    road.go(10)
    road.go(100, speed: 10)
    road.go(stop)
    road.go(100, speed: 10)
    road.go(301)
    #expect(road.ended.count == trips)
    #expect(road.ended.reduce(0) { $0 + $1.distance } == 2000)
    if trips == 1 { #expect(road.ended[0].standing == Double(stop)) }
  }

  /// If a vehicle is at rest after a gap, its arrival is estimated from a slow drive; it is not the time of the first sample.
  @Test func arrivalInAGapIsNotNow() throws {
    var road = Road()
    road.go(60)
    road.go(240, speed: 10)
    (road.now, road.distance) = (road.now + 600, road.distance + 1500)
    road.go(1500)
    let trip = try #require(road.ended.first)
    let end = try #require(trip.end.time)
    #expect(road.ended.count == 1 && end <= road.time(300 + 400) && end >= road.time(300 + 180))
    #expect(trip.standing <= 300 && trip.distance == 3900, "\(trip)")
  }

  /// An outage longer than any sleep of a receiver divides the trip.
  @Test func longOutageDividesTrips() {
    var road = Road()
    road.go(60)
    road.go(240, speed: 10)
    (road.now, road.distance) = (road.now + 2700, road.distance + 10_000)
    road.go(60)
    road.go(240, speed: 10)
    road.go(1500)
    #expect(road.ended.count >= 2)
    #expect(abs(road.ended.reduce(0) { $0 + $1.distance } - 14_800) < 1)
  }

  /// A trip ends by time alone: after the longest stop if the ignition state is available, otherwise after the longest sleep.
  @Test(arguments: [(nil, 1020.0), (false, 411)] as [(Bool?, Double)])
  func elapsedTimeEndsATrip(ignition: Bool?, seconds: Double) throws {
    var road = Road()
    road.ignition = ignition.map { !$0 }
    road.go(10)
    road.go(100, speed: 10)
    road.go(1)
    road.ignition = ignition
    road.go(9)
    let deadline = try #require(road.recorder.nextDeadline)
    #expect(deadline == Timestamp(seconds: seconds))
    road.recorder.advance(to: deadline)
    #expect(road.recorder.drain().map(\.phase) == [.ended])
  }

  @Test func ignitionStartsAndEndsTripsAndCountsIdling() throws {
    var road = Road()
    road.ignition = false
    road.fuelRate = 3.6
    road.go(50)
    road.ignition = true
    road.go(20)
    road.go(100, speed: 10)
    // A queue with the engine on, longer than a stop may last.
    road.go(900)
    road.go(100, speed: 10)
    road.go(30)
    road.ignition = false
    road.go(400)
    let trip = try #require(road.ended.first)
    #expect(road.ended.count == 1)
    #expect(trip.start.time == road.time(51))
    let end = try #require(trip.end.time).seconds(since: road.time(1200))
    #expect(abs(end) <= 1)
    #expect(abs((trip.idling ?? 0) - 950) <= 2 && abs(trip.standing - 950) <= 2)
    #expect(abs((trip.fuel ?? 0) - 1.15) < 0.32)
  }

  /// Ignition off in motion means that the CAN bus has gone silent; the trip continues.
  @Test func lostBusDoesNotAffectTheTrip() {
    var road = Road()
    road.ignition = true
    road.go(10)
    road.go(100, speed: 10)
    road.ignition = false
    road.go(300, speed: 10)
    road.go(301)
    #expect(road.ended.map(\.kind) == [.driven])
    #expect(road.ended.map(\.distance) == [4000])
  }

  @Test func movementWithIgnitionOffIsCarried() {
    var road = Road()
    road.ignition = true
    road.go(10)
    road.go(100, speed: 10)
    road.go(5)
    road.ignition = false
    road.go(100)
    road.go(1000, speed: 5)
    road.go(60)
    road.ignition = true
    road.go(10)
    road.go(100, speed: 10)
    road.ignition = nil
    road.go(301)
    #expect(road.ended.map(\.kind) == [.driven, .carried, .driven])
    #expect(road.ended.map(\.distance) == [1000, 5000, 1000])
    #expect(road.ended[1].start.time == road.time(215))
  }

  @Test func restartContinuesTheTrip() throws {
    var road = Road()
    road.go(10)
    for _ in 0..<200 {
      road.go(5, speed: 10)
      try road.restart(after: 4, way: 40)
    }
    road.go(10, speed: 10)
    road.go(301)
    #expect(road.ended.count == 1 && road.ended[0].number == 1)
    #expect(abs(road.ended[0].distance - (road.distance - 1000)) < 1e-6)
    #expect(abs((road.ended[0].end.time?.seconds(since: road.time(10)) ?? 0) - 1810) <= 1)
  }

  /// The process is killed every five seconds, and only the state stored at milestones is restored.
  @Test func stopEndsATripAcrossRepeatedKills() throws {
    var road = Road()
    road.go(100)
    road.go(300, speed: 10)
    var disk = road.recorder.state.text
    for _ in 0..<80 {
      road.now += 1
      road.recorder = TripRecorder(try TripState(text: disk))
      let milestones = road.recorder.milestones
      for _ in 0..<5 {
        let before = road.recorder.milestones
        road.go(1)
        if road.recorder.milestones != before { disk = road.recorder.state.text }
      }
      #expect(road.recorder.milestones - milestones <= 2)
    }
    road.go(20)
    road.go(300, speed: 10)
    road.go(302)
    #expect(road.ended.map(\.number) == [1, 2])
    #expect(abs((road.ended.first?.end.distance ?? 0) - 4000) <= 1)
    #expect(road.recorder.state.trip == nil)
  }

  @Test func unobservedMovementIsASeparateTrip() throws {
    var road = Road()
    road.go(10)
    road.go(100, speed: 10)
    road.go(301)
    try road.restart(after: 50_000, way: 20_000)
    road.go(400)
    #expect(road.ended.map(\.kind) == [.driven, .unobserved])
    #expect(road.ended.last?.distance == 20_000)
    #expect(road.ended.last?.track.isEmpty == true)
  }

  /// A few metres in a yard make no trip; they count towards the next one.
  @Test func fewMetresAreNoTrip() {
    var road = Road()
    road.go(10)
    road.go(10, speed: 2)
    road.go(1000)
    #expect(road.told.isEmpty)
    road.go(100, speed: 10)
    road.go(301)
    #expect(road.ended.map(\.distance) == [1020])
    #expect(road.ended.first?.start.time == road.time(1020))
  }

  /// After a clock step backward, the start is moved, so that no trip ends before it starts.
  @Test func clockStepBackMovesTheStart() throws {
    var road = Road()
    road.clock = 1e8
    road.go(10)
    road.go(100, speed: 10)
    road.clock = 0
    road.go(100, speed: 10)
    road.go(301)
    let trip = try #require(road.ended.first)
    #expect(trip.start.time == road.time(10) && trip.end.time == road.time(210))
  }

  @Test func driverPurposeAndEventsAreReported() throws {
    var road = Road()
    road.recorder.set(driver: "M. Øst, 3%")
    road.recorder.set(purpose: "delivery")
    road.go(10)
    road.go(100, speed: 10)
    road.recorder.count(event: "braking")
    road.recorder.count(event: "braking")
    try road.restart(after: 1, way: 10)
    road.go(10, speed: 10)
    road.go(301)
    let trip = try #require(road.ended.first)
    #expect(trip.driver == "M. Øst, 3%" && trip.purpose == "delivery" && trip.counts == ["braking": 2])
    // The driver applies to the next trip, too; the purpose does not.
    #expect(road.recorder.state.driver == "M. Øst, 3%" && road.recorder.state.purpose == nil)
  }

  @Test func unconfirmedTripsAreStored() throws {
    var road = Road()
    road.go(10)
    road.go(100, speed: 10)
    #expect(road.recorder.state.unconfirmed.map(\.phase) == [.started])
    road.recorder.confirm(series: 7, number: 1, revision: 1)
    #expect(road.recorder.state.unconfirmed.isEmpty)
    road.go(301)
    let kept = try TripState(text: road.recorder.state.text)
    #expect(kept.unconfirmed.map(\.revision) == [2])
    #expect(kept.unconfirmed.first?.distance == 1000)
  }

  @Test func changedOdometerEndsTheTripAndStartsANewOne() {
    var road = Road()
    road.go(10)
    road.go(100, speed: 10)
    road.distance = 0
    road.go(100, speed: 10)
    road.go(301)
    #expect(road.ended.map(\.distance) == [1000, 990])
  }

  // MARK: Text

  @Test func textRoundTripsAndDamagedTextNamesItsLine() throws {
    var road = Road()
    road.ignition = true
    road.go(10)
    road.go(100, speed: 10)
    let text = road.recorder.state.text
    #expect(try TripState(text: text).text == text)
    for index in text.indices {
      var damaged = text
      damaged.replaceSubrange(index...index, with: text[index] == "7" ? "8" : "7")
      #expect(throws: StoredStateError.self) { try TripState(text: damaged) }
    }
    for count in stride(from: 0, to: text.count, by: 7) {
      #expect(throws: StoredStateError.self) { try TripState(text: String(text.prefix(count))) }
    }
  }

  // MARK: Track

  /// Every omitted position is within the error bound of the line at its time, independently of the length of the track.
  @Test(arguments: [600, 20_000]) func trackStaysWithinItsErrorBound(seconds: Int) throws {
    var random = SeededGenerator(seed: 5)
    var (track, place, course) = (TripTrack(), SIMD2(0.0, 0), 0.0)
    var places: [TripTrack.Point] = []
    for second in 0..<seconds {
      course += 0.1 * random.nextNormal()
      let speed = 12 + 10 * sin(Double(second) / 40)
      place += speed * SIMD2(sin(course), cos(course))
      let point = TripTrack.Point(
        elapsed: Double(second), coordinate: LocalFrame(origin: Self.origin).coordinate(at: place))
      places.append(point)
      track.append(point)
    }
    let points = track.points
    #expect(points.count <= TripTrack.capacity)
    // Stored with a resolution of 1 cm.
    for (point, place) in [(points.first, places.first), (points.last, places.last)] {
      let (point, place) = (try #require(point), try #require(place))
      #expect(point.elapsed == place.elapsed && point.coordinate.distance(to: place.coordinate) < 0.02)
    }
    var index = 1
    var greatest = 0.0
    for point in places {
      while points[index].elapsed < point.elapsed { index += 1 }
      let (first, second) = (points[index - 1], points[index])
      let share = (point.elapsed - first.elapsed) / (second.elapsed - first.elapsed)
      let frame = LocalFrame(origin: first.coordinate)
      let error = frame.offset(of: point.coordinate) - share * frame.offset(of: second.coordinate)
      greatest = max(greatest, hypot(error.x, error.y))
    }
    #expect(greatest <= 1.001 * track.bound)
    #expect(points.count >= min(40, TripTrack.capacity / 4))
  }

  /// A track that no error bound can thin, as of a jumping receiver, is limited in size.
  @Test func trackOfJumpsIsBounded() {
    var random = SeededGenerator.announced()
    var track = TripTrack()
    for second in 0..<3000 {
      let place = Self.origin.destination(
        distance: 1e6 * random.nextUniform(), bearing: 360 * random.nextUniform())
      track.append(TripTrack.Point(elapsed: Double(second), coordinate: place))
    }
    #expect(track.points.count <= TripTrack.capacity && track.bound > 1000)
  }

  /// A track restored after a restart is identical in every digit.
  @Test func trackIsStoredUnchanged() throws {
    var random = SeededGenerator.announced()
    var track = TripTrack()
    let origin = Coordinate(latitude: -33.8, longitude: 151.2)
    for second in 0..<3000 {
      let elapsed = Double(second) + 0.9 * random.nextUniform()
      let place = origin.destination(distance: 14 * elapsed, bearing: 90 * sin(elapsed / 40))
      track.append(TripTrack.Point(elapsed: elapsed, coordinate: place))
    }
    var words = TripFields()
    words.write(track)
    var read = TripFields(Substring(words.text))
    let again = try read.track()
    #expect(track.points.count > 20 && again.points == track.points && again.bound == track.bound)
  }
}
