public import Spatial

/// A moment at which a trip begins or ends.
public struct TripPoint: Hashable, Sendable {
  /// Nil while no clock is known.
  public var time: UTCTime?
  /// Nil where it is not known, or nobody may know it.
  public var coordinate: Coordinate?
  /// Metres at 68 %; nil where nobody says.
  public var accuracy: Double?
  /// Metres of the odometer, and those of them that were closed, not measured.
  public var distance: Double
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

/// One statement about a trip. Of those with the same series and number, the one with the greatest revision holds, and says all.
public struct TripRecord: Hashable, Sendable {
  public enum Phase: String, Hashable, Sendable, CaseIterable {
    case started, underway, ended
  }

  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// By its own wheels.
    case driven
    /// By a ferry, a train or a tow truck: it moved with the ignition off, or with wheels that stood.
    case carried
    /// Nobody watched: the odometer closed the way between two places.
    case unobserved
  }

  /// Which numbering it belongs to: another where what was kept of trips was lost.
  public var series: UInt64
  /// From 1, without gaps within a series.
  public var number: Int
  /// From 1, for each statement about the trip.
  public var revision: Int
  public var phase: Phase
  public var kind: Kind
  /// The odometer there is that of the end of the trip before.
  public var start: TripPoint
  /// The newest moment; of a trip that has ended, its end.
  public var end: TripPoint
  /// s in which the vehicle moved, and stood; s of the latter with the ignition on, nil where nobody says whether it was.
  public var moving: Double
  public var standing: Double
  public var idling: Double?
  /// m/s; nil where no speed was measured.
  public var greatestSpeed: Double?
  /// Litres, and kilowatt-hours out of the traction battery less those into it; nil where the bus does not tell them.
  public var fuel: Double?
  public var electricity: Double?
  /// How often each event happened.
  public var counts: [String: Int]
  public var driver: String?
  public var purpose: String?
  public var track: TripTrack

  /// Metres.
  public var distance: Double { end.distance - start.distance }
  /// Metres of it that were closed, not measured.
  public var estimated: Double { min(distance, max(0, end.estimated - start.estimated)) }
  /// m/s while the vehicle moved; nil where it did not.
  public var meanSpeed: Double? {
    // What it crept while it was parked is part of the way, but not of the time.
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
