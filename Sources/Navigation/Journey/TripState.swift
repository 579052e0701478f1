public import Spatial

/// The trip state that is stored across restarts.
public struct TripState: Hashable, Sendable {
  /// The identity of the numbering of trips.
  public let series: UInt64
  /// The number of the last trip; 0 before the first.
  public internal(set) var count = 0
  /// The end of the last trip, from which the next one counts; nil before the first odometer value.
  public internal(set) var boundary: TripPoint?
  /// The last observed point, and the speed there in m/s.
  var seen: TripPoint?
  var speed: Double?
  /// The state of the ignition; nil if unknown.
  var ignition: Bool?
  /// The driver of the current trip and of later ones.
  public internal(set) var driver: String?
  /// The purpose of the current or next trip.
  public internal(set) var purpose: String?
  var trip: OpenTrip?
  /// The highest driving event number that can have been assigned.
  public internal(set) var events = 0
  /// Driving events that are ongoing or whose end is not confirmed in the outbox, oldest first.
  public internal(set) var lasting: [StoredEvent] = []
  /// Records that are not confirmed in the outbox, oldest first.
  public internal(set) var unconfirmed: [TripRecord] = []

  /// The maximum number of unconfirmed records that are published again. For older ones there are newer
  /// trips, or the outbox has not accepted any for weeks.
  public static let mostUnconfirmed = 64

  public init(series: UInt64) { self.series = series }

  /// The maximum number of stored events; there are fewer lasting kinds, and at most one of each is ongoing.
  static let mostLasting = 16

  /// Removes stored positions that are hidden.
  public mutating func forgetPlaces(where isHidden: (Coordinate) -> Bool = { _ in true }) {
    func bare(_ point: inout TripPoint) {
      guard let coordinate = point.coordinate, isHidden(coordinate) else { return }
      (point.coordinate, point.accuracy) = (nil, nil)
    }
    if var point = boundary {
      bare(&point)
      boundary = point
    }
    if var point = seen {
      bare(&point)
      seen = point
    }
    if var open = trip {
      bare(&open.start)
      bare(&open.end)
      open.track.forgetPlaces(where: isHidden)
      if var stir = open.stir {
        bare(&stir)
        open.stir = stir
      }
      trip = open
    }
    for index in unconfirmed.indices {
      bare(&unconfirmed[index].start)
      bare(&unconfirmed[index].end)
      unconfirmed[index].track.forgetPlaces(where: isHidden)
    }
    for index in lasting.indices where lasting[index].coordinate.map(isHidden) == true {
      (lasting[index].coordinate, lasting[index].accuracy, lasting[index].speed) = (nil, nil, nil)
    }
  }

  /// The state without trips and positions: only the numbering of trips and events.
  public var numbers: TripState {
    var bare = TripState(series: series)
    (bare.count, bare.events, bare.lasting) = (count, events, lasting)
    return bare
  }

  /// The number of the current trip; nil before it was published.
  public var tripNumber: Int? { trip?.number }

  /// True if a published trip is in progress.
  public var isUnderway: Bool { tripNumber != nil }
}

/// A trip in progress.
struct OpenTrip: Hashable, Sendable {
  /// The number; nil until the distance is long enough.
  var number: Int?
  var revision = 0
  var kind = TripRecord.Kind.driven
  var start: TripPoint
  /// The last point in motion, which is the end if no motion follows.
  var end: TripPoint
  /// The odometer at the start of motion, m.
  var origin: Double
  /// The time in s from the start to the last observation, to the end, and to the last record.
  var elapsed = 0.0
  var endElapsed = 0.0
  var toldElapsed = 0.0
  var moving = 0.0
  /// The time at rest in s until `end`, and after it.
  var standing = 0.0
  var idling = 0.0
  var pendingIdling = 0.0
  var hasMoved = false
  var knowsIgnition = false
  var greatestSpeed: Double?
  var fuel: Double?
  var electricity: Double?
  var counts: [String: Int] = [:]
  var track = TripTrack()
  /// The first possible motion after `end`, and its `elapsed`.
  var stir: TripPoint?
  var stirElapsed = 0.0

  init(kind: TripRecord.Kind, start: TripPoint, boundary: TripPoint) {
    self.kind = kind
    origin = start.distance
    end = start
    self.start = start
    (self.start.distance, self.start.estimated) = (boundary.distance, boundary.estimated)
  }

  /// The time since the last motion in s.
  var standingFor: Double { elapsed - endElapsed }

  /// Extends the trip to a point in motion, and counts the stop before it.
  mutating func extend(to point: TripPoint) {
    standing = max(0, elapsed - moving)
    idling += pendingIdling
    pendingIdling = 0
    (end, endElapsed, stir) = (point, elapsed, nil)
  }

  mutating func observe(speed: Double?) {
    if let speed { greatestSpeed = max(greatestSpeed ?? 0, speed) }
  }

  /// Corrects the trip's times by its elapsed time, after civil time became known or was set.
  mutating func observe(_ time: UTCTime?) {
    guard let time else { return }
    // A smaller difference is clock drift.
    let drift = Self.tolerance + Self.drift * elapsed
    if let began = start.time, abs(time.seconds(since: began) - elapsed) <= drift { return }
    start.time = time.advanced(bySeconds: -elapsed)
    end.time = time.advanced(bySeconds: endElapsed - elapsed)
  }

  /// Tolerance in s and drift in s per s: clocks without a receiver drift by about 100 ppm, and times of
  /// positions are late by tenths of a second.
  private static let (tolerance, drift) = (2.0, 0.001)

  func record(_ state: TripState, _ phase: TripRecord.Phase) -> TripRecord? {
    guard let number else { return nil }
    var end = end
    if let began = start.time { end.time = max(end.time ?? began.advanced(bySeconds: endElapsed), began) }
    end.distance = max(end.distance, start.distance)
    return TripRecord(
      series: state.series, number: number, revision: revision, phase: phase, kind: kind, start: start,
      end: end, moving: min(moving, endElapsed), standing: standing,
      idling: knowsIgnition ? min(idling, standing) : nil, greatestSpeed: greatestSpeed, fuel: fuel,
      electricity: electricity, counts: counts, driver: state.driver, purpose: state.purpose, track: track)
  }
}
