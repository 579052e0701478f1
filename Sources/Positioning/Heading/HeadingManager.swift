public import Motion
public import Spatial

/// Decides which headings are worth telling, and how far they can be trusted.
public struct HeadingManager: Sendable {
  /// Degrees that the heading must turn from the last one told; nil tells every one.
  public var headingFilter: Double?
  /// How the device is held: the heading is of the side that is then up.
  public var headingOrientation: DeviceOrientation
  /// Degrees by which magnetic north lies east of true north here; nil when unknown.
  public var declination: Double?
  /// Whether the device is fixed in a vehicle that goes where it points. Then a steady difference to the course is taken
  /// off the heading.
  public var followsCourse: Bool

  /// The newest heading told; nil before the first.
  public private(set) var heading: Heading?
  /// How often the course began to contradict the heading, since the start.
  public private(set) var contradictionCount = 0

  private var course = CourseCheck()

  /// Degrees: a heading that is less exact asks for a calibration.
  private static let worstAccuracy = 25.0

  public init(
    headingFilter: Double? = nil, headingOrientation: DeviceOrientation = .portrait,
    followsCourse: Bool = true
  ) {
    self.headingFilter = headingFilter
    self.headingOrientation = headingOrientation
    self.followsCourse = followsCourse
  }

  /// Degrees by which the heading was found to lie clockwise of the course, which is taken off; zero until learnt.
  public var courseBias: Double { followsCourse ? course.bias : 0 }

  /// Takes the vehicle's motion over ground, to compare with.
  public mutating func process(_ location: Location) {
    if followsCourse { course.observe(location) }
  }

  /// Takes an attitude against magnetic north; returns the heading of the device's side that is asked for when it is to be told.
  /// - Parameters:
  ///   - accuracy: degrees, one standard deviation; nil when unknown.
  ///   - calibration: of the magnetometer; nil when unknown.
  public mutating func process(
    attitude: Attitude, accuracy: Double?, calibration: MagneticFieldCalibrationAccuracy? = nil,
    at timestamp: Timestamp
  ) -> Heading? {
    attitude.heading(for: headingOrientation).flatMap {
      process(magneticHeading: $0, accuracy: accuracy, calibration: calibration, at: timestamp)
    }
  }

  /// Takes where the vehicle's front points by something that knows more than a magnetometer; returns the heading when it is to
  /// be told. Nil without `declination`, as nobody could compare it with others then.
  /// - Parameters:
  ///   - trueHeading: degrees clockwise from true north.
  ///   - accuracy: degrees, one standard deviation.
  public mutating func process(
    trueHeading: Double, accuracy: Double, at timestamp: Timestamp
  ) -> Heading? {
    guard let declination else { return nil }
    let candidate = Heading(
      timestamp: timestamp, magneticHeading: normalizedDegrees(trueHeading - declination),
      trueHeading: normalizedDegrees(trueHeading), headingAccuracy: accuracy)
    guard isWorthTelling(candidate) else { return nil }
    heading = candidate
    return candidate
  }

  /// Takes a heading of the side that is asked for; returns the heading when it is to be told.
  /// - Parameters:
  ///   - magnetic: degrees clockwise from magnetic north.
  ///   - accuracy: degrees, one standard deviation; nil when unknown.
  ///   - calibration: of the magnetometer; nil when unknown.
  public mutating func process(
    magneticHeading magnetic: Double, accuracy: Double?, calibration: MagneticFieldCalibrationAccuracy? = nil,
    at timestamp: Timestamp
  ) -> Heading? {
    if let declination {
      let wasContradicted = course.isContradicted
      course.compare(normalizedDegrees(magnetic + declination), accuracy: accuracy, at: timestamp)
      if course.isContradicted, !wasContradicted { contradictionCount += 1 }
    }
    var candidate = Heading(
      timestamp: timestamp, magneticHeading: normalizedDegrees(magnetic - courseBias),
      trueHeading: declination.map { normalizedDegrees(magnetic + $0 - courseBias) },
      headingAccuracy: accuracy)
    candidate.contradictsCourse = course.isContradicted
    if course.isContradicted {
      // Whoever is right, the heading is no more exact than the two agree.
      candidate.headingAccuracy = max(accuracy ?? 0, abs(course.difference ?? Self.worstAccuracy))
    }
    candidate.isCalibrationWanted =
      calibration == .uncalibrated || (candidate.headingAccuracy ?? 0) > Self.worstAccuracy
    guard isWorthTelling(candidate) else { return nil }
    heading = candidate
    return candidate
  }

  private func isWorthTelling(_ candidate: Heading) -> Bool {
    guard let headingFilter, let heading else { return true }
    return candidate.contradictsCourse != heading.contradictsCourse
      || candidate.isCalibrationWanted != heading.isCalibrationWanted
      || (candidate.trueHeading == nil) != (heading.trueHeading == nil)
      || abs(signedDegrees(from: heading.magneticHeading, to: candidate.magneticHeading)) >= headingFilter
  }
}

/// Where the device's reference axis points on the compass.
public struct Heading: Hashable, Sendable {
  public var timestamp: Timestamp
  /// Degrees clockwise from magnetic north, 0 ..< 360.
  public var magneticHeading: Double
  /// Degrees clockwise from true north, 0 ..< 360; nil without a location, which gives the declination.
  public var trueHeading: Double?
  /// Degrees, one standard deviation; nil when unknown.
  public var headingAccuracy: Double?
  /// Whether the magnetometer needs a calibration: turn the device, or drive a circle.
  public var isCalibrationWanted = false
  /// Whether the vehicle's course says something else, for longer than a gust of disturbance lasts.
  public var contradictsCourse = false

  /// The point of the compass: of true north where that is known, else of magnetic north.
  public var cardinalPoint: CardinalPoint { CardinalPoint(direction: trueHeading ?? magneticHeading) }
}

/// The eight points of the compass.
public enum CardinalPoint: String, Hashable, Sendable, CaseIterable {
  case north = "N"
  case northEast = "NE"
  case east = "E"
  case southEast = "SE"
  case south = "S"
  case southWest = "SW"
  case west = "W"
  case northWest = "NW"

  /// The point nearest to a direction in degrees clockwise from north; a direction half way belongs to the next one
  /// clockwise.
  public init(direction: Double) {
    let points = Self.allCases
    self = points[Int((normalizedDegrees(direction) / 45 + 0.5).rounded(.down)) % points.count]
  }
}
