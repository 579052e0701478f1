public import Spatial

/// What is kept of trips across restarts.
public struct TripState: Hashable, Sendable {
  /// Which numbering trips belong to.
  public let series: UInt64
  /// The number of the newest trip; 0 before the first.
  public internal(set) var count = 0
  /// Where the last trip has ended, and so the next begins to count; nil before the odometer was seen.
  public internal(set) var boundary: TripPoint?
  /// The newest moment that was watched, and the speed then in m/s.
  var seen: TripPoint?
  var speed: Double?
  /// Nil where nobody says.
  var ignition: Bool?
  /// Of the trip under way and of those to come.
  public internal(set) var driver: String?
  /// Of the trip under way, or of the next one.
  public internal(set) var purpose: String?
  var trip: OpenTrip?
  /// Numbers of driving events up to this one may have been given out.
  public internal(set) var events = 0
  /// Driving events that go on, or whose end is not known to be safe in the outbox, the oldest first.
  public internal(set) var lasting: [KeptEvent] = []
  /// Statements of which is not known that they are safe in the outbox, the oldest first.
  public internal(set) var unconfirmed: [TripRecord] = []

  /// Statements that are told again at most: of older trips there are newer ones, or nobody has fetched them for weeks.
  public static let mostUnconfirmed = 64

  public init(series: UInt64) { self.series = series }

  /// Events that are kept at most: there are fewer kinds that last, and one of each at a time.
  static let mostLasting = 16

  /// Takes out where the vehicle was, or what of that nobody may know any longer.
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

  /// Without any trip: what tells trips and events from others.
  public var numbers: TripState {
    var bare = TripState(series: series)
    (bare.count, bare.events, bare.lasting) = (count, events, lasting)
    return bare
  }

  /// Of the trip under way; nil before it has been told.
  public var tripNumber: Int? { trip?.number }

  /// Whether a trip is under way that has been told.
  public var isUnderway: Bool { tripNumber != nil }
}

/// A trip that has not ended yet.
struct OpenTrip: Hashable, Sendable {
  /// Nil until it has gone far enough to be one.
  var number: Int?
  var revision = 0
  var kind = TripRecord.Kind.driven
  var start: TripPoint
  /// The newest moment of motion: where it ends if none follows.
  var end: TripPoint
  /// Metres of the odometer when it began to move.
  var origin: Double
  /// s from its start to the newest moment that was watched, to its end, and to the last statement.
  var elapsed = 0.0
  var endElapsed = 0.0
  var toldElapsed = 0.0
  var moving = 0.0
  /// s until `end`, and after it.
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
  /// The first motion after `end` that has not been taken for one yet, and its `elapsed`.
  var stir: TripPoint?
  var stirElapsed = 0.0

  init(kind: TripRecord.Kind, start: TripPoint, boundary: TripPoint) {
    self.kind = kind
    origin = start.distance
    end = start
    self.start = start
    (self.start.distance, self.start.estimated) = (boundary.distance, boundary.estimated)
  }

  /// s since its last motion.
  var standingFor: Double { elapsed - endElapsed }

  /// The vehicle has moved, so what it stood belongs to the trip.
  mutating func extend(to point: TripPoint) {
    standing = max(0, elapsed - moving)
    idling += pendingIdling
    pendingIdling = 0
    (end, endElapsed, stir) = (point, elapsed, nil)
  }

  mutating func observe(speed: Double?) {
    if let speed { greatestSpeed = max(greatestSpeed ?? 0, speed) }
  }

  /// What stands in between is the trip's: the clock is known now, or was wrong.
  mutating func observe(_ time: UTCTime?) {
    guard let time else { return }
    // A clock that runs off by no more than this is none that was set.
    let drift = Self.tolerance + Self.drift * elapsed
    if let began = start.time, abs(time.seconds(since: began) - elapsed) <= drift { return }
    start.time = time.advanced(bySeconds: -elapsed)
    end.time = time.advanced(bySeconds: endElapsed - elapsed)
  }

  /// s, and s a second: clocks without a receiver run off by some 100 ppm, and times of places are late by tenths.
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
