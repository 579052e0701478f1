public import Spatial

/// The start or the end of a trip.
public struct TripPoint: Hashable, Sendable {
  /// Civil time; nil while the clock is not set.
  public var time: UTCTime?
  /// The position; nil if it is unknown or hidden.
  public var coordinate: Coordinate?
  /// The 68 % radius in m; nil if unknown.
  public var accuracy: Double?
  /// The odometer in m.
  public var distance: Double
  /// The part of the odometer in m that was estimated in gaps.
  public var estimated: Double

  public init(
    time: UTCTime? = nil, coordinate: Coordinate? = nil, accuracy: Double? = nil, distance: Double = 0,
    estimated: Double = 0
  ) {
    self.time = time
    self.coordinate = coordinate
    self.accuracy = accuracy
    self.distance = distance
    self.estimated = estimated
  }
}

/// A revision of the record of a trip. Of several records with the same series and number, the record with
/// the highest revision is valid and contains the whole trip.
public struct TripRecord: Hashable, Sendable {
  public enum Phase: String, Hashable, Sendable, CaseIterable {
    case started, underway, ended
  }

  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// Driven on its own wheels.
    case driven
    /// Carried by a ferry, train or tow truck: moved with the ignition off or with wheels at rest.
    case carried
    /// Unobserved: the odometer closed a gap between two positions.
    case unobserved
  }

  /// The identity of the numbering of trips. If the stored trips were lost, a new series starts.
  public var series: UInt64
  /// The number of the trip, from 1 without gaps within a series.
  public var number: Int
  /// The revision of this record, from 1 for each trip.
  public var revision: Int
  public var phase: Phase
  public var kind: Kind
  /// The start of the trip. Its odometer value equals the value at the end of the previous trip.
  public var start: TripPoint
  /// The latest point; the end of a completed trip.
  public var end: TripPoint
  /// The time in motion, s.
  public var moving: Double
  /// The time at rest, s.
  public var standing: Double
  /// The part of `standing` with the ignition on in s; nil if the state of the ignition is unknown.
  public var idling: Double?
  /// The maximum speed in m/s; nil if no speed was measured.
  public var greatestSpeed: Double?
  /// The fuel used in litres; nil if the vehicle does not report it.
  public var fuel: Double?
  /// The net energy from the traction battery in kWh; nil if the vehicle does not report it.
  public var electricity: Double?
  /// The number of driving events by name.
  public var counts: [String: Int]
  public var driver: String?
  public var purpose: String?
  public var track: TripTrack

  /// The distance in m.
  public var distance: Double { end.distance - start.distance }
  /// The part of the distance in m that was estimated in gaps.
  public var estimated: Double { min(distance, max(0, end.estimated - start.estimated)) }
  /// The mean speed in motion in m/s; nil if the vehicle did not move.
  public var meanSpeed: Double? {
    // Creeping while parked adds to the distance but not to the time, so the quotient is limited.
    moving > 0 ? min(distance / moving, greatestSpeed ?? .infinity) : nil
  }

  public init(
    series: UInt64, number: Int, revision: Int, phase: Phase, kind: Kind, start: TripPoint, end: TripPoint,
    moving: Double, standing: Double, idling: Double? = nil, greatestSpeed: Double? = nil,
    fuel: Double? = nil,
    electricity: Double? = nil, counts: [String: Int] = [:], driver: String? = nil, purpose: String? = nil,
    track: TripTrack = TripTrack()
  ) {
    self.series = series
    self.number = number
    self.revision = revision
    self.phase = phase
    self.kind = kind
    self.start = start
    self.end = end
    self.moving = moving
    self.standing = standing
    self.idling = idling
    self.greatestSpeed = greatestSpeed
    self.fuel = fuel
    self.electricity = electricity
    self.counts = counts
    self.driver = driver
    self.purpose = purpose
    self.track = track
  }
}
