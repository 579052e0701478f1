public import Spatial

/// The trip state that is stored across restarts.
public struct TripState: Hashable, Sendable {
  /// The identity of the numbering of trips.
  public let series: UInt64
  /// The number of the last trip; 0 before the first.
  public internal(set) var count = 0
  /// The end of the last trip, from which the next trip counts; nil before the first odometer value.
  public internal(set) var boundary: TripPoint?
  /// The last observed point; nil before the first.
  var seen: TripPoint?
  /// The speed at the last observed point in m/s; nil if unknown.
  var speed: Double?
  /// The state of the ignition; nil if unknown.
  var ignition: Bool?
  /// The driver of the current trip and of later ones.
  public internal(set) var driver: String?
  /// The purpose of the current or next trip.
  public internal(set) var purpose: String?
  var trip: OpenTrip?
  /// The highest driving event number that may have been assigned.
  public internal(set) var events = 0
  /// Driving events that are ongoing, or whose end is not confirmed to be in the outbox, oldest first.
  public internal(set) var lasting: [StoredEvent] = []
  /// Records that are not confirmed to be in the outbox, oldest first.
  public internal(set) var unconfirmed: [TripRecord] = []

  /// The maximum number of unconfirmed records that are published again. Older records are dropped: newer
  /// trips exist, or the outbox has not accepted a record for weeks.
  public static let mostUnconfirmed = 64

  public init(series: UInt64) { self.series = series }

  /// The maximum number of stored events. It is sufficient, because there are fewer kinds of lasting events,
  /// and at most one event of each kind is ongoing.
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

  /// A state that contains only the numbering of trips and events, without trips and positions.
  public var numbers: TripState {
    var bare = TripState(series: series)
    (bare.count, bare.events, bare.lasting) = (count, events, lasting)
    return bare
  }

  /// The number of the current trip; nil without a trip, and before the trip has a number.
  public var tripNumber: Int? { trip?.number }

  /// True if a published trip is in progress.
  public var isUnderway: Bool { tripNumber != nil }
}

/// A trip in progress.
struct OpenTrip: Hashable, Sendable {
  /// The number of the trip; nil until its distance is long enough.
  var number: Int?
  var revision = 0
  var kind = TripRecord.Kind.driven
  var start: TripPoint
  /// The last point in motion, which is the end of the trip if no motion follows.
  var end: TripPoint
  /// The odometer at the start of motion, m.
  var origin: Double
  /// The time from the start to the last observation, s.
  var elapsed = 0.0
  /// The time from the start to `end`, s.
  var endElapsed = 0.0
  /// The time from the start to the last record, s.
  var toldElapsed = 0.0
  /// The time in motion, s.
  var moving = 0.0
  /// The time at rest in s until `end`.
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
  /// The point of the first possible motion after `end`; nil if there was none.
  var stir: TripPoint?
  /// The value of `elapsed` at `stir`, s.
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

  /// Extends the trip to a point in motion, and adds the time of the stop before this point.
  mutating func extend(to point: TripPoint) {
    standing = max(0, elapsed - moving)
    idling += pendingIdling
    pendingIdling = 0
    (end, endElapsed, stir) = (point, elapsed, nil)
  }

  mutating func observe(speed: Double?) {
    if let speed { greatestSpeed = max(greatestSpeed ?? 0, speed) }
  }

  /// Corrects the civil times of start and end from the trip's elapsed times, after civil time became
  /// available or was changed.
  mutating func observe(_ time: UTCTime?) {
    guard let time else { return }
    // A smaller difference is explained by clock drift.
    let drift = Self.tolerance + Self.drift * elapsed
    if let began = start.time, abs(time.seconds(since: began) - elapsed) <= drift { return }
    start.time = time.advanced(bySeconds: -elapsed)
    end.time = time.advanced(bySeconds: endElapsed - elapsed)
  }

  /// Tolerance in s, and drift in s per s. Clocks without a receiver drift by about 100 ppm, and times of
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
